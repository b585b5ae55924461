//! Common shapes of patterns as plain byte checks.
//!
//! A pattern qualifies if it is anchored at the start and is a sequence of texts, choices of texts, and runs of
//! characters of one class, such that a run never has to give characters back: what may follow it does not start
//! with a character of its class. PERF: a DFA takes one dependent load per byte; these take about a quarter of that
//! on ids and hashes.

use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};

use crate::program::positions::Positions;

/// A set of bytes.
type Set = [bool; 256];

/// Runs of at least this many bytes are checked many at a time.
const LONG_BYTES_MIN: usize = 16;

/// Longest text that is checked position by position.
const FIXED_BYTES_MAX: usize = 256;

#[derive(Debug)]
pub(super) enum Direct {
    /// Every position has its class, and all characters are ASCII.
    Fixed(Positions),
    /// One piece after the other.
    Sequence { pieces: Box<[Piece]>, end: End },
}

/// What has to stand behind the last piece.
#[derive(Debug)]
pub(super) enum End {
    /// Anything.
    Open,
    /// Nothing.
    Here,
    /// Between `min` and `max` characters of a class, and nothing else.
    Run { set: Box<Set>, min: usize, max: usize },
}

impl End {
    /// Takes a run that ends the text off the pieces. PERF: nobody has to find its end, so its bytes need no branches.
    fn of(pieces: &mut Vec<Piece>, to_end: bool) -> Self {
        match pieces.last() {
            _ if !to_end => Self::Open,
            Some(Piece::Run { set, min, max }) => {
                let end = Self::Run { set: set.clone(), min: *min, max: *max };
                pieces.pop();
                end
            }
            _ => Self::Here,
        }
    }

    #[inline]
    fn fits(&self, rest: &[u8]) -> bool {
        match self {
            Self::Open => true,
            Self::Here => rest.is_empty(),
            Self::Run { set, min, max } => {
                *min <= rest.len()
                    && rest.len() <= *max
                    && rest.iter().fold(true, |all, byte| all & is_in(set, *byte))
            }
        }
    }
}

#[inline]
fn is_in(set: &Set, byte: u8) -> bool {
    set.get(usize::from(byte)).copied().unwrap_or(false)
}

#[derive(Clone, Debug)]
pub(super) enum Piece {
    Text(Box<[u8]>),
    /// One of several texts, none of which begins with another.
    Choice(Box<[Box<[u8]>]>),
    /// Exactly so many characters of up to two ranges, each a first byte and a width.
    Long {
        len: usize,
        ranges: [(u8, u8); 2],
    },
    /// Between `min` and `max` characters of a class.
    Run {
        set: Box<Set>,
        min: usize,
        max: usize,
    },
}

impl Direct {
    /// The byte check for a pattern, if it has one of the known shapes.
    pub(super) fn new(pattern: &Hir) -> Option<Self> {
        let parts = match pattern.kind() {
            HirKind::Concat(parts) => parts.as_slice(),
            _ => return None,
        };
        let (first, rest) = parts.split_first()?;
        if !matches!(first.kind(), HirKind::Look(Look::Start)) {
            return None;
        }
        let (rest, to_end) = match rest.split_last() {
            Some((last, rest)) if matches!(last.kind(), HirKind::Look(Look::End)) => (rest, true),
            _ => (rest, false),
        };
        let mut pieces = Vec::new();
        for part in rest {
            pieces.push(piece(part)?.lengthen());
        }
        if !never_gives_back(&pieces) {
            return None;
        }
        if to_end && let Some(positions) = fixed(&pieces) {
            return Some(Self::Fixed(positions));
        }
        let end = End::of(&mut pieces, to_end);
        Some(Self::Sequence { pieces: pieces.into_boxed_slice(), end })
    }

    #[inline]
    pub(super) fn is_match(&self, text: &[u8]) -> bool {
        match self {
            Self::Fixed(positions) => positions.fit(text),
            Self::Sequence { pieces, end } => {
                let mut rest = text;
                for piece in pieces {
                    match piece.strip(rest) {
                        Some(behind) => rest = behind,
                        None => return false,
                    }
                }
                end.fits(rest)
            }
        }
    }
}

impl Piece {
    /// What is left of `text` behind this piece.
    #[inline]
    fn strip<'t>(&self, text: &'t [u8]) -> Option<&'t [u8]> {
        match self {
            Self::Text(known) => match (&**known, text) {
                // PERF: a separator, mostly; a comparison of slices would be a call.
                ([byte], [first, rest @ ..]) => (byte == first).then_some(rest),
                (known, text) => text.strip_prefix(known),
            },
            Self::Choice(texts) => texts.iter().find_map(|known| text.strip_prefix(&**known)),
            Self::Long { len, ranges: [(first, width), (other, other_width)] } => {
                let (run, rest) = text.split_at_checked(*len)?;
                // PERF: without tables and branches the compiler checks sixteen bytes at once.
                let outside = |byte: &u8| {
                    u8::from(byte.wrapping_sub(*first) > *width)
                        & u8::from(byte.wrapping_sub(*other) > *other_width)
                };
                (run.iter().fold(0, |bad, byte| bad | outside(byte)) == 0).then_some(rest)
            }
            Self::Run { set, min, max } => {
                let (mut rest, mut left) = (text, *max);
                while let [byte, behind @ ..] = rest
                    && left != 0
                    && is_in(set, *byte)
                {
                    rest = behind;
                    left -= 1;
                }
                (*max - left >= *min).then_some(rest)
            }
        }
    }

    /// The bytes it can start with, and whether it can be empty.
    fn first(&self) -> (Set, bool) {
        match self {
            Self::Text(known) => (set_of(known.first().copied()), known.is_empty()),
            Self::Choice(texts) => (set_of(texts.iter().filter_map(|text| text.first().copied())), false),
            Self::Run { set, min, .. } => (**set, *min == 0),
            Self::Long { ranges, .. } => (
                set_of(ranges.iter().flat_map(|(first, width)| *first..=first.saturating_add(*width))),
                false,
            ),
        }
    }

    /// The same piece as [`Self::Long`], if it is a long run of a simple class.
    fn lengthen(self) -> Self {
        let Self::Run { set, min, max } = &self else { return self };
        let mut ranges: Vec<(u8, u8)> = Vec::new();
        for byte in (0..=u8::MAX).filter(|byte| is_in(set, *byte)) {
            match ranges.last_mut() {
                Some((first, width)) if first.checked_add(*width + 1) == Some(byte) => *width += 1,
                _ => ranges.push((byte, 0)),
            }
        }
        match *ranges.as_slice() {
            [only] if min == max && *min >= LONG_BYTES_MIN => Self::Long { len: *min, ranges: [only, only] },
            [one, two] if min == max && *min >= LONG_BYTES_MIN => {
                Self::Long { len: *min, ranges: [one, two] }
            }
            _ => self,
        }
    }
}

fn set_of(bytes: impl IntoIterator<Item = u8>) -> Set {
    let mut set = [false; 256];
    for byte in bytes {
        if let Some(place) = set.get_mut(usize::from(byte)) {
            *place = true;
        }
    }
    set
}

fn piece(part: &Hir) -> Option<Piece> {
    match part.kind() {
        HirKind::Literal(text) => Some(Piece::Text(text.0.clone())),
        HirKind::Class(class) => run(class, 1, Some(1)),
        HirKind::Repetition(Repetition { min, max, sub, .. }) => match sub.kind() {
            HirKind::Class(class) => run(class, *min, *max),
            HirKind::Literal(text) if text.0.len() == 1 => {
                let set = Box::new(set_of(text.0.iter().copied().filter(u8::is_ascii)));
                text.0.first().filter(|byte| byte.is_ascii())?;
                Some(Piece::Run { set, min: *min as usize, max: max.map_or(usize::MAX, |max| max as usize) })
            }
            _ => None,
        },
        HirKind::Alternation(branches) => {
            let texts: Option<Box<[Box<[u8]>]>> = branches
                .iter()
                .map(|branch| match branch.kind() {
                    HirKind::Literal(text) => Some(text.0.clone()),
                    _ => None,
                })
                .collect();
            let texts = texts?;
            let begins = |at: usize, text: &[u8]| {
                texts.iter().enumerate().any(|(other, longer)| other != at && longer.starts_with(text))
            };
            if texts.iter().enumerate().any(|(at, text)| begins(at, text)) {
                None
            } else {
                Some(Piece::Choice(texts))
            }
        }
        HirKind::Capture(group) => piece(&group.sub),
        _ => None,
    }
}

/// A run of characters of a class. Beyond ASCII only "all other characters" will do, and then they cannot be counted.
fn run(class: &Class, min: u32, max: Option<u32>) -> Option<Piece> {
    let mut set = [false; 256];
    let mut beyond = false;
    let ranges: Vec<(u32, u32)> = match class {
        Class::Unicode(class) => {
            class.iter().map(|range| (range.start() as u32, range.end() as u32)).collect()
        }
        Class::Bytes(class) => class.iter().map(|range| (range.start().into(), range.end().into())).collect(),
    };
    for (start, end) in ranges {
        if end > 0x7F {
            if start > 0x80 || end != char::MAX as u32 || min > 1 || max.is_some() {
                return None;
            }
            beyond = true;
        }
        for byte in start..=end.min(0x7F) {
            *set.get_mut(byte as usize)? = true;
        }
    }
    if beyond {
        set.get_mut(0x80..)?.fill(true);
    }
    Some(Piece::Run {
        set: Box::new(set),
        min: min as usize,
        max: max.map_or(usize::MAX, |max| max as usize),
    })
}

/// Whether each run of variable length ends where the next piece begins, without a choice.
fn never_gives_back(pieces: &[Piece]) -> bool {
    pieces.iter().enumerate().all(|(at, piece)| {
        let Piece::Run { set, min, max } = piece else { return true };
        if min == max {
            return true;
        }
        for next in pieces.iter().skip(at + 1) {
            let (first, may_be_empty) = next.first();
            if set.iter().zip(first).any(|(here, there)| *here && there) {
                return false;
            }
            if !may_be_empty {
                break;
            }
        }
        true
    })
}

/// All pieces of known length: one class per position.
fn fixed(pieces: &[Piece]) -> Option<Positions> {
    let mut sets: Vec<Set> = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => sets.extend(text.iter().map(|byte| set_of([*byte]))),
            Piece::Run { set, min, max } if min == max => {
                sets.extend(vec![**set; (*min).min(FIXED_BYTES_MAX + 1)]);
            }
            Piece::Long { len, .. } => sets.extend(vec![piece.first().0; (*len).min(FIXED_BYTES_MAX + 1)]),
            _ => return None,
        }
        if sets.len() > FIXED_BYTES_MAX {
            return None;
        }
    }
    Positions::new(&sets)
}
