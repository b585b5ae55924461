//! One change of a document that holds: at one place, in one way. Which keyword that breaks, the program says.

use serde_json::{Map, Value, json};

use crate::load::Random;

/// What is done, and where.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Change {
    pointer: String,
    way: Way,
}

/// Ways to change a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Takes the value away from its object or array.
    Remove,
    /// Puts a value of another type there.
    Retype,
    /// Adds a member that nobody expects.
    Foreign,
    /// Puts another text of the same length there.
    Scramble,
    /// Makes a text, an array or an object much longer.
    Lengthen,
    /// Leaves nothing of a text, an array or an object.
    Empty,
    /// Makes a number very large.
    Raise,
    /// Makes a number very small.
    Lower,
    /// Adds a fraction that hardly any number is a multiple of.
    Shift,
    /// Repeats the first item.
    Repeat,
}

const WAYS: [Way; 10] = [
    Way::Remove,
    Way::Retype,
    Way::Foreign,
    Way::Scramble,
    Way::Lengthen,
    Way::Empty,
    Way::Raise,
    Way::Lower,
    Way::Shift,
    Way::Repeat,
];

/// LIMIT: places of a document that are looked at.
const PLACES_MAX: usize = 512;
/// Longer than limits of texts and arrays in most schemas.
const LONG: usize = 5_000;
/// How often a place and a way are drawn that do not fit each other.
const TRIES_MAX: usize = 8;

impl Change {
    /// Draws a change, and applies it.
    pub(super) fn draw(document: &Value, random: &mut Random) -> Option<(Self, Value)> {
        let mut places = Vec::new();
        collect(document, &mut String::new(), &mut places);
        (0..TRIES_MAX).find_map(|_| {
            let pointer = places.get(random.below(places.len() as u64) as usize)?.clone();
            let way = WAYS.get(random.below(WAYS.len() as u64) as usize).copied()?;
            let change = Self { pointer, way };
            let changed = change.apply(document)?;
            Some((change, changed))
        })
    }

    /// The document with this change; `None` where it has no such place, or nothing would change.
    pub(super) fn apply(&self, document: &Value) -> Option<Value> {
        let mut changed = document.clone();
        if self.way == Way::Remove {
            let (parent, name) = self.pointer.rsplit_once('/')?;
            let name = name.replace("~1", "/").replace("~0", "~");
            match changed.pointer_mut(parent)? {
                Value::Object(members) => drop(members.shift_remove(&name)?),
                Value::Array(items) => {
                    let place = name.parse::<usize>().ok().filter(|place| *place < items.len())?;
                    items.remove(place);
                }
                _ => return None,
            }
            return Some(changed);
        }
        let place = changed.pointer_mut(&self.pointer)?;
        let next = replaced(self.way, place)?;
        *place = next;
        Some(changed).filter(|changed| changed != document)
    }
}

/// What stands at a place afterwards.
fn replaced(way: Way, value: &Value) -> Option<Value> {
    Some(match (way, value) {
        (Way::Retype, Value::String(_)) => json!(7),
        (Way::Retype, _) => json!("seven"),
        (Way::Foreign, Value::Object(members)) => {
            let mut members: Map<String, Value> = members.clone();
            members.insert("nobody-expects-this".to_owned(), json!("x"));
            Value::Object(members)
        }
        (Way::Scramble, Value::String(text)) if !text.is_empty() => {
            Value::String(text.chars().map(|_| '~').collect())
        }
        (Way::Lengthen, Value::String(text)) => Value::String(format!("{text}{}", "x".repeat(LONG))),
        (Way::Lengthen, Value::Array(items)) => {
            let last = items.last()?.clone();
            Value::Array(items.iter().cloned().chain(std::iter::repeat_n(last, LONG / 10)).collect())
        }
        (Way::Lengthen, Value::Object(members)) => {
            let more = (0..LONG / 10).map(|number| (format!("more-{number}"), Value::Null));
            Value::Object(members.clone().into_iter().chain(more).collect())
        }
        (Way::Empty, Value::String(_)) => json!(""),
        (Way::Empty, Value::Array(_)) => json!([]),
        (Way::Empty, Value::Object(_)) => json!({}),
        (Way::Raise, Value::Number(_)) => json!(9_007_199_254_740_000_u64),
        (Way::Lower, Value::Number(_)) => json!(-9_007_199_254_740_000_i64),
        (Way::Shift, Value::Number(number)) => json!(number.as_f64()? + 0.123_456_7),
        (Way::Repeat, Value::Array(items)) => {
            let first = items.first()?.clone();
            Value::Array(items.iter().cloned().chain([first]).collect())
        }
        _ => return None,
    })
}

/// The pointers of all values.
fn collect(value: &Value, pointer: &mut String, places: &mut Vec<String>) {
    if places.len() >= PLACES_MAX {
        return;
    }
    places.push(pointer.clone());
    let len = pointer.len();
    match value {
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                pointer.push_str(&format!("/{place}"));
                collect(item, pointer, places);
                pointer.truncate(len);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                pointer.push_str(&format!("/{}", name.replace('~', "~0").replace('/', "~1")));
                collect(member, pointer, places);
                pointer.truncate(len);
            }
        }
        _ => {}
    }
}
