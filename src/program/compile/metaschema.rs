//! Whether a schema is one: what its draft's metaschema says about it.
//!
//! Every keyword that the program needs was checked when it was compiled, in better words. What is left are keywords
//! that do nothing where they stand, identifiers, annotations, and the form of lists. The metaschemas themselves are
//! compiled once per process, and not checked.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::OnceLock;

use serde_json::Value;

use super::{Compiler, compile_unchecked};
use crate::program::documents::Dialect;
use crate::program::metaschemas;
use crate::program::places::Place;
use crate::program::{CompileError, Draft, Explanation, FirstFailure, Limits, Options, Program, Scratch};
use crate::tape::Parser;

/// LIMIT: more than any schema that was read has.
const DEPTH_MAX: usize = 1024;

/// The compiled metaschema of a draft; nothing if it is broken, which a test would tell.
fn of(draft: Draft) -> Option<&'static Program> {
    static V7: OnceLock<Option<Program>> = OnceLock::new();
    static V2020: OnceLock<Option<Program>> = OnceLock::new();
    let (cell, uri) = match draft {
        Draft::V7 => (&V7, "http://json-schema.org/draft-07/schema"),
        Draft::V2020 => (&V2020, "https://json-schema.org/draft/2020-12/schema"),
    };
    let compile = || {
        // The cost is linear in the schema, which was read and compiled already.
        let limits = Limits { steps_max: u64::MAX, call_depth_max: 2048, ..Limits::default() };
        let options = Options { assert_formats: false, limits, ..Options::default() };
        compile_unchecked(metaschemas::text(uri)?, uri, &options).ok()
    };
    cell.get_or_init(compile).as_ref()
}

impl Compiler<'_> {
    /// Checks every document that the program comes from against the metaschema of its draft.
    pub(super) fn check_metaschemas(&self) -> Result<(), CompileError> {
        let mut homes: Vec<Place> = Vec::new();
        let mut known = HashSet::new();
        for (place, _) in &self.places {
            let home = self.home(*place);
            if known.insert(home) {
                homes.push(home);
            }
        }
        // Resources of another dialect are left out where they stand, and checked on their own.
        let foreign = self.foreign_resources(&known);
        let mut foreign_sorted: Vec<Place> = foreign.iter().copied().collect();
        foreign_sorted.sort_unstable();
        homes.extend(foreign_sorted);
        let (mut parser, mut scratch) = (Parser::new(DEPTH_MAX), Scratch::default());
        homes.iter().try_for_each(|home| self.check_from(*home, &foreign, (&mut parser, &mut scratch)))
    }

    /// The schema that has to be right as a whole for the sake of the schema at `place`: its document, if keywords lead
    /// from there to it. A reference may also lead into a part that no keyword holds, in a document that is no schema.
    fn home(&self, mut place: Place) -> Place {
        if self.registry.is_schema(place) {
            return self.registry.document(place).map_or(place, |document| document.root);
        }
        let mut home = place;
        while let Some(parent) = self.registry.places.parent(place) {
            place = parent;
            if self.ids.contains_key(&place) && !self.registry.is_schema(place) {
                home = place;
            }
        }
        home
    }

    /// Resources in these schemas whose dialect is not that of the schema around them.
    fn foreign_resources(&self, homes: &HashSet<Place>) -> HashSet<Place> {
        let dialect_at =
            |place| self.registry.resource_at(place).and_then(|number| self.registry.resource(number));
        let is_foreign = |place: Place| {
            let mut around = self.registry.places.parent(place);
            while let Some(outer) = around {
                if let Some(resource) = dialect_at(outer) {
                    return dialect_at(place).is_some_and(|own| own.dialect != resource.dialect);
                }
                around = self.registry.places.parent(outer);
            }
            false
        };
        let places = self.registry.resources().iter().map(|resource| resource.place);
        places.filter(|place| is_foreign(*place) && homes.contains(&self.home(*place))).collect()
    }

    fn check_from(
        &self,
        home: Place,
        foreign: &HashSet<Place>,
        (parser, scratch): (&mut Parser, &mut Scratch),
    ) -> Result<(), CompileError> {
        let Some((value, document)) = self.registry.value(home).zip(self.registry.document(home)) else {
            return Ok(());
        };
        let (Some(dialect), Some(text)) = (self.dialect_of(home), document.text) else { return Ok(()) };
        let Some(metaschema) = of(dialect.draft).filter(|_| dialect.standard) else { return Ok(()) };
        let whole = home == document.root
            && !foreign
                .iter()
                .any(|place| self.registry.places.document(*place) == self.registry.places.document(home));
        let text = if whole {
            Cow::Borrowed(text)
        } else {
            Cow::Owned(self.without(home, value, foreign).to_string())
        };
        let failure = parser.parse(text.as_bytes(), |tape| {
            let tape = tape.ok()?;
            let mut first = FirstFailure::default();
            metaschema.execute(tape, scratch, &mut first);
            let failure = metaschema.innermost(first.0?, tape, scratch);
            metaschema.explain_all(&[failure], tape, scratch).pop()
        });
        let Some(Explanation { instance, schema, expected, found, .. }) = failure else { return Ok(()) };
        let name = match dialect.draft {
            Draft::V7 => "draft-07",
            Draft::V2020 => "2020-12",
        };
        let value = if expected.starts_with("of ") { "a value " } else { "" };
        let problem =
            format!("found {found}; allowed is {value}{expected} (metaschema of {name}, `{schema}`)");
        let mut error = self.error(home, problem);
        error.pointer.push_str(&instance);
        Err(error)
    }

    /// The dialect at a place.
    fn dialect_of(&self, place: Place) -> Option<Dialect> {
        let mut place = Some(place);
        while let Some(here) = place {
            if let Some(resource) =
                self.registry.resource_at(here).and_then(|number| self.registry.resource(number))
            {
                return resource.dialect.as_ref().ok().copied();
            }
            place = self.registry.places.parent(here);
        }
        None
    }

    /// A schema in which others are replaced by one that is always right.
    fn without(&self, place: Place, value: &Value, others: &HashSet<Place>) -> Value {
        let part = |token: &str, value: &Value| match self.registry.places.find(place, token) {
            Some(part) if others.contains(&part) => Value::Bool(true),
            Some(part) => self.without(part, value, others),
            None => value.clone(),
        };
        match value {
            Value::Array(items) => {
                items.iter().enumerate().map(|(number, item)| part(&number.to_string(), item)).collect()
            }
            Value::Object(members) => {
                members.iter().map(|(name, value)| (name.clone(), part(name, value))).collect()
            }
            other => other.clone(),
        }
    }
}
