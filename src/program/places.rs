//! Places in schema documents as numbers.
//!
//! A place knows its parent and the last token of its JSON pointer, so that thousands of schemas below a long name cost
//! a few bytes each; the pointer's text is made only where someone asks. This file must not know what a schema is.

use std::collections::HashMap;

/// A place in a document; the root of the first document is the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Place(u32);

impl Place {
    /// Its number: places are counted from 0 in the order in which they were first asked for.
    pub(super) fn number(self) -> usize {
        self.0 as usize
    }
}

#[derive(Debug)]
struct Step {
    document: u32,
    /// The place above and the token that leads here; none at a root.
    from: Option<(Place, Box<str>)>,
}

/// All places that were asked for.
#[derive(Debug, Default)]
pub(super) struct Places {
    steps: Vec<Step>,
    children: HashMap<Place, HashMap<Box<str>, Place>>,
    /// By document: what stands before `#` in a text; nothing for the first.
    names: Vec<String>,
}

impl Places {
    /// The root of a new document.
    pub(super) fn root(&mut self, name: &str) -> Place {
        let place = Place(self.steps.len() as u32);
        self.steps.push(Step { document: self.names.len() as u32, from: None });
        self.names.push(name.to_owned());
        place
    }

    /// Gives a document another name.
    pub(super) fn rename(&mut self, document: u32, name: &str) {
        if let Some(old) = self.names.get_mut(document as usize) {
            name.clone_into(old);
        }
    }

    /// The place one token further, and whether it is new.
    pub(super) fn child(&mut self, parent: Place, token: &str) -> (Place, bool) {
        let children = self.children.entry(parent).or_default();
        if let Some(place) = children.get(token) {
            return (*place, false);
        }
        let place = Place(self.steps.len() as u32);
        children.insert(token.into(), place);
        let document = self.steps.get(parent.number()).map_or(0, |step| step.document);
        self.steps.push(Step { document, from: Some((parent, token.into())) });
        (place, true)
    }

    /// The place one token further, if someone asked for it before.
    pub(super) fn find(&self, parent: Place, token: &str) -> Option<Place> {
        self.children.get(&parent)?.get(token).copied()
    }

    /// The number of a place's document.
    pub(super) fn document(&self, place: Place) -> u32 {
        self.steps.get(place.number()).map_or(0, |step| step.document)
    }

    /// The place above.
    pub(super) fn parent(&self, place: Place) -> Option<Place> {
        self.steps.get(place.number())?.from.as_ref().map(|(parent, _)| *parent)
    }

    /// The JSON pointer of a place in its document.
    pub(super) fn pointer(&self, place: Place) -> String {
        let mut tokens = Vec::new();
        let mut step = self.steps.get(place.number());
        while let Some((parent, token)) = step.and_then(|step| step.from.as_ref()) {
            tokens.push(&**token);
            step = self.steps.get(parent.number());
        }
        let mut pointer = String::new();
        for token in tokens.iter().rev() {
            pointer.push('/');
            pointer.push_str(&token.replace('~', "~0").replace('/', "~1"));
        }
        pointer
    }

    /// The pointer, with the document's name in front unless it is the first one.
    pub(super) fn text(&self, place: Place) -> String {
        match self.document(place) {
            0 => self.pointer(place),
            document => {
                let name = self.names.get(document as usize).map_or("", String::as_str);
                format!("{name}#{}", self.pointer(place))
            }
        }
    }

    /// Forgets what is only needed to find places.
    pub(super) fn seal(&mut self) {
        self.children = HashMap::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_again_and_have_pointers() {
        let mut places = Places::default();
        let root = places.root("");
        assert_eq!(root, Place::default());
        let (name, is_new) = places.child(root, "a/b~");
        assert!(is_new);
        let (item, _) = places.child(name, "0");
        assert_eq!(places.child(root, "a/b~"), (name, false));
        assert_eq!(places.text(item), "/a~1b~0/0");
        let other = places.root("http://x/y");
        let (below, _) = places.child(other, "");
        assert_eq!((places.text(below).as_str(), places.document(below)), ("http://x/y#/", 1));
        places.rename(1, "z");
        assert_eq!((places.text(other).as_str(), places.parent(below)), ("z#", Some(other)));
    }
}
