//! Where each schema is identified: what a reference means.
//!
//! A *resource* is a schema with an identity of its own: the root of a document, or a subschema with `$id`. The
//! registry knows every resource's URI, dialect and anchors, in the schema itself, in all documents that were handed
//! over, and in the metaschemas once they are referred to. What a reference means does not depend on the order in which
//! references are followed.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::documents::{Content, Dialect, Document, Documents};
use super::places::{Place, Places};
use super::{Draft, metaschemas, uri};

/// A resource in messages; a schema without `$id` has no URI that anybody wrote.
fn in_words(uri: &str) -> String {
    if uri == super::compile::ROOT_URI { "this schema".to_owned() } else { format!("`{uri}`") }
}

#[derive(Debug)]
pub(super) struct Resource {
    pub(super) uri: String,
    pub(super) place: Place,
    /// The dialect, or why it is not known; that counts only if one of the resource's schemas is used.
    pub(super) dialect: Result<Dialect, String>,
    anchors: HashMap<String, Place>,
    dynamic_anchors: HashMap<String, Place>,
}

/// A document that references can reach.
#[derive(Debug)]
pub(super) struct Known<'a> {
    pub(super) root: Place,
    /// As errors name it.
    pub(super) file: String,
    /// The text that the value was read from; nothing for a metaschema.
    pub(super) text: Option<&'a str>,
}

/// Everything references can reach.
#[derive(Debug)]
pub(super) struct Registry<'a> {
    pub(super) places: Places,
    /// By place.
    values: Vec<Option<&'a Value>>,
    /// Texts of numbers that a value does not have exactly.
    texts: HashMap<Place, &'a str>,
    documents: Vec<Known<'a>>,
    /// The documents that were handed over, by URI; of several the last.
    handed_over: HashMap<&'a str, &'a Document>,
    /// Those by the identifier that they give themselves.
    by_own_id: HashMap<&'a str, &'a Value>,
    resources: Vec<Resource>,
    by_uri: HashMap<String, u32>,
    by_place: HashMap<Place, u32>,
    /// The schemas that keywords hold, in every document.
    schemas: Vec<bool>,
    /// Identifiers that two documents claim with different content, and which.
    ambiguous: HashMap<String, String>,
    /// Identifiers that stand twice in one document: where the second stands, and what is wrong.
    pub(super) conflicts: Vec<(Place, String)>,
    default_draft: Draft,
}

/// A reference's target.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) place: Place,
    pub(super) resource: u32,
    /// The name, if the reference named a dynamic anchor.
    pub(super) dynamic: Option<String>,
}

impl<'a> Registry<'a> {
    /// A registry with `root` as document and resource 0.
    pub(super) fn new(
        (root, file): (&'a Content, &str),
        root_uri: &str,
        handed_over: &'a Documents,
        default_draft: Draft,
    ) -> Self {
        let by_uri = handed_over.entries().iter().map(|document| (document.uri.as_str(), document));
        let own_id = |document: &'a Document| {
            let value = &document.content.as_ref().ok()?.value;
            Some((value.get("$id")?.as_str()?, value))
        };
        let mut registry = Self {
            places: Places::default(),
            values: Vec::new(),
            texts: HashMap::new(),
            documents: Vec::new(),
            handed_over: by_uri.collect(),
            by_own_id: handed_over.entries().iter().filter_map(own_id).collect(),
            resources: Vec::new(),
            by_uri: HashMap::new(),
            by_place: HashMap::new(),
            schemas: Vec::new(),
            ambiguous: HashMap::new(),
            conflicts: Vec::new(),
            default_draft,
        };
        registry.add_content(root, root_uri, file.to_owned());
        for document in handed_over.entries() {
            let counts = registry.handed_over.get(document.uri.as_str());
            if let (true, Ok(content)) =
                (counts.is_some_and(|other| std::ptr::eq(*other, document)), &document.content)
            {
                registry.add_content(content, &document.uri, document.file.clone());
            }
        }
        registry
    }

    pub(super) fn resource(&self, number: u32) -> Option<&Resource> {
        self.resources.get(number as usize)
    }

    pub(super) fn resources(&self) -> &[Resource] {
        &self.resources
    }

    /// The document of a place.
    pub(super) fn document(&self, place: Place) -> Option<&Known<'a>> {
        self.documents.get(self.places.document(place) as usize)
    }

    /// The value at a place.
    pub(super) fn value(&self, place: Place) -> Option<&'a Value> {
        self.values.get(place.number()).copied().flatten()
    }

    /// The text of a number that its value does not have exactly.
    pub(super) fn text(&self, place: Place) -> Option<&'a str> {
        self.texts.get(&place).copied()
    }

    /// Whether every number is exact in its value.
    pub(super) fn is_exact(&self) -> bool {
        self.texts.is_empty()
    }

    /// Whether a keyword that is known holds the schema at this place.
    pub(super) fn is_schema(&self, place: Place) -> bool {
        self.schemas.get(place.number()).copied().unwrap_or(false)
    }

    /// The place one token further.
    pub(super) fn child(&mut self, place: Place, token: &str) -> Place {
        let (child, is_new) = self.places.child(place, token);
        if is_new {
            self.values.push(self.value(place).and_then(|value| step(value, token)));
        }
        child
    }

    /// The resource that starts at `place`, if one does.
    pub(super) fn resource_at(&self, place: Place) -> Option<u32> {
        self.by_place.get(&place).copied()
    }

    /// Resources that define the dynamic anchor `name`, and where.
    pub(super) fn dynamic_anchors(&self, name: &str) -> Vec<(u32, Place)> {
        let defines = |(number, resource): (usize, &Resource)| {
            Some((number as u32, *resource.dynamic_anchors.get(name)?))
        };
        self.resources.iter().enumerate().filter_map(defines).collect()
    }

    /// Finds what `reference` means in the resource `from`; the error says what was looked for.
    pub(super) fn resolve(&mut self, from: u32, reference: &str) -> Result<Target, String> {
        let base = self.resource(from).map(|resource| resource.uri.clone()).unwrap_or_default();
        let uri = uri::resolve(&base, reference);
        let fragment = uri::percent_decode(uri::split_fragment(reference).1);
        let number = if uri == base { from } else { self.find(&uri)? };
        let Some(resource) = self.resource(number) else { return Err(format!("`{uri}` is not known")) };
        if fragment.is_empty() {
            return Ok(Target { place: resource.place, resource: number, dynamic: None });
        }
        if !fragment.starts_with('/') {
            let dynamic = resource.dynamic_anchors.get(&fragment);
            let place = dynamic.or_else(|| resource.anchors.get(&fragment));
            let place = *place.ok_or_else(|| {
                format!(
                    "{} has no anchor `{fragment}`; a reference leads to a schema that is there",
                    in_words(&uri)
                )
            })?;
            return Ok(Target { place, resource: number, dynamic: dynamic.is_some().then_some(fragment) });
        }
        self.follow(number, &fragment).ok_or_else(|| {
            format!(
                "{} has nothing at `{fragment}`; a reference leads to a schema that is there",
                in_words(&uri)
            )
        })
    }

    /// Follows a JSON pointer from a resource's root; identifiers on the way change the resource.
    fn follow(&mut self, mut number: u32, pointer: &str) -> Option<Target> {
        let mut place = self.resource(number)?.place;
        for token in pointer.split('/').skip(1) {
            place = self.child(place, &token.replace("~1", "/").replace("~0", "~"));
            self.value(place)?;
            number = self.resource_at(place).unwrap_or(number);
        }
        Some(Target { place, resource: number, dynamic: None })
    }

    fn find(&mut self, uri: &str) -> Result<u32, String> {
        if let Some(problem) = self.ambiguous.get(uri) {
            return Err(problem.clone());
        }
        if let Some(number) = self.by_uri.get(uri) {
            return Ok(*number);
        }
        if let Some((file, Err(problem))) =
            self.handed_over.get(uri).map(|document| (&document.file, &document.content))
        {
            let pointer =
                if problem.pointer.is_empty() { String::new() } else { format!(" at `{}`", problem.pointer) };
            return Err(format!("`{uri}` is {file}, which cannot be used:{pointer} {}", problem.problem));
        }
        if let Some(metaschema) = metaschemas::builtin(uri) {
            self.add_document(
                metaschema,
                uri,
                Known { root: Place::default(), file: uri.to_owned(), text: None },
            );
        }
        self.by_uri.get(uri).copied().ok_or_else(|| {
            format!("`{uri}` is not among the documents that were handed over; nothing is fetched from the network")
        })
    }

    fn add_content(&mut self, content: &'a Content, uri: &str, file: String) {
        let known = Known { root: Place::default(), file, text: Some(&content.text) };
        let root = self.add_document(&content.value, uri, known);
        if !content.numbers.is_empty() {
            self.note_numbers(root, &content.numbers, &mut 0);
        }
    }

    /// Finds the places of numbers whose texts are kept. The nesting of documents is bounded.
    fn note_numbers(&mut self, place: Place, texts: &'a HashMap<u32, String>, passed: &mut u32) {
        match self.value(place) {
            Some(Value::Number(_)) => {
                if let Some(text) = texts.get(passed) {
                    self.texts.insert(place, text);
                }
                *passed += 1;
            }
            Some(Value::Array(items)) => {
                for index in 0..items.len() {
                    let item = self.child(place, &index.to_string());
                    self.note_numbers(item, texts, passed);
                }
            }
            Some(Value::Object(members)) => {
                for name in members.keys() {
                    let member = self.child(place, name);
                    self.note_numbers(member, texts, passed);
                }
            }
            _ => {}
        }
    }

    fn add_document(&mut self, value: &'a Value, uri: &str, known: Known<'a>) -> Place {
        let document = self.documents.len() as u32;
        let root = self.places.root(uri);
        self.values.push(Some(value));
        self.documents.push(Known { root, ..known });
        let dialect = self.dialect(value.get("$schema"), &Ok(Dialect::of(self.default_draft)));
        let resource = self.add_resource(uri.to_owned(), root, dialect);
        self.index(root, resource);
        let name = self.resource(resource).map(|resource| resource.uri.clone()).unwrap_or_default();
        self.places.rename(document, &name);
        root
    }

    fn add_resource(&mut self, uri: String, place: Place, dialect: Result<Dialect, String>) -> u32 {
        let number = self.resources.len() as u32;
        self.by_place.insert(place, number);
        let (anchors, dynamic_anchors) = (HashMap::new(), HashMap::new());
        self.resources.push(Resource { uri: uri.clone(), place, dialect, anchors, dynamic_anchors });
        self.claim(uri, number, place);
        number
    }

    /// Notes that a resource has an identifier. The schema's own count before those of other documents; of others, two that
    /// differ are an error for whoever refers to them.
    fn claim(&mut self, uri: String, number: u32, place: Place) {
        let holder =
            self.by_uri.get(&uri).and_then(|holder| self.resource(*holder)).map(|holder| holder.place);
        let Some(holder) = holder.filter(|holder| *holder != place) else {
            self.by_uri.entry(uri).or_insert(number);
            return;
        };
        let (theirs, ours) = (self.places.document(holder), self.places.document(place));
        if theirs == ours {
            let problem = format!(
                "the identifier `{uri}` stands at `{}`, too; allowed is once in a document",
                self.places.pointer(holder)
            );
            self.conflicts.push((place, problem));
        } else if theirs != 0 && self.value(holder) != self.value(place) {
            let file = |place| self.document(place).map_or("", |document| &document.file);
            let at = |place| format!("{} at `{}`", file(place), self.places.pointer(place));
            let problem = format!(
                "`{uri}` is claimed by {} and by {}, which differ; allowed is one document for each URI",
                at(holder),
                at(place)
            );
            self.ambiguous.insert(uri, problem);
        }
    }

    /// Notes the identifiers of a schema and of all schemas in it. The work list stands in for recursion.
    fn index(&mut self, root: Place, resource: u32) {
        let mut pending = vec![(root, resource)];
        while let Some((place, mut resource)) = pending.pop() {
            self.schemas.resize(self.schemas.len().max(place.number() + 1), false);
            if let Some(schema) = self.schemas.get_mut(place.number()) {
                *schema = true;
            }
            let Some(Value::Object(schema)) = self.value(place) else { continue };
            resource = self.identify(schema, place, resource);
            let draft = self.draft(resource);
            for (keyword, value) in schema {
                if let Some(held) = held(draft, keyword, value) {
                    let place = self.child(place, keyword);
                    match held {
                        Held::One => pending.push((place, resource)),
                        Held::List(count) => pending.extend(
                            (0..count).map(|index| (self.child(place, &index.to_string()), resource)),
                        ),
                        Held::Map(members) => {
                            pending.extend(members.keys().map(|name| (self.child(place, name), resource)));
                        }
                    }
                }
            }
        }
    }

    fn draft(&self, resource: u32) -> Draft {
        let dialect = self.resource(resource).and_then(|resource| resource.dialect.as_ref().ok());
        dialect.map_or(self.default_draft, |dialect| dialect.draft)
    }

    /// The resource that a schema object belongs to, after its own `$id` and anchors.
    fn identify(&mut self, schema: &Map<String, Value>, place: Place, parent: u32) -> u32 {
        let (mut number, mut draft) = (parent, self.draft(parent));
        // In draft 7 nothing beside `$ref` counts.
        let overridden = draft == Draft::V7 && schema.contains_key("$ref");
        if let Some(id) = schema.get("$id").and_then(Value::as_str).filter(|_| !overridden) {
            let (address, fragment) = uri::split_fragment(id);
            if !address.is_empty() {
                number = self.identify_resource(schema, address, place, parent);
                draft = self.draft(number);
            }
            if !fragment.is_empty() && draft == Draft::V7 {
                self.add_anchor(number, fragment, place, false);
            }
        }
        if draft == Draft::V2020 {
            for (keyword, dynamic) in [("$anchor", false), ("$dynamicAnchor", true)] {
                if let Some(name) = schema.get(keyword).and_then(Value::as_str) {
                    self.add_anchor(number, name, place, dynamic);
                }
            }
        }
        number
    }

    /// The resource whose `$id` has this address: at a document's root the parent itself, elsewhere a new one.
    fn identify_resource(
        &mut self,
        schema: &Map<String, Value>,
        address: &str,
        place: Place,
        parent: u32,
    ) -> u32 {
        let Some(Resource { uri: base, place: root, dialect, .. }) = self.resource(parent) else {
            return parent;
        };
        let (uri, is_root, inherited) = (uri::resolve(base, address), *root == place, dialect.clone());
        if !is_root {
            let dialect = self.dialect(schema.get("$schema"), &inherited);
            return self.add_resource(uri, place, dialect);
        }
        // A copy of a metaschema stands for it only under the name that it was handed over with.
        if self.places.document(place) == 0 || !metaschemas::is_builtin(&uri) {
            self.claim(uri.clone(), parent, place);
        }
        if let Some(resource) = self.resources.get_mut(parent as usize) {
            resource.uri = uri;
        }
        parent
    }

    fn add_anchor(&mut self, resource: u32, name: &str, place: Place, dynamic: bool) {
        let Some(resource) = self.resources.get_mut(resource as usize) else { return };
        let known = resource.anchors.get(name).or_else(|| resource.dynamic_anchors.get(name)).copied();
        let anchors = if dynamic { &mut resource.dynamic_anchors } else { &mut resource.anchors };
        anchors.insert(name.to_owned(), place);
        if let Some(known) = known.filter(|known| *known != place) {
            let problem = format!(
                "the anchor `{name}` stands at `{}`, too; allowed is once in a schema resource",
                self.places.pointer(known)
            );
            self.conflicts.push((place, problem));
        }
    }

    /// The dialect that `$schema` names, or `inherited` without one.
    fn dialect(&self, name: Option<&Value>, inherited: &Result<Dialect, String>) -> Result<Dialect, String> {
        let Some(name) = name.and_then(Value::as_str) else { return inherited.clone() };
        if let Some(draft) = Draft::of_uri(name) {
            return Ok(Dialect::of(draft));
        }
        let name = name.strip_suffix('#').unwrap_or(name);
        let by_uri = self.handed_over.get(name).and_then(|document| document.content.as_ref().ok());
        let metaschema = by_uri.map(|content| &content.value).or_else(|| self.by_own_id.get(name).copied());
        match metaschema {
            Some(metaschema) => Dialect::of_metaschema(name, metaschema, self.default_draft),
            None => Err(format!(
                "`$schema` names `{name}`; known are draft-07, 2020-12 and metaschemas among the documents handed over"
            )),
        }
    }
}

/// The part of a value that a token of a JSON pointer leads to.
fn step<'v>(value: &'v Value, token: &str) -> Option<&'v Value> {
    match value {
        Value::Object(members) => members.get(token),
        Value::Array(items) => {
            let is_index = token == "0" || !token.starts_with(['0', '+']);
            items.get(token.parse::<usize>().ok().filter(|_| is_index)?)
        }
        _ => None,
    }
}

/// The schemas that a keyword holds.
enum Held<'v> {
    One,
    List(usize),
    Map(&'v Map<String, Value>),
}

fn held<'v>(draft: Draft, keyword: &str, value: &'v Value) -> Option<Held<'v>> {
    match keyword {
        "additionalItems"
        | "additionalProperties"
        | "contains"
        | "contentSchema"
        | "else"
        | "if"
        | "not"
        | "propertyNames"
        | "then"
        | "unevaluatedItems"
        | "unevaluatedProperties" => Some(Held::One),
        "items" if !value.is_array() => Some(Held::One),
        "allOf" | "anyOf" | "oneOf" | "prefixItems" | "items" => {
            value.as_array().map(|items| Held::List(items.len()))
        }
        "$defs" | "definitions" | "dependentSchemas" | "patternProperties" | "properties" => {
            value.as_object().map(Held::Map)
        }
        "dependencies" if draft == Draft::V7 => value.as_object().map(Held::Map),
        _ => None,
    }
}
