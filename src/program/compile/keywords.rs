//! One schema object → its full list of ops, in the order in which failures are reported.
//!
//! Every keyword's value is checked here, and an error says where it stands, what was found and what is allowed.

use serde_json::Value;

use super::{Compiler, Here, in_words, shorten};
use crate::program::names::{NameTable, Text};
use crate::program::numbers::{Divisor, Given};
use crate::program::ops::{BlockId, ContainsPlan, DynamicPlan, IfPlan, Kind, Op, Types};
use crate::program::strings::Format;
use crate::program::{CompileError, Draft};

type Done = Result<(), CompileError>;

impl<'a> Compiler<'a> {
    pub(super) fn keywords(&mut self, here: &mut Here<'a>) -> Done {
        // In draft 7 a reference replaces everything beside it.
        if here.dialect.draft == Draft::V7 && here.schema.contains_key("$ref") {
            return self.references(here);
        }
        if here.dialect.validation {
            self.types(here)?;
            self.literals(here)?;
            self.bounds(here)?;
            self.counts(here)?;
            self.strings(here)?;
        }
        self.format(here)?;
        if here.dialect.validation || here.dialect.applicator {
            self.objects(here)?;
            self.arrays(here)?;
            self.dependencies(here)?;
        }
        if here.dialect.applicator {
            self.contains(here)?;
        }
        if here.dialect.validation {
            self.unique(here)?;
        }
        self.references(here)?;
        if here.dialect.applicator {
            self.combinations(here)?;
        }
        if here.dialect.unevaluated {
            self.unevaluated(here);
        }
        Ok(())
    }

    /// Adds an op for `keyword`.
    pub(super) fn push(&mut self, here: &mut Here<'a>, keyword: &'static str, kind: Kind, expected: String) {
        let place = self.below(here, &[keyword]);
        let origin = self.origin(place, keyword, expected);
        here.ops.push(Op::new(kind, origin));
    }

    /// The error for a keyword whose value is not what it has to be.
    pub(super) fn misuse<T>(
        &mut self,
        here: &Here<'a>,
        keyword: &str,
        value: &Value,
        allowed: &str,
    ) -> Result<T, CompileError> {
        let place = self.below(here, &[keyword]);
        Err(self.error(place, format!("`{keyword}` is {}; allowed is {allowed}", in_words(value))))
    }

    /// As [`Self::misuse`], for something within the keyword's value.
    pub(super) fn misuse_within<T>(
        &mut self,
        here: &Here<'a>,
        path: &[&str],
        value: &Value,
        allowed: &str,
    ) -> Result<T, CompileError> {
        let place = self.below(here, path);
        Err(self.error(place, format!("found {}; allowed is {allowed}", in_words(value))))
    }

    fn types(&mut self, here: &mut Here<'a>) -> Done {
        const ALLOWED: &str =
            "a type, or a list of types: null, boolean, object, array, number, string, integer";
        let Some(value) = here.schema.get("type") else { return Ok(()) };
        let names: Vec<&str> = match value {
            Value::String(name) => vec![name],
            Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let complete = value.as_array().is_none_or(|all| all.len() == names.len());
        if names.is_empty() || !complete {
            return self.misuse(here, "type", value, ALLOWED);
        }
        let mut types = Types(0);
        for name in &names {
            types = types.with(match *name {
                "null" => Types::NULL,
                "boolean" => Types::BOOLEAN,
                "object" => Types::OBJECT,
                "array" => Types::ARRAY,
                "number" => Types::NUMBER,
                "string" => Types::STRING,
                "integer" => Types::INTEGER,
                _ => return self.misuse(here, "type", &Value::from(*name), ALLOWED),
            });
        }
        self.push(here, "type", Kind::Any, format!("of type {}", names.join(" or ")));
        if let Some(op) = here.ops.last_mut() {
            op.types = types;
        }
        Ok(())
    }

    fn literals(&mut self, here: &mut Here<'a>) -> Done {
        if let Some(value) = here.schema.get("const") {
            let kind = if let Value::String(text) = value {
                self.tables.strings.push(Text::new(text));
                Kind::ConstString(self.tables.strings.len() as u32 - 1)
            } else {
                let place = self.below(here, &["const"]);
                let literal = self.literal(place, value);
                self.tables.literals.push(literal);
                Kind::Const(self.tables.literals.len() as u32 - 1)
            };
            let place = self.below(here, &["const"]);
            let expected = shorten(&self.written(place, value));
            self.push(here, "const", kind, expected);
        }
        let Some(value) = here.schema.get("enum") else { return Ok(()) };
        let Value::Array(values) = value else { return self.misuse(here, "enum", value, "an array") };
        let mut texts: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
        let nulls = values.iter().filter(|value| value.is_null()).count();
        let strings_only =
            texts.len() + nulls == values.len() && !texts.is_empty() && texts.len() <= NameTable::LEN_MAX;
        let kind = if strings_only {
            texts.sort_unstable();
            texts.dedup();
            let number = self.tables.string_sets.len();
            self.tables.string_sets.push(NameTable::new(texts, number));
            if nulls == 0 { Kind::EnumStrings(number as u32) } else { Kind::EnumStringsOrNull(number as u32) }
        } else {
            let place = self.below(here, &["enum"]);
            let literals = values.iter().enumerate().map(|(number, value)| {
                let place = self.registry.child(place, &number.to_string());
                self.literal(place, value)
            });
            let literals = literals.collect();
            self.tables.enums.push(literals);
            Kind::Enum(self.tables.enums.len() as u32 - 1)
        };
        let place = self.below(here, &["enum"]);
        let list = self.written(place, value);
        let list = list.strip_prefix('[').and_then(|list| list.strip_suffix(']')).unwrap_or(&list);
        let expected = match values.as_slice() {
            [] => "nothing: the list of what is allowed is empty".to_owned(),
            _ => format!("one of {}", shorten(list)),
        };
        self.push(here, "enum", kind, expected);
        Ok(())
    }

    fn bounds(&mut self, here: &mut Here<'a>) -> Done {
        type Make = fn(u32) -> Kind;
        let keywords: [(&'static str, Make, &str); 4] = [
            ("minimum", Kind::Minimum, "at least"),
            ("exclusiveMinimum", Kind::ExclusiveMinimum, "more than"),
            ("maximum", Kind::Maximum, "at most"),
            ("exclusiveMaximum", Kind::ExclusiveMaximum, "less than"),
        ];
        for (keyword, make, words) in keywords {
            let Some(value) = here.schema.get(keyword) else { continue };
            let Value::Number(number) = value else { return self.misuse(here, keyword, value, "a number") };
            let text = self.number_text(here, keyword, number);
            let given = Given::new(&text);
            let expected = format!("{words} {}", shorten(&text));
            self.tables.numbers.push(given);
            self.push(here, keyword, make(self.tables.numbers.len() as u32 - 1), expected);
        }
        let Some(value) = here.schema.get("multipleOf") else { return Ok(()) };
        let text = value.as_number().map(|number| self.number_text(here, "multipleOf", number));
        let divisor = text.as_deref().and_then(Divisor::new);
        let (Some(text), Some(divisor)) = (text, divisor) else {
            return self.misuse(here, "multipleOf", value, "a number above 0 with at most 38 digits");
        };
        let expected = format!("a multiple of {}", shorten(&text));
        self.tables.divisors.push(divisor);
        self.push(here, "multipleOf", Kind::MultipleOf(self.tables.divisors.len() as u32 - 1), expected);
        Ok(())
    }

    fn counts(&mut self, here: &mut Here<'a>) -> Done {
        type Make = fn(u32) -> Kind;
        let keywords: [(&'static str, Make, &str, &str); 6] = [
            ("minLength", Kind::MinLength, "at least", "characters"),
            ("maxLength", Kind::MaxLength, "at most", "characters"),
            ("minItems", Kind::MinItems, "at least", "items"),
            ("maxItems", Kind::MaxItems, "at most", "items"),
            ("minProperties", Kind::MinProperties, "at least", "members"),
            ("maxProperties", Kind::MaxProperties, "at most", "members"),
        ];
        for (keyword, make, words, unit) in keywords {
            if let Some(count) = self.count(here, keyword)? {
                self.push(here, keyword, make(count), format!("{words} {count} {unit}"));
            }
        }
        Ok(())
    }

    /// A keyword whose value is a number of things. Nothing has 2^32 parts, so larger ones are cut to that.
    pub(super) fn count(&mut self, here: &Here<'a>, keyword: &str) -> Result<Option<u32>, CompileError> {
        let Some(value) = here.schema.get(keyword) else { return Ok(None) };
        let text = value.as_number().map(|number| self.number_text(here, keyword, number));
        match text.map(|text| Given::new(&text)) {
            Some(count) if count.floor() >= 0 && count.floor() == count.ceiling() => {
                Ok(Some(u32::try_from(count.floor()).unwrap_or(u32::MAX)))
            }
            _ => self.misuse(here, keyword, value, "an integer from 0"),
        }
    }

    fn strings(&mut self, here: &mut Here<'a>) -> Done {
        if let Some(value) = here.schema.get("pattern") {
            let Value::String(text) = value else {
                return self.misuse(here, "pattern", value, "a regular expression");
            };
            let place = self.below(here, &["pattern"]);
            let number = self.pattern(text, place)?;
            self.push(here, "pattern", Kind::Pattern(number), format!("a match of {}", shorten(text)));
        }
        Ok(())
    }

    fn format(&mut self, here: &mut Here<'a>) -> Done {
        if let Some(value) = here.schema.get("format") {
            let Value::String(name) = value else {
                return self.misuse(here, "format", value, "the name of a format");
            };
            let asserted = self.options.assert_formats || here.dialect.format_assertion;
            if let Some(format) = Format::named(name).filter(|_| asserted) {
                self.push(here, "format", Kind::Format(format), format!("of format {name}"));
            }
        }
        Ok(())
    }

    fn contains(&mut self, here: &mut Here<'a>) -> Done {
        if !here.schema.contains_key("contains") {
            return Ok(());
        }
        let block = self.child(here, &["contains"]);
        let modern = here.dialect.draft == Draft::V2020;
        let (mut min, mut max) = (1, u32::MAX);
        if modern && here.dialect.validation {
            min = self.count(here, "minContains")?.unwrap_or(1);
            max = self.count(here, "maxContains")?.unwrap_or(u32::MAX);
        }
        self.tables.contains.push(ContainsPlan { block, min, max, evaluates: modern });
        let kind = Kind::Contains(self.tables.contains.len() as u32 - 1);
        let expected = match max {
            u32::MAX => format!("at least {min} items that match"),
            max => format!("{min} to {max} items that match"),
        };
        self.push(here, "contains", kind, expected);
        Ok(())
    }

    fn unique(&mut self, here: &mut Here<'a>) -> Done {
        match here.schema.get("uniqueItems") {
            Some(Value::Bool(true)) => {
                self.push(
                    here,
                    "uniqueItems",
                    Kind::UniqueItems,
                    "items that differ from each other".to_owned(),
                );
                Ok(())
            }
            Some(Value::Bool(false)) | None => Ok(()),
            Some(other) => self.misuse(here, "uniqueItems", other, "`true` or `false`"),
        }
    }

    fn references(&mut self, here: &mut Here<'a>) -> Done {
        if let Some(value) = here.schema.get("$ref") {
            let Value::String(reference) = value else {
                return self.misuse(here, "$ref", value, "a URI reference");
            };
            let target = self.registry.resolve(here.resource, reference);
            let place = self.below(here, &["$ref"]);
            let target = target.map_err(|problem| self.error(place, problem))?;
            let block = self.block(target.place, target.resource);
            self.push(here, "$ref", Kind::Call(block), String::new());
        }
        let Some(value) = here.schema.get("$dynamicRef") else { return Ok(()) };
        if here.dialect.draft == Draft::V7 {
            return Ok(());
        }
        let Value::String(reference) = value else {
            return self.misuse(here, "$dynamicRef", value, "a URI reference");
        };
        let target = self.registry.resolve(here.resource, reference);
        let place = self.below(here, &["$dynamicRef"]);
        let target = target.map_err(|problem| self.error(place, problem))?;
        let fallback = self.block(target.place, target.resource);
        // Only a reference that starts at a dynamic anchor is dynamic.
        let kind = match target.dynamic {
            Some(name) => Kind::Dynamic(self.dynamic_plan(name, fallback)),
            None => Kind::Call(fallback),
        };
        self.push(here, "$dynamicRef", kind, String::new());
        Ok(())
    }

    /// The number of the plan for a dynamic reference.
    fn dynamic_plan(&mut self, name: String, fallback: BlockId) -> u32 {
        if let Some(number) = self.dynamic_plans.get(&(name.clone(), fallback)) {
            return *number;
        }
        let number = self.tables.dynamics.len();
        self.dynamic_names.push((name.clone(), number));
        self.dynamic_plans.insert((name, fallback), number as u32);
        self.tables.dynamics.push(DynamicPlan { candidates: Vec::new(), fallback });
        number as u32
    }

    fn combinations(&mut self, here: &mut Here<'a>) -> Done {
        for block in self.branches(here, "allOf")?.unwrap_or_default() {
            self.push(here, "allOf", Kind::Call(block), String::new());
        }
        if let Some(branches) = self.branches(here, "anyOf")? {
            let expected = format!("a match of at least one of {} schemas", branches.len());
            self.tables.branches.push(branches);
            self.push(here, "anyOf", Kind::AnyOf(self.tables.branches.len() as u32 - 1), expected);
        }
        if let Some(branches) = self.branches(here, "oneOf")? {
            let expected = format!("a match of exactly one of {} schemas", branches.len());
            self.tables.branches.push(branches);
            self.push(here, "oneOf", Kind::OneOf(self.tables.branches.len() as u32 - 1), expected);
        }
        if here.schema.contains_key("not") {
            let block = self.child(here, &["not"]);
            self.push(here, "not", Kind::Not(block), "no match of the schema".to_owned());
        }
        if here.schema.contains_key("if") {
            let condition = self.child(here, &["if"]);
            let then = here.schema.contains_key("then").then(|| self.child(here, &["then"]));
            let otherwise = here.schema.contains_key("else").then(|| self.child(here, &["else"]));
            // Without branches the condition still evaluates members.
            if then.is_some() || otherwise.is_some() || here.dialect.unevaluated {
                self.tables.conditions.push(IfPlan { condition, then, otherwise });
                self.push(here, "if", Kind::If(self.tables.conditions.len() as u32 - 1), String::new());
            }
        }
        Ok(())
    }

    fn branches(&mut self, here: &Here<'a>, keyword: &str) -> Result<Option<Box<[BlockId]>>, CompileError> {
        match here.schema.get(keyword) {
            None => Ok(None),
            Some(Value::Array(schemas)) if !schemas.is_empty() => {
                let blocks = (0..schemas.len()).map(|index| self.child(here, &[keyword, &index.to_string()]));
                Ok(Some(blocks.collect()))
            }
            Some(other) => self.misuse(here, keyword, other, "an array of at least one schema"),
        }
    }

    fn unevaluated(&mut self, here: &mut Here<'a>) {
        if here.schema.contains_key("unevaluatedItems") {
            let block = self.child(here, &["unevaluatedItems"]);
            self.push(here, "unevaluatedItems", Kind::UnevaluatedItems(block), "no further items".to_owned());
        }
        if here.schema.contains_key("unevaluatedProperties") {
            let block = self.child(here, &["unevaluatedProperties"]);
            self.push(
                here,
                "unevaluatedProperties",
                Kind::UnevaluatedProperties(block),
                "no further members".to_owned(),
            );
        }
    }
}
