//! The shape of a format in each profile: the schema beside an overlay of edits.
//!
//! The schema under `configs/schemas/` is the page's shape. Beside it, `NAME.profiles.json` lists what the profiles
//! strict and lenient change: `{"strict": [{"at": "/pointer/to/keyword", "set": …, "source": "proposed"}], …}`;
//! without `set` the keyword is removed, with `"keep": true` it stays, and only its source is named. The result is plain JSON Schema, compiled like any other. The list also says
//! where each changed keyword comes from, which `check` shows.

use serde::Deserialize;
use serde_json::Value;

use crate::config::Profile;

use super::rule::Source;

/// The edits of each profile; the page's shape is the schema itself.
#[derive(Deserialize)]
struct Overlay {
    #[serde(default)]
    strict: Vec<Edit>,
    #[serde(default)]
    lenient: Vec<Edit>,
}

/// One change of a schema.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Edit {
    /// JSON pointer of the keyword.
    pub(crate) at: String,
    /// Its new value; none removes it.
    pub(crate) set: Option<Value>,
    /// The keyword stays as it is, and only its source is named.
    #[serde(default)]
    pub(crate) keep: bool,
    /// Where the new value comes from.
    #[serde(default = "page")]
    pub(crate) source: String,
}

fn page() -> String {
    Source::Page.name().to_owned()
}

/// A format's shape in one profile.
pub(crate) struct Shape {
    /// The schema's text.
    pub(crate) text: String,
    /// Keywords that do not come from the page.
    pub(crate) sources: Vec<(String, Source)>,
}

/// Applies the profile's edits, then those that the settings ask for. `Err` names the edit that fits nowhere.
pub(crate) fn shape_of(
    schema: &str,
    overlay: &str,
    profile: Profile,
    more: Vec<Edit>,
) -> Result<Shape, String> {
    let mut edits = Vec::new();
    if !overlay.is_empty() {
        let overlay: Overlay = serde_json::from_str(overlay).map_err(|error| error.to_string())?;
        edits = match profile {
            Profile::Page => Vec::new(),
            Profile::Strict => overlay.strict,
            Profile::Lenient => overlay.lenient,
        };
    }
    edits.extend(more);
    if edits.is_empty() {
        return Ok(Shape { text: schema.to_owned(), sources: Vec::new() });
    }
    let mut value: Value = serde_json::from_str(schema).map_err(|error| error.to_string())?;
    let mut sources = Vec::new();
    for edit in edits {
        let source = Source::from_name(&edit.source).ok_or_else(|| format!("{}: no such source", edit.at))?;
        apply(&mut value, &edit).ok_or_else(|| format!("{}: no such place", edit.at))?;
        sources.push((edit.at, source));
    }
    Ok(Shape { text: value.to_string(), sources })
}

fn apply(schema: &mut Value, edit: &Edit) -> Option<()> {
    let (parent, keyword) = edit.at.rsplit_once('/')?;
    let object = schema.pointer_mut(parent)?.as_object_mut()?;
    let keyword = keyword.replace("~1", "/").replace("~0", "~");
    match &edit.set {
        _ if edit.keep => {
            object.get(&keyword)?;
        }
        Some(value) => {
            object.insert(keyword, value.clone());
        }
        None => {
            object.shift_remove(&keyword)?;
        }
    }
    Some(())
}

/// Where the keyword at a pointer comes from.
pub(crate) fn source_of(sources: &[(String, Source)], keyword: &str) -> Source {
    let within =
        |at: &str| keyword.strip_prefix(at).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let found = sources.iter().filter(|(at, _)| within(at)).max_by_key(|(at, _)| at.len());
    found.map_or(Source::Page, |(_, source)| *source)
}
