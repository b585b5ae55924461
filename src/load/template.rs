//! Templates: JSON with places that vary from record to record, edited as trees, compiled to pieces.
//!
//! A template is JSON text whose strings hold places in angle brackets: `"msg-<id>"`. A string that is one place with a
//! number sign, `"<#unix>"`, stands for a bare value. A fault is an edit of the tree. Compiling flattens a tree to
//! literals and places, in an order and a spacing of members; the same tree in canonical order is what is signed.

use serde_json::Value;

use super::Random;

/// A JSON tree that may hold what no parser would keep: a name twice, a number beyond any range.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// Literal JSON text.
    Raw(String),
    /// A string, with places.
    Text(String),
    Array(Vec<Node>),
    Object(Vec<(String, Node)>),
}

/// One change of a tree, by JSON pointer (names without `~` and `/`).
#[derive(Clone, Copy, Debug)]
pub(super) enum Edit {
    /// Takes a member or an item away.
    Remove(&'static str),
    /// Replaces a value, or adds a member.
    Set(&'static str, &'static str),
    /// Adds a member beside one of the same name, which is spelled with an escape.
    Twice(&'static str, &'static str),
    /// Puts the record at another time, in seconds.
    Later(i64),
    /// Makes ids, numbers and words those of another step; the time stays its own.
    AsStep(u8),
    /// Signs with a key that nobody knows.
    WrongKey,
    /// Spoils the bytes.
    Spoil(Spoiling),
}

/// Ways to spoil the bytes of an envelope.
#[derive(Clone, Copy, Debug)]
pub(super) enum Spoiling {
    /// The last third is missing.
    Cut,
    /// A byte that is not UTF-8 stands in the first string.
    NotUtf8,
    /// A byte order mark stands in front.
    Mark,
    /// Blanks follow until the payload is larger than the limit of the kit.
    Swell,
    /// No bytes but blanks.
    Blank,
    /// No payload at all.
    Nothing,
}

/// The order of members.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    AsWritten,
    Sorted,
    Shuffled(u64),
}

/// How a compiled tree is laid out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) order: Order,
    /// Blanks after colons and commas.
    pub(super) spaced: bool,
}

/// What differs from record to record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The id of this step of the scene, or of another one, as a version 4 UUID.
    Id(Option<u8>),
    /// A further UUID of the scene.
    Uuid(u8),
    /// The record's time by RFC 3339, so many seconds later.
    Time(i64),
    /// The record's time in seconds of Unix time, so many seconds later.
    Unix(i64),
    /// The same in milliseconds.
    UnixMillis(i64),
    /// A number below a bound; the same one wherever the bound is the same.
    Number(u32),
    /// The scene's number.
    Scene,
    /// The scene's session.
    Session,
    /// The scene's tenant.
    Tenant,
    /// Words of so many bytes (`<words:40.1>`); the number behind the point keeps places of one record apart.
    Words(u16, u8),
    /// Words that bring the record to its size.
    Pad,
    /// A number with a fraction, which each canonical form spells in its own way.
    Weight,
    /// The signature.
    Signature,
    /// A token, by its number in the key chain.
    Token(u8),
}

/// A part of a compiled tree.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    Literal(Box<[u8]>),
    Place(Place),
}

impl Node {
    /// Reads a template.
    pub(super) fn parse(text: &str) -> Self {
        let value: Value = serde_json::from_str(text)
            .unwrap_or_else(|error| unreachable!("a template is JSON, which a test holds: {error}: {text}"));
        Self::of(&value)
    }

    /// The tree of a value.
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text.clone()),
            Value::Array(items) => Self::Array(items.iter().map(Self::of).collect()),
            Value::Object(members) => {
                Self::Object(members.iter().map(|(name, value)| (name.clone(), Self::of(value))).collect())
            }
            scalar => Self::Raw(scalar.to_string()),
        }
    }

    /// The value at a pointer.
    pub(super) fn at(&self, pointer: &str) -> Option<&Self> {
        names(pointer).try_fold(self, |node, name| match node {
            Self::Object(members) => {
                members.iter().find(|(member, _)| member == name).map(|(_, value)| value)
            }
            Self::Array(items) => items.get(name.parse::<usize>().ok()?),
            Self::Raw(_) | Self::Text(_) => None,
        })
    }

    fn at_mut(&mut self, pointer: &str) -> Option<&mut Self> {
        names(pointer).try_fold(self, |node, name| match node {
            Self::Object(members) => {
                members.iter_mut().find(|(member, _)| member == name).map(|(_, value)| value)
            }
            Self::Array(items) => items.get_mut(name.parse::<usize>().ok()?),
            Self::Raw(_) | Self::Text(_) => None,
        })
    }

    /// Applies an edit of the tree; other edits are the renderer's.
    pub(super) fn edit(&mut self, edit: Edit) {
        match edit {
            Edit::Remove(pointer) => self.remove(pointer),
            Edit::Set(pointer, text) => self.set(pointer, Self::parse(text)),
            Edit::Twice(pointer, text) => self.twice(pointer, Self::parse(text)),
            Edit::Later(_) | Edit::AsStep(_) | Edit::WrongKey | Edit::Spoil(_) => {}
        }
    }

    /// Takes a member or an item away.
    pub(super) fn remove(&mut self, pointer: &str) {
        let Some((parent, name)) = pointer.rsplit_once('/') else { return };
        match self.at_mut(parent) {
            Some(Self::Object(members)) => members.retain(|(member, _)| member != name),
            Some(Self::Array(items)) => {
                if let Some(index) = name.parse::<usize>().ok().filter(|index| *index < items.len()) {
                    items.remove(index);
                }
            }
            _ => unreachable!("{pointer} has a parent in its template, which a test holds"),
        }
    }

    /// Replaces a value, or adds a member or an item.
    pub(super) fn set(&mut self, pointer: &str, value: Self) {
        if let Some(place) = self.at_mut(pointer) {
            *place = value;
            return;
        }
        let Some((parent, name)) = pointer.rsplit_once('/') else { return };
        match self.at_mut(parent) {
            Some(Self::Object(members)) => members.push((name.to_owned(), value)),
            Some(Self::Array(items)) => items.push(value),
            _ => unreachable!("{pointer} has a parent in its template, which a test holds"),
        }
    }

    /// Replaces every string that is `from` as a whole.
    pub(super) fn replace_text(&mut self, from: &str, to: &str) {
        match self {
            Self::Text(text) if text == from => to.clone_into(text),
            Self::Raw(_) | Self::Text(_) => {}
            Self::Array(items) => items.iter_mut().for_each(|item| item.replace_text(from, to)),
            Self::Object(members) => members.iter_mut().for_each(|(_, value)| value.replace_text(from, to)),
        }
    }

    /// Adds a member beside its namesake, the last letter of the name as an escape.
    fn twice(&mut self, pointer: &str, value: Self) {
        let Some((parent, name)) = pointer.rsplit_once('/') else { return };
        let Some(Self::Object(members)) = self.at_mut(parent) else {
            unreachable!("{pointer} has a parent in its template, which a test holds")
        };
        let last = name.chars().next_back().map_or(0, u32::from);
        let head = name.get(..name.len().saturating_sub(1)).unwrap_or_default();
        members.push((format!("{head}\\u{last:04x}"), value));
    }

    /// Flattens the tree.
    pub(super) fn compile(&self, layout: Layout) -> Vec<Piece> {
        let mut compiler = Compiler { pieces: Vec::new(), literal: Vec::new(), layout };
        let mut shuffle = Random::new(if let Order::Shuffled(seed) = layout.order { seed } else { 0 });
        compiler.node(self, &mut shuffle);
        compiler.flush();
        compiler.pieces
    }
}

fn names(pointer: &str) -> impl Iterator<Item = &str> {
    pointer.split('/').skip(1)
}

struct Compiler {
    pieces: Vec<Piece>,
    literal: Vec<u8>,
    layout: Layout,
}

impl Compiler {
    fn flush(&mut self) {
        if !self.literal.is_empty() {
            self.pieces.push(Piece::Literal(std::mem::take(&mut self.literal).into()));
        }
    }

    fn node(&mut self, node: &Node, shuffle: &mut Random) {
        match node {
            Node::Raw(text) => self.literal.extend_from_slice(text.as_bytes()),
            Node::Text(text) => {
                if let Some(place) = bare(text) {
                    self.places(&format!("<{place}>"));
                } else {
                    self.literal.push(b'"');
                    self.places(text);
                    self.literal.push(b'"');
                }
            }
            Node::Array(items) => {
                self.literal.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    self.separate(index);
                    self.node(item, shuffle);
                }
                self.literal.push(b']');
            }
            Node::Object(members) => self.object(members, shuffle),
        }
    }

    fn object(&mut self, members: &[(String, Node)], shuffle: &mut Random) {
        let mut order: Vec<_> = members.iter().collect();
        match self.layout.order {
            Order::AsWritten => {}
            // Names are ASCII, so bytes, code points and UTF-16 agree.
            Order::Sorted => order.sort_by(|left, right| left.0.cmp(&right.0)),
            Order::Shuffled(_) => {
                for last in (1..order.len()).rev() {
                    order.swap(last, shuffle.below(last as u64 + 1) as usize);
                }
            }
        }
        self.literal.push(b'{');
        for (index, (name, value)) in order.into_iter().enumerate() {
            self.separate(index);
            self.literal.push(b'"');
            self.literal.extend_from_slice(name.as_bytes());
            self.literal.extend_from_slice(if self.layout.spaced { b"\": " } else { b"\":" });
            self.node(value, shuffle);
        }
        self.literal.push(b'}');
    }

    fn separate(&mut self, index: usize) {
        if index > 0 {
            self.literal.extend_from_slice(if self.layout.spaced { b", " } else { b"," });
        }
    }

    /// Text with places, without its quotes.
    fn places(&mut self, text: &str) {
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('<') {
            let (name, after) = after.split_once('>').unwrap_or((after, ""));
            self.escape(before);
            if let Some(raw) = name.strip_prefix("raw:") {
                self.literal.extend_from_slice(raw.as_bytes());
            } else {
                self.flush();
                self.pieces.push(Piece::Place(Self::place(name)));
            }
            rest = after;
        }
        self.escape(rest);
    }

    /// Literals are spelled alike in every canonical form: ASCII, and only the escapes that all forms share.
    fn escape(&mut self, text: &str) {
        let quoted = Value::from(text).to_string();
        self.literal.extend_from_slice(quoted.get(1..quoted.len() - 1).unwrap_or_default().as_bytes());
    }

    fn place(name: &str) -> Place {
        let (name, argument) = name.split_once(':').unwrap_or((name, ""));
        let number = || argument.parse::<i64>().unwrap_or_default();
        match name {
            "id" => Place::Id(argument.parse().ok()),
            "uuid" => Place::Uuid(number() as u8),
            "time" => Place::Time(number()),
            "unix" => Place::Unix(number()),
            "unix-ms" => Place::UnixMillis(number()),
            "number" => Place::Number(number() as u32),
            "scene" => Place::Scene,
            "session" => Place::Session,
            "tenant" => Place::Tenant,
            "words" => {
                let (bytes, which) = argument.split_once('.').unwrap_or((argument, "0"));
                Place::Words(bytes.parse().unwrap_or_default(), which.parse().unwrap_or_default())
            }
            "pad" => Place::Pad,
            "weight" => Place::Weight,
            "signature" => Place::Signature,
            "token" => Place::Token(number() as u8),
            _ => unreachable!("templates hold known places, which a test holds: {name}"),
        }
    }
}

/// The place of a string that stands for a bare value.
fn bare(text: &str) -> Option<&str> {
    text.strip_prefix("<#")?.strip_suffix('>')
}
