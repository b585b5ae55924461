//! The keywords that belong together: members of objects, items of arrays, dependencies.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{Compiler, Here};
use crate::program::names::NameTable;
use crate::program::ops::{ArrayPlan, BlockId, Counts, Kind, ObjectPlan, Op, OpIndex, Pass, Slot, Span};
use crate::program::{CompileError, Draft};

type Done = Result<(), CompileError>;

impl<'a> Compiler<'a> {
    /// `properties`, `required`, `patternProperties` and `additionalProperties` as one plan.
    pub(super) fn objects(&mut self, here: &mut Here<'a>) -> Done {
        let schema = here.schema;
        let applies = here.dialect.applicator;
        let map_of = |keyword: &str| schema.get(keyword).filter(|_| applies);
        let properties = self.members(here, "properties", map_of("properties"))?;
        let patterns = self.members(here, "patternProperties", map_of("patternProperties"))?;
        let required = self.required(here)?;
        let additional = map_of("additionalProperties");
        if properties.is_none() && patterns.is_none() && required.is_none() && additional.is_none() {
            self.property_names(here);
            return Ok(());
        }
        let mut plan_patterns = Vec::new();
        for text in patterns.into_iter().flat_map(Map::keys) {
            let place = self.below(here, &["patternProperties", text]);
            let number = self.pattern(text, place)?;
            plan_patterns.push((number, self.child(here, &["patternProperties", text]), Op::OPEN));
        }
        let (others, others_block) = match additional {
            Some(Value::Bool(false)) => {
                let place = self.below(here, &["additionalProperties"]);
                let origin = self.origin(place, "additionalProperties", "no further members".to_owned());
                (Op::new(Kind::Never, origin), None)
            }
            Some(_) => (Op::OPEN, Some(self.child(here, &["additionalProperties"]))),
            None => (Op::OPEN, None),
        };
        let required = required.unwrap_or_default();
        let names: Vec<&str> = {
            let known: HashSet<&str> = required.iter().map(|(name, _)| *name).collect();
            let is_required = |name: &&str| !known.contains(name);
            let rest = properties.into_iter().flat_map(Map::keys).map(String::as_str).filter(is_required);
            required.iter().map(|(name, _)| *name).chain(rest).collect()
        };
        if names.len() > NameTable::LEN_MAX {
            let problem =
                format!("{} known members; at most {} are allowed", names.len(), NameTable::LEN_MAX);
            return Err(self.error(here.place, problem));
        }
        let start = self.tables.slots.len() as u32;
        let mut apart = true;
        for (number, name) in names.iter().enumerate() {
            let origin = required.get(number).map(|(_, origin)| *origin);
            let in_properties = properties.is_some_and(|properties| properties.contains_key(*name));
            let slot = self.slot(here, name, origin, in_properties, &plan_patterns, others, others_block);
            apart &= slot.patterns.is_empty();
            // Each pattern that a known name matches is an op of its slot.
            self.copied_ops += slot.patterns.len();
            self.hold_to_limit(self.copied_ops)?;
            self.tables.slots.push(slot);
        }
        let table = NameTable::new(names.iter().copied(), self.tables.objects.len());
        let order = schema_order(&table, names.len(), properties);
        self.tables.objects.push(ObjectPlan {
            plain: apart && table.glances().is_some(),
            names: table,
            slots: Span { start, end: start + names.len() as u32 },
            ops: Box::default(),
            order,
            required: required.len() as u32,
            required_mask: u64::MAX.checked_shl(required.len() as u32).map_or(u64::MAX, |rest| !rest),
            map: false,
            counts: Counts::ANY,
            patterns: plan_patterns.into_boxed_slice(),
            others,
            others_pass: Pass::NOTHING,
            others_block,
            others_evaluated: additional.is_some(),
        });
        self.push(here, "properties", Kind::Object(self.tables.objects.len() as u32 - 1), String::new());
        self.property_names(here);
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "a slot is where all of an object's keywords meet")]
    fn slot(
        &mut self,
        here: &Here<'a>,
        name: &str,
        required: Option<OpIndex>,
        in_properties: bool,
        patterns: &[(u32, BlockId, Op)],
        others: Op,
        others_block: Option<BlockId>,
    ) -> Slot {
        let matching: Box<[_]> = patterns
            .iter()
            .filter(|(number, ..)| {
                self.tables.patterns.get(*number as usize).is_some_and(|pattern| pattern.is_match(name))
            })
            .map(|(_, block, op)| (*block, *op))
            .collect();
        let known = in_properties || !matching.is_empty();
        let (op, block) = match (in_properties, known) {
            (true, _) => (Op::OPEN, Some(self.child(here, &["properties", name]))),
            (false, true) => (Op::OPEN, None),
            (false, false) => (others, others_block),
        };
        Slot { op, pass: Pass::NOTHING, block, required, known, patterns: matching }
    }

    fn members(
        &mut self,
        here: &Here<'a>,
        keyword: &str,
        value: Option<&'a Value>,
    ) -> Result<Option<&'a Map<String, Value>>, CompileError> {
        match value {
            None => Ok(None),
            Some(Value::Object(members)) => Ok(Some(members)),
            Some(other) => self.misuse(here, keyword, other, "an object of schemas"),
        }
    }

    /// The required names, each once, with where they are named.
    fn required(&mut self, here: &Here<'a>) -> Result<Option<Vec<(&'a str, OpIndex)>>, CompileError> {
        let Some(value) = here.schema.get("required").filter(|_| here.dialect.validation) else {
            return Ok(None);
        };
        let mut required: Vec<(&'a str, OpIndex)> = Vec::new();
        let mut known = HashSet::new();
        let place = self.below(here, &["required"]);
        for name in self.names(here, &["required"], value)? {
            if known.insert(name) {
                let origin = self.origin(place, "required", format!("a member `{name}`"));
                required.push((name, origin));
            }
        }
        Ok(Some(required))
    }

    /// A list of names.
    fn names(
        &mut self,
        here: &Here<'a>,
        path: &[&str],
        value: &'a Value,
    ) -> Result<Vec<&'a str>, CompileError> {
        const ALLOWED: &str = "an array of strings";
        let Value::Array(names) = value else {
            return match path {
                [keyword] => self.misuse(here, keyword, value, ALLOWED),
                _ => self.misuse_within(here, path, value, ALLOWED),
            };
        };
        let mut all = Vec::with_capacity(names.len());
        for (number, name) in names.iter().enumerate() {
            match name {
                Value::String(name) => all.push(name.as_str()),
                other => {
                    let number = number.to_string();
                    let path = [path, &[number.as_str()]].concat();
                    return self.misuse_within(here, &path, other, "a string");
                }
            }
        }
        Ok(all)
    }

    fn property_names(&mut self, here: &mut Here<'a>) {
        if here.schema.contains_key("propertyNames") && here.dialect.applicator {
            let block = self.child(here, &["propertyNames"]);
            self.push(here, "propertyNames", Kind::PropertyNames(block), "names that match".to_owned());
        }
    }

    /// `prefixItems` and `items`, or what draft 7 calls them.
    pub(super) fn arrays(&mut self, here: &mut Here<'a>) -> Done {
        if !here.dialect.applicator {
            return Ok(());
        }
        let (prefix, rest) = match (here.dialect.draft, here.schema.get("items")) {
            (Draft::V2020, Some(items @ Value::Array(_))) => {
                return self.misuse(
                    here,
                    "items",
                    items,
                    "a schema; a list of schemas is called `prefixItems` in 2020-12",
                );
            }
            (Draft::V2020, items) => ("prefixItems", items.map(|_| "items")),
            (Draft::V7, Some(Value::Array(_))) => {
                ("items", here.schema.get("additionalItems").map(|_| "additionalItems"))
            }
            (Draft::V7, items) => ("", items.map(|_| "items")),
        };
        let count = match here.schema.get(prefix) {
            None => 0,
            Some(Value::Array(schemas)) => schemas.len(),
            Some(other) => return self.misuse(here, prefix, other, "an array of schemas"),
        };
        if count == 0 && rest.is_none() {
            return Ok(());
        }
        let prefix =
            (0..count).map(|index| (self.child(here, &[prefix, &index.to_string()]), Op::OPEN)).collect();
        let rest = rest.map(|keyword| (self.child(here, &[keyword]), Op::OPEN));
        self.tables.arrays.push(ArrayPlan {
            prefix,
            rest,
            rest_op: Op::OPEN,
            rest_pass: Pass::NOTHING,
            counts: Counts::ANY,
        });
        self.push(here, "items", Kind::Array(self.tables.arrays.len() as u32 - 1), String::new());
        Ok(())
    }

    /// `dependentRequired` and `dependentSchemas`, which draft 7 calls `dependencies`.
    pub(super) fn dependencies(&mut self, here: &mut Here<'a>) -> Done {
        let modern = here.dialect.draft == Draft::V2020;
        let keywords: &[&'static str] =
            if modern { &["dependentRequired", "dependentSchemas"] } else { &["dependencies"] };
        for keyword in keywords {
            let Some(members) = self.members(here, keyword, here.schema.get(*keyword))? else { continue };
            let (mut needed, mut schemas) = (Vec::new(), Vec::new());
            for (name, value) in members {
                let is_list = *keyword == "dependentRequired" || (!modern && value.is_array());
                if is_list {
                    let names = self.names(here, &[keyword, name], value)?;
                    needed.push((name.as_str().into(), names.into_iter().map(Into::into).collect()));
                } else {
                    schemas.push((name.as_str().into(), self.child(here, &[keyword, name])));
                }
            }
            if !needed.is_empty() && here.dialect.validation {
                self.tables.dependent_required.push(needed.into_boxed_slice());
                let kind = Kind::DependentRequired(self.tables.dependent_required.len() as u32 - 1);
                self.push(here, keyword, kind, "the members that others depend on".to_owned());
            }
            if !schemas.is_empty() && here.dialect.applicator {
                self.tables.dependent_schemas.push(schemas.into_boxed_slice());
                let kind = Kind::DependentSchemas(self.tables.dependent_schemas.len() as u32 - 1);
                self.push(here, keyword, kind, String::new());
            }
        }
        Ok(())
    }
}

/// The slots in the order of `properties`, then those that only `required` names.
fn schema_order(names: &NameTable, count: usize, properties: Option<&Map<String, Value>>) -> Box<[u32]> {
    let keys = properties.into_iter().flat_map(Map::keys);
    let mut order: Vec<u32> = keys.filter_map(|name| names.find(name)).collect();
    let listed: HashSet<u32> = order.iter().copied().collect();
    order.extend((0..count as u32).filter(|slot| !listed.contains(slot)));
    order.into_boxed_slice()
}
