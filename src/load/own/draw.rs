//! Drawing a document from a schema: every keyword that says what a value looks like is a wish, and all wishes for one
//! value are put together before it is made.
//!
//! References are followed, `allOf` is joined, one branch of `anyOf` and `oneOf` is chosen, `if` is decided by lot. `not`,
//! `unevaluated…` and the rest of what only forbids is left to the check and another draw.

use std::collections::HashMap;

use regex_automata::Input;
use regex_automata::dfa::Automaton as _;
use regex_automata::dfa::dense::{self, DFA};
use serde_json::{Map, Number, Value};

use super::texts;
use crate::load::Random;

/// LIMIT: schemas that are joined for one value.
const WISHES_MAX: usize = 64;
/// Beyond this depth only what is required is made.
const DEPTH_RICH: usize = 5;
/// LIMIT: beyond this depth nothing is made.
const DEPTH_MAX: usize = 24;
/// LIMIT: items and members beyond what is required.
const MORE_MAX: u64 = 3;
/// LIMIT: bytes of a pattern's automaton.
const PATTERN_BYTES_MAX: usize = 1 << 20;
/// How often an item is drawn again that is there already.
const TRIES_MAX: usize = 16;

/// A schema, and the document that it stands in.
#[derive(Clone, Copy)]
struct Wish<'s> {
    schema: &'s Value,
    document: usize,
}

/// The patterns that members are told by, ready to be matched.
pub(super) struct NamePatterns(HashMap<String, DFA<Vec<u32>>>);

impl NamePatterns {
    /// Those of all documents; one that cannot be made ready matches nothing.
    pub(super) fn of(documents: &[(String, Value)]) -> Self {
        let mut patterns = HashMap::new();
        for (_, document) in documents {
            Self::collect(document, &mut patterns);
        }
        Self(patterns)
    }

    fn collect(schema: &Value, patterns: &mut HashMap<String, DFA<Vec<u32>>>) {
        if let Some(Value::Object(named)) = schema.get("patternProperties") {
            for pattern in named.keys() {
                let config = dense::Config::new()
                    .dfa_size_limit(Some(PATTERN_BYTES_MAX))
                    .determinize_size_limit(Some(PATTERN_BYTES_MAX));
                let built = dense::Builder::new().configure(config).build(&texts::translated(pattern));
                patterns.extend(built.ok().map(|dfa| (pattern.clone(), dfa)));
            }
        }
        match schema {
            Value::Array(items) => items.iter().for_each(|item| Self::collect(item, patterns)),
            Value::Object(members) => members.values().for_each(|member| Self::collect(member, patterns)),
            _ => {}
        }
    }

    fn is_match(&self, pattern: &str, name: &str) -> bool {
        let search =
            |dfa: &DFA<Vec<u32>>| dfa.try_search_fwd(&Input::new(name)).is_ok_and(|found| found.is_some());
        self.0.get(pattern).is_some_and(search)
    }
}

/// Draws documents.
pub(super) struct Drawer<'s, 'r> {
    documents: &'s [(String, Value)],
    patterns: &'s NamePatterns,
    random: &'r mut Random,
}

impl<'s, 'r> Drawer<'s, 'r> {
    /// The first document is the schema; the others are those that it may refer to, by URI.
    pub(super) fn new(
        documents: &'s [(String, Value)],
        patterns: &'s NamePatterns,
        random: &'r mut Random,
    ) -> Self {
        Self { documents, patterns, random }
    }

    /// A document.
    pub(super) fn document(mut self) -> Value {
        let Some((_, schema)) = self.documents.first() else { return Value::Null };
        self.value(&[Wish { schema, document: 0 }], 0)
    }

    fn value(&mut self, wishes: &[Wish<'s>], depth: usize) -> Value {
        let wishes = self.joined(wishes);
        if depth > DEPTH_MAX {
            return Value::Null;
        }
        if let Some(fixed) = all(&wishes, "const").next() {
            return fixed.clone();
        }
        if let Some(Value::Array(values)) = all(&wishes, "enum").next() {
            return self.pick(values).cloned().unwrap_or(Value::Null);
        }
        match self.kind(&wishes, depth) {
            "object" => Value::Object(self.object(&wishes, depth)),
            "array" => Value::Array(self.array(&wishes, depth)),
            "string" => Value::String(self.text(&wishes)),
            "integer" => self.number(&wishes, true),
            "number" => self.number(&wishes, false),
            "boolean" => Value::Bool(self.random.below(2) == 1),
            _ => Value::Null,
        }
    }

    fn pick<'v, T>(&mut self, values: &'v [T]) -> Option<&'v T> {
        values.get(self.random.below(values.len() as u64) as usize)
    }

    /// The wishes with everything that they refer to and that is chosen of what they offer.
    fn joined(&mut self, wishes: &[Wish<'s>]) -> Vec<Wish<'s>> {
        let mut joined = wishes.to_vec();
        let mut at = 0;
        while let Some(Wish { schema, document }) = joined.get(at).copied() {
            at += 1;
            if joined.len() > WISHES_MAX {
                break;
            }
            let beside = |schema| Wish { schema, document };
            for name in ["$ref", "$dynamicRef"] {
                if let Some(Value::String(reference)) = schema.get(name) {
                    joined.extend(self.referred(reference, document));
                }
            }
            if let Some(Value::Array(parts)) = schema.get("allOf") {
                joined.extend(parts.iter().map(beside));
            }
            for name in ["anyOf", "oneOf"] {
                if let Some(Value::Array(branches)) = schema.get(name) {
                    joined.extend(self.pick(branches).map(beside));
                }
            }
            if let Some(condition) = schema.get("if") {
                let holds = self.random.below(2) == 1;
                let (condition, then) = (holds.then_some(condition), if holds { "then" } else { "else" });
                joined.extend(condition.into_iter().chain(schema.get(then)).map(beside));
            }
        }
        joined
    }

    /// What a reference means.
    fn referred(&self, reference: &str, document: usize) -> Option<Wish<'s>> {
        let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let (document, root) = if base.is_empty() {
            (document, &self.documents.get(document)?.1)
        } else {
            let ends = |uri: &str| uri == base || uri.trim_end_matches('#').ends_with(&format!("/{base}"));
            let found = self.documents.iter().enumerate().find_map(|(place, (uri, root))| {
                let own = ends(uri).then_some(root);
                let within =
                    || find(root, &|schema| schema.get("$id").and_then(Value::as_str).is_some_and(ends));
                Some((place, own.or_else(within)?))
            });
            found?
        };
        let schema = if fragment.is_empty() {
            root
        } else if fragment.starts_with('/') {
            root.pointer(&fragment.replace("%25", "%").replace("%22", "\""))?
        } else {
            let named = |schema: &Value| {
                ["$anchor", "$dynamicAnchor"]
                    .iter()
                    .any(|name| schema.get(name).and_then(Value::as_str) == Some(fragment))
            };
            find(root, &named)?
        };
        Some(Wish { schema, document })
    }

    /// The type to make: one that all wishes allow, or one that their keywords are about.
    fn kind(&mut self, wishes: &[Wish<'s>], depth: usize) -> &'static str {
        const KINDS: [&str; 7] = ["object", "array", "string", "integer", "number", "boolean", "null"];
        const HINTS: [(&str, &str); 12] = [
            ("properties", "object"),
            ("required", "object"),
            ("patternProperties", "object"),
            ("additionalProperties", "object"),
            ("items", "array"),
            ("prefixItems", "array"),
            ("pattern", "string"),
            ("format", "string"),
            ("minLength", "string"),
            ("maxLength", "string"),
            ("minimum", "number"),
            ("multipleOf", "number"),
        ];
        let allows = |kind: &str, types: &Value| match types {
            Value::String(name) => name == kind || (name == "number" && kind == "integer"),
            Value::Array(names) => {
                names.iter().any(|name| name == kind || (name == "number" && kind == "integer"))
            }
            _ => true,
        };
        let is_typed = all(wishes, "type").next().is_some();
        let hint = HINTS.iter().find(|(keyword, _)| all(wishes, keyword).next().is_some());
        if let (false, Some((_, kind))) = (is_typed, hint) {
            return kind;
        }
        let mut allowed: Vec<_> =
            KINDS.into_iter().filter(|kind| all(wishes, "type").all(|types| allows(kind, types))).collect();
        if depth >= DEPTH_RICH || !is_typed {
            let flat: Vec<_> =
                allowed.iter().copied().filter(|kind| !["object", "array"].contains(kind)).collect();
            allowed = if flat.is_empty() { allowed } else { flat };
        }
        self.pick(&allowed).copied().unwrap_or("null")
    }

    fn object(&mut self, wishes: &[Wish<'s>], depth: usize) -> Map<String, Value> {
        let mut names: Vec<String> = Vec::new();
        let add = |names: &mut Vec<String>, name: &str| {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        };
        let rich = depth < DEPTH_RICH;
        for properties in all(wishes, "properties").filter_map(Value::as_object) {
            for name in properties.keys() {
                if rich && self.random.below(2) == 1 {
                    add(&mut names, name);
                }
            }
        }
        for required in all(wishes, "required").filter_map(Value::as_array) {
            required.iter().filter_map(Value::as_str).for_each(|name| add(&mut names, name));
        }
        for keyword in ["dependentRequired", "dependencies"] {
            for needs in all(wishes, keyword).filter_map(Value::as_object) {
                for (name, needed) in needs {
                    if names.contains(name) {
                        let needed = needed.as_array().into_iter().flatten().filter_map(Value::as_str);
                        needed.for_each(|name| add(&mut names, name));
                    }
                }
            }
        }
        let (least, most) = bounds(wishes, "minProperties", "maxProperties");
        let mut number = 0_u64;
        while (names.len() as u64) < least.min(most) && number < 4 * least {
            let name = self.further_name(wishes, number);
            add(&mut names, &name);
            number += 1;
        }
        let mut members = Map::new();
        for name in names {
            let below = self.member_wishes(wishes, &name);
            // A member that a schema forbids is only made where it is required.
            let value = self.value(&below, depth + 1);
            members.insert(name, value);
        }
        members
    }

    /// A name for a member that no `properties` names.
    fn further_name(&mut self, wishes: &[Wish<'s>], number: u64) -> String {
        let patterns = all(wishes, "patternProperties").filter_map(Value::as_object).flat_map(Map::keys);
        let patterns: Vec<&String> = patterns.collect();
        if let Some(pattern) = self.pick(&patterns).copied()
            && let Some(name) = texts::matching(pattern, self.random)
        {
            return name;
        }
        let rules: Vec<_> = wishes
            .iter()
            .filter_map(|wish| Some(Wish { schema: wish.schema.get("propertyNames")?, ..*wish }))
            .collect();
        if rules.is_empty() { format!("member{number}") } else { self.text(&rules) }
    }

    /// All that is wished of a member.
    fn member_wishes(&self, wishes: &[Wish<'s>], name: &str) -> Vec<Wish<'s>> {
        let mut found = Vec::new();
        for wish in wishes {
            let of = |keyword: &str| wish.schema.get(keyword);
            let own = of("properties").and_then(|properties| properties.get(name));
            let by_pattern = of("patternProperties").and_then(Value::as_object).into_iter().flatten();
            let matching: Vec<_> = by_pattern
                .filter(|(pattern, _)| self.patterns.is_match(pattern, name))
                .map(|(_, schema)| schema)
                .collect();
            let rest = (own.is_none() && matching.is_empty()).then(|| of("additionalProperties")).flatten();
            let schemas = own.into_iter().chain(matching).chain(rest);
            found.extend(schemas.map(|schema| Wish { schema, document: wish.document }));
        }
        found
    }

    fn array(&mut self, wishes: &[Wish<'s>], depth: usize) -> Vec<Value> {
        let (least, most) = bounds(wishes, "minItems", "maxItems");
        let contains: Vec<_> = wishes
            .iter()
            .filter_map(|wish| Some(Wish { schema: wish.schema.get("contains")?, ..*wish }))
            .collect();
        let contained = if contains.is_empty() { 0 } else { bounds(wishes, "minContains", "").0.max(1) };
        let more = if depth < DEPTH_RICH { self.random.below(MORE_MAX + 1) } else { 0 };
        let count = (least + more).min(most).max(contained).max(least);
        let is_unique = all(wishes, "uniqueItems").any(|unique| unique == &Value::Bool(true));
        let mut items: Vec<Value> = Vec::new();
        for place in 0..count.min(1_000) {
            let mut below = Self::item_wishes(wishes, place as usize);
            if place >= count - contained.min(count) {
                below.extend(&contains);
            }
            let mut item = self.value(&below, depth + 1);
            for _ in 0..TRIES_MAX {
                if !is_unique || !items.contains(&item) {
                    break;
                }
                item = self.value(&below, depth + 1);
            }
            items.push(item);
        }
        items
    }

    fn item_wishes(wishes: &[Wish<'s>], place: usize) -> Vec<Wish<'s>> {
        let mut found = Vec::new();
        for wish in wishes {
            let of = |keyword: &str| wish.schema.get(keyword);
            // Draft 7 says `items` and `additionalItems` for what are `prefixItems` and `items` now.
            let (first, rest) = match of("items") {
                Some(items @ Value::Array(_)) => (Some(items), of("additionalItems")),
                items => (of("prefixItems"), items),
            };
            let schema = first.and_then(|first| first.get(place)).or(rest);
            found.extend(schema.map(|schema| Wish { schema, document: wish.document }));
        }
        found
    }

    fn text(&mut self, wishes: &[Wish<'s>]) -> String {
        let wishes = self.joined(wishes);
        let (least, most) = bounds(&wishes, "minLength", "maxLength");
        for pattern in all(&wishes, "pattern").filter_map(Value::as_str) {
            // A pattern may say more about the length than the bounds do.
            for _ in 0..TRIES_MAX {
                let Some(text) = texts::matching(pattern, self.random) else { break };
                if (least..=most).contains(&(text.chars().count() as u64)) {
                    return text;
                }
            }
        }
        let format = all(&wishes, "format").find_map(Value::as_str);
        let of_format = format.and_then(|format| texts::of_format(format, self.random));
        of_format.unwrap_or_else(|| texts::words(least.max(u64::from(most > 0)), most, self.random))
    }

    fn number(&mut self, wishes: &[Wish<'s>], is_whole: bool) -> Value {
        let of = |keyword: &'static str| all(wishes, keyword).filter_map(Value::as_f64);
        let step = of("multipleOf").fold(if is_whole { 1.0 } else { 0.5 }, f64::max);
        let low = of("minimum")
            .chain(of("exclusiveMinimum").map(|low| low + step / 2.0))
            .fold(f64::NEG_INFINITY, f64::max);
        let high = of("maximum")
            .chain(of("exclusiveMaximum").map(|high| high - step / 2.0))
            .fold(f64::INFINITY, f64::min);
        let from = if low.is_finite() {
            low
        } else if high.is_finite() {
            high - 1_000.0 * step
        } else {
            0.0
        };
        let to = if high.is_finite() { high } else { from + 1_000.0 * step };
        let (first, last) = ((from / step).ceil(), (to / step).floor());
        let choices = (last - first).clamp(0.0, 1e6) as u64 + 1;
        let mut value = (first + self.random.below(choices) as f64) * step;
        // Bounds closer to each other than a step that nobody asked for.
        if !is_whole && value > to && of("multipleOf").next().is_none() {
            value = f64::midpoint(from, to);
        }
        let whole = (value.fract() == 0.0 && value.abs() < 9e15).then(|| Number::from(value as i64));
        whole.or_else(|| Number::from_f64(value)).map_or(Value::Null, Value::Number)
    }
}

/// What all wishes say by one keyword.
fn all<'w, 's: 'w>(wishes: &'w [Wish<'s>], keyword: &'w str) -> impl Iterator<Item = &'s Value> + 'w {
    wishes.iter().filter_map(move |wish| wish.schema.get(keyword))
}

/// The narrowest bounds of a count.
fn bounds(wishes: &[Wish<'_>], least: &str, most: &str) -> (u64, u64) {
    let count = |value: &Value| value.as_f64().map(|count| count.max(0.0) as u64);
    let least = all(wishes, least).filter_map(count).max().unwrap_or(0);
    let most = all(wishes, most).filter_map(count).min();
    (least, most.unwrap_or(u64::MAX))
}

/// The first schema within another that is wanted.
fn find<'s>(schema: &'s Value, is_wanted: &dyn Fn(&Value) -> bool) -> Option<&'s Value> {
    if is_wanted(schema) {
        return Some(schema);
    }
    match schema {
        Value::Array(items) => items.iter().find_map(|item| find(item, is_wanted)),
        Value::Object(members) => members.values().find_map(|member| find(member, is_wanted)),
        _ => None,
    }
}
