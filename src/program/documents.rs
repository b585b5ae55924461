//! The documents that references may reach, and where each schema in them is identified.
//!
//! A *resource* is a schema with an identity of its own: the root of a document, or a subschema with `$id`. The
//! registry knows every resource's URI, dialect and anchors. It holds what the caller handed over, the metaschemas,
//! and nothing else: it must not read files and never asks the network.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{Draft, metaschemas, uri};

/// Schemas that the caller hands over for references to reach, each under a URI.
#[derive(Clone, Debug, Default)]
pub struct Documents {
    entries: Vec<(String, Value)>,
}

impl Documents {
    /// Adds a document; a later one under the same URI counts.
    pub fn insert(&mut self, uri: impl Into<String>, document: Value) {
        self.entries.push((uri.into(), document));
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// Which keywords a resource's schemas have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each vocabulary is there or not, whatever the others are")]
pub(super) struct Dialect {
    pub(super) draft: Draft,
    /// Whether keywords of the vocabularies for assertions count; a metaschema can leave them out.
    pub(super) validation: bool,
    pub(super) applicator: bool,
    pub(super) unevaluated: bool,
    /// Whether the metaschema itself asks for `format` to be asserted.
    pub(super) format_assertion: bool,
}

impl Dialect {
    pub(super) fn of(draft: Draft) -> Self {
        let unevaluated = draft == Draft::V2020;
        Self { draft, validation: true, applicator: true, unevaluated, format_assertion: false }
    }
}

/// A place in a document.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) document: u32,
    pub(super) pointer: String,
}

impl Place {
    pub(super) fn child(&self, token: &str) -> Self {
        let mut pointer = self.pointer.clone();
        push_token(&mut pointer, token);
        Self { document: self.document, pointer }
    }
}

/// Appends one token to a JSON pointer.
pub(super) fn push_token(pointer: &mut String, token: &str) {
    pointer.push('/');
    for character in token.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}

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
    anchors: HashMap<String, String>,
    dynamic_anchors: HashMap<String, String>,
}

/// Everything references can reach.
#[derive(Debug)]
pub(super) struct Registry<'a> {
    documents: Vec<&'a Value>,
    handed_over: &'a [(String, Value)],
    loaded: HashMap<String, u32>,
    resources: Vec<Resource>,
    by_uri: HashMap<String, u32>,
    by_place: HashMap<Place, u32>,
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
        root: &'a Value,
        root_uri: &str,
        handed_over: &'a Documents,
        default_draft: Draft,
    ) -> Self {
        let mut registry = Self {
            documents: Vec::new(),
            handed_over: &handed_over.entries,
            loaded: HashMap::new(),
            resources: Vec::new(),
            by_uri: HashMap::new(),
            by_place: HashMap::new(),
            default_draft,
        };
        registry.add_document(root, root_uri);
        // Identifiers inside the documents count, too.
        for (uri, document) in registry.handed_over {
            if let Some(id) = document.get("$id").and_then(Value::as_str) {
                let id = uri::resolve(uri, id);
                if !registry.by_uri.contains_key(&id) && !metaschemas::is_builtin(&id) {
                    registry.load(uri);
                }
            }
        }
        registry
    }

    pub(super) fn resource(&self, number: u32) -> Option<&Resource> {
        self.resources.get(number as usize)
    }

    /// The value at a place.
    pub(super) fn value(&self, place: &Place) -> Option<&'a Value> {
        self.documents.get(place.document as usize)?.pointer(&place.pointer)
    }

    /// The resource that starts at `place`, if one does.
    pub(super) fn resource_at(&self, place: &Place) -> Option<u32> {
        self.by_place.get(place).copied()
    }

    /// Resources that define the dynamic anchor `name`, and where.
    pub(super) fn dynamic_anchors(&self, name: &str) -> Vec<(u32, Place)> {
        let defines = |(number, resource): (usize, &Resource)| {
            let pointer = resource.dynamic_anchors.get(name)?.clone();
            Some((number as u32, Place { document: resource.place.document, pointer }))
        };
        self.resources.iter().enumerate().filter_map(defines).collect()
    }

    /// Finds what `reference` means in the resource `from`; the error says what was looked for.
    pub(super) fn resolve(&mut self, from: u32, reference: &str) -> Result<Target, String> {
        let base = self.resource(from).map(|resource| resource.uri.clone()).unwrap_or_default();
        let uri = uri::resolve(&base, reference);
        let fragment = uri::percent_decode(uri::split_fragment(reference).1);
        let number = self.find(&uri)?;
        let Some(resource) = self.resource(number) else { return Err(format!("`{uri}` is not known")) };
        if fragment.is_empty() {
            return Ok(Target { place: resource.place.clone(), resource: number, dynamic: None });
        }
        if !fragment.starts_with('/') {
            let dynamic = resource.dynamic_anchors.get(&fragment);
            let pointer = dynamic.or_else(|| resource.anchors.get(&fragment));
            let pointer =
                pointer.ok_or_else(|| format!("{} has no anchor `{fragment}`", in_words(&uri)))?.clone();
            let place = Place { document: resource.place.document, pointer };
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
    fn follow(&self, mut number: u32, pointer: &str) -> Option<Target> {
        let mut place = self.resource(number)?.place.clone();
        for token in pointer.split('/').skip(1) {
            place = place.child(&token.replace("~1", "/").replace("~0", "~"));
            number = self.resource_at(&place).unwrap_or(number);
        }
        self.value(&place)?;
        Some(Target { place, resource: number, dynamic: None })
    }

    fn find(&mut self, uri: &str) -> Result<u32, String> {
        if let Some(number) = self.by_uri.get(uri) {
            return Ok(*number);
        }
        self.load(uri);
        self.by_uri.get(uri).copied().ok_or_else(|| {
            format!("`{uri}` is not among the documents that were handed over; nothing is fetched from the network")
        })
    }

    /// Takes in the document with this URI, if there is one.
    fn load(&mut self, uri: &str) {
        if self.loaded.contains_key(uri) {
            return;
        }
        let handed_over =
            self.handed_over.iter().rev().find(|(name, _)| name == uri).map(|(_, document)| document);
        let Some(document) = handed_over.or_else(|| metaschemas::builtin(uri)) else { return };
        self.add_document(document, uri);
    }

    fn add_document(&mut self, document: &'a Value, uri: &str) {
        let number = self.documents.len() as u32;
        self.loaded.insert(uri.to_owned(), number);
        self.documents.push(document);
        let place = Place { document: number, pointer: String::new() };
        let dialect = self.dialect(document.get("$schema"), &Ok(Dialect::of(self.default_draft)));
        let resource = self.add_resource(uri.to_owned(), place.clone(), dialect);
        self.index(place, resource);
    }

    fn add_resource(&mut self, uri: String, place: Place, dialect: Result<Dialect, String>) -> u32 {
        let number = self.resources.len() as u32;
        self.by_uri.entry(uri.clone()).or_insert(number);
        self.by_place.insert(place.clone(), number);
        let (anchors, dynamic_anchors) = (HashMap::new(), HashMap::new());
        self.resources.push(Resource { uri, place, dialect, anchors, dynamic_anchors });
        number
    }

    /// Notes the identifiers of a schema and of all schemas in it. The work list stands in for recursion.
    fn index(&mut self, root: Place, resource: u32) {
        let mut pending = vec![(root, resource)];
        while let Some((place, mut resource)) = pending.pop() {
            let Some(Value::Object(schema)) = self.value(&place) else { continue };
            resource = self.identify(schema, &place, resource);
            let draft = self.draft(resource);
            for (keyword, value) in schema {
                subschemas(draft, keyword, value, &place.child(keyword), &mut |child| {
                    pending.push((child, resource));
                });
            }
        }
    }

    fn draft(&self, resource: u32) -> Draft {
        let dialect = self.resource(resource).and_then(|resource| resource.dialect.as_ref().ok());
        dialect.map_or(self.default_draft, |dialect| dialect.draft)
    }

    /// The resource that a schema object belongs to, after its own `$id` and anchors.
    fn identify(&mut self, schema: &Map<String, Value>, place: &Place, parent: u32) -> u32 {
        let Some(base) = self.resource(parent).map(|parent| parent.uri.clone()) else { return parent };
        let (mut number, mut draft) = (parent, self.draft(parent));
        // In draft 7 nothing beside `$ref` counts.
        let overridden = draft == Draft::V7 && schema.contains_key("$ref");
        if let Some(id) = schema.get("$id").and_then(Value::as_str).filter(|_| !overridden) {
            let (address, fragment) = uri::split_fragment(id);
            if !address.is_empty() {
                let uri = uri::resolve(&base, address);
                if place.pointer.is_empty() {
                    self.by_uri.entry(uri.clone()).or_insert(parent);
                    if let Some(resource) = self.resources.get_mut(parent as usize) {
                        resource.uri = uri;
                    }
                } else {
                    let inherited =
                        self.resource(parent).map_or(Ok(Dialect::of(draft)), |parent| parent.dialect.clone());
                    let dialect = self.dialect(schema.get("$schema"), &inherited);
                    number = self.add_resource(uri, place.clone(), dialect);
                    draft = self.draft(number);
                }
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

    fn add_anchor(&mut self, resource: u32, name: &str, place: &Place, dynamic: bool) {
        if let Some(resource) = self.resources.get_mut(resource as usize) {
            let anchors = if dynamic { &mut resource.dynamic_anchors } else { &mut resource.anchors };
            anchors.insert(name.to_owned(), place.pointer.clone());
        }
    }

    /// The dialect that `$schema` names, or `inherited` without one.
    fn dialect(&self, name: Option<&Value>, inherited: &Result<Dialect, String>) -> Result<Dialect, String> {
        let Some(name) = name.and_then(Value::as_str) else { return inherited.clone() };
        let name = name.strip_suffix('#').unwrap_or(name);
        if let Some(draft) = Draft::of_uri(name) {
            return Ok(Dialect::of(draft));
        }
        let custom = self
            .handed_over
            .iter()
            .find(|(uri, document)| uri == name || document.get("$id").and_then(Value::as_str) == Some(name));
        let Some((_, metaschema)) = custom else {
            let problem = format!(
                "`$schema` names `{name}`; known are draft-07, 2020-12 and metaschemas among the documents handed over"
            );
            return Err(problem);
        };
        let basis =
            metaschema.get("$schema").and_then(Value::as_str).map(|uri| uri.strip_suffix('#').unwrap_or(uri));
        let draft = basis.and_then(Draft::of_uri).unwrap_or(self.default_draft);
        let mut dialect = Dialect::of(draft);
        if let Some(vocabulary) = metaschema.get("$vocabulary").and_then(Value::as_object) {
            let has = |name: &str| vocabulary.keys().any(|uri| uri.ends_with(name));
            dialect.validation = has("/vocab/validation");
            dialect.applicator = has("/vocab/applicator");
            dialect.unevaluated = has("/vocab/unevaluated");
            dialect.format_assertion = has("/vocab/format-assertion");
        }
        Ok(dialect)
    }
}

/// Calls `found` with the place of each schema that `keyword` holds.
fn subschemas(draft: Draft, keyword: &str, value: &Value, place: &Place, found: &mut impl FnMut(Place)) {
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
        | "unevaluatedProperties" => found(place.clone()),
        "items" if !value.is_array() => found(place.clone()),
        "allOf" | "anyOf" | "oneOf" | "prefixItems" | "items" => {
            for index in 0..value.as_array().map_or(0, Vec::len) {
                found(place.child(&index.to_string()));
            }
        }
        "$defs" | "definitions" | "dependentSchemas" | "patternProperties" | "properties" => {
            for name in value.as_object().into_iter().flat_map(Map::keys) {
                found(place.child(name));
            }
        }
        "dependencies" if draft == Draft::V7 => {
            for name in value.as_object().into_iter().flat_map(Map::keys) {
                found(place.child(name));
            }
        }
        _ => {}
    }
}
