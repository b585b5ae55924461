//! JSON files without repeated names: which of two secrets or tasks counts must never be a matter of their order.
//!
//! TOML refuses repetitions by itself; JSON leaves them to the reader. Values never stand in an error.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// A JSON value, in whose objects no name stands twice.
pub(super) struct Unique(pub(super) Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Read).map(Self)
    }
}

struct Read;

impl<'de> Visitor<'de> for Read {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(flag.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Unique(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if object.contains_key(&name) {
                return Err(A::Error::custom(format_args!("the name `{name}` stands twice")));
            }
            let Unique(value) = members.next_value()?;
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_they_stand_and_repeated_names_refused() {
        for text in [r#"{"a":[null,true,-1,18446744073709551615,1.5,"x"],"b":{"a":{}}}"#, "[]", "3"] {
            let Unique(value) = serde_json::from_str(text).unwrap();
            assert_eq!(value, serde_json::from_str::<Value>(text).unwrap());
        }
        for text in [r#"{"a":1,"a":2}"#, r#"[{"b":{"a":1,"\u0061":"secret"}}]"#] {
            let error = serde_json::from_str::<Unique>(text).err().unwrap().to_string();
            assert!(error.starts_with("the name `a` stands twice") && !error.contains("secret"), "{error}");
        }
    }
}
