//! ECMA-262 regular expressions, in the words of `regex-syntax`.
//!
//! The two dialects look alike and differ in what counts: `\d` and `\w` are ASCII, `$` is the very end, `.` stops at
//! four line ends, brackets do not nest. This file rewrites a pattern (as with the flag `u`) or says why it cannot.
//! It must not judge what the patterns mean.

use std::collections::HashSet;
use std::fmt::Write;
use std::iter::Peekable;
use std::str::Chars;

/// `\s`: white space and line ends of ECMA-262, as the inside of a class.
const SPACE: &str =
    r"\x09-\x0D\x20\xA0\u{1680}\u{2000}-\u{200A}\u{2028}\u{2029}\u{202F}\u{205F}\u{3000}\u{FEFF}";
const WORD: &str = "0-9A-Z_a-z";
const DIGIT: &str = "0-9";
/// A longer quantifier counts more than any text has.
const QUANTIFIER_CHARS_MAX: usize = 40;

/// Rewrites `pattern`. With `loose`, only the syntax counts: what cannot be matched is replaced by something that can,
/// and sets of characters by one of them, since large classes cost far more to build than to read.
pub(super) fn translate(pattern: &str, loose: bool) -> Result<String, String> {
    let out = String::with_capacity(pattern.len() * 2);
    let mut reader = Reader { rest: pattern.chars().peekable(), out, loose, properties: HashSet::new() };
    // Whether a quantifier came last, and whether it may still become a lazy one.
    let (mut quantified, mut lazy_fits) = (false, false);
    while let Some(next) = reader.rest.next() {
        let was_quantified = std::mem::take(&mut quantified);
        let written = reader.out.len();
        match next {
            '?' if was_quantified && lazy_fits => (quantified, lazy_fits) = (true, false),
            '*' | '+' | '?' => (quantified, lazy_fits) = (true, true),
            _ => {}
        }
        match next {
            '\\' => reader.escape()?,
            '[' => reader.class()?,
            '(' => reader.group()?,
            '^' => reader.out.push_str(r"\A"),
            '$' => reader.out.push_str(r"\z"),
            '.' if loose => reader.out.push('x'),
            '.' => reader.out.push_str(r"[^\n\r\u{2028}\u{2029}]"),
            '{' => reader.brace(),
            '}' => reader.out.push_str(r"\}"),
            ']' => reader.out.push_str(r"\]"),
            ')' | '|' | '*' | '+' | '?' => reader.out.push(next),
            other => reader.literal(other),
        }
        if next == '{' && reader.out.get(written..).is_some_and(|text| text.starts_with('{')) {
            (quantified, lazy_fits) = (true, true);
        }
        if was_quantified && quantified && lazy_fits {
            return Err("a quantifier follows another one".into());
        }
    }
    Ok(reader.out)
}

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    out: String,
    loose: bool,
    /// Names that have been looked up, where only the syntax counts.
    properties: HashSet<String>,
}

/// One element of a class, or an escape outside of one.
enum Atom {
    /// One character.
    Char(char),
    /// The inside of a class, and whether it is what the class leaves out.
    Set(&'static str, bool),
    /// A Unicode property, as `regex-syntax` writes it.
    Property(String),
}

impl Reader<'_> {
    fn literal(&mut self, character: char) {
        // Infallible: the target is a string.
        let _ = if character.is_ascii_alphanumeric() || !character.is_ascii() {
            write!(self.out, "{character}")
        } else {
            write!(self.out, r"\x{:02X}", character as u32)
        };
    }

    /// A quantifier in braces stays one; any other brace is a character.
    fn brace(&mut self) {
        // Looking ahead only over what a quantifier has keeps this linear.
        let inside = |next: &char| next.is_ascii_digit() || *next == ',';
        let ahead: String = self.rest.clone().take_while(inside).take(QUANTIFIER_CHARS_MAX).collect();
        let closed = self.rest.clone().nth(ahead.chars().count()) == Some('}');
        let (low, high) = ahead.split_once(',').unwrap_or((&ahead, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !closed || low.is_empty() || !digits(low) || !digits(high) {
            self.out.push_str(r"\{");
            return;
        }
        let _ = write!(self.out, "{{{ahead}}}");
        // The closing brace was written with the quantifier.
        let _ = self.rest.nth(ahead.chars().count());
    }

    fn group(&mut self) -> Result<(), String> {
        self.out.push('(');
        if self.rest.next_if_eq(&'?').is_none() {
            // Groups are only for structure here.
            self.out.push_str("?:");
            return Ok(());
        }
        match self.rest.next() {
            Some(':') => self.out.push_str("?:"),
            Some('=' | '!') if self.loose => self.out.push_str("?:"),
            Some('=' | '!') => {
                return Err("lookahead is not supported: it cannot be matched in linear time".into());
            }
            Some('<') => {
                if self.loose && self.rest.next_if(|next| matches!(next, '=' | '!')).is_some() {
                    self.out.push_str("?:");
                    return Ok(());
                }
                if matches!(self.rest.peek(), Some('=' | '!')) {
                    return Err("lookbehind is not supported: it cannot be matched in linear time".into());
                }
                if !self.rest.by_ref().any(|next| next == '>') {
                    return Err("the name of a group is unclosed".into());
                }
                self.out.push_str("?:");
            }
            _ => return Err("an unknown kind of group: `(?:`, `(?<name>` and `(` are known".into()),
        }
        Ok(())
    }

    fn escape(&mut self) -> Result<(), String> {
        match self.rest.peek() {
            Some('b') => {
                self.rest.next();
                self.out.push_str(r"(?-u:\b)");
                return Ok(());
            }
            Some('B') => {
                self.rest.next();
                self.out.push_str(r"(?-u:\B)");
                return Ok(());
            }
            Some('1'..='9' | 'k') if self.loose => {
                self.rest.next();
                self.out.push_str("(?:)");
                return Ok(());
            }
            Some('1'..='9' | 'k') => {
                return Err("a back-reference is not supported: it cannot be matched in linear time".into());
            }
            _ => {}
        }
        match self.atom()? {
            Atom::Char(character) => self.literal(character),
            Atom::Set(..) | Atom::Property(_) if self.loose => self.out.push('x'),
            Atom::Set(inside, negated) => {
                let _ = write!(self.out, "[{}{inside}]", if negated { "^" } else { "" });
            }
            Atom::Property(property) => self.out.push_str(&property),
        }
        Ok(())
    }

    /// What follows a backslash, in and out of a class.
    fn atom(&mut self) -> Result<Atom, String> {
        let Some(next) = self.rest.next() else { return Err("the pattern ends with a backslash".into()) };
        Ok(match next {
            'd' => Atom::Set(DIGIT, false),
            'D' => Atom::Set(DIGIT, true),
            'w' => Atom::Set(WORD, false),
            'W' => Atom::Set(WORD, true),
            's' => Atom::Set(SPACE, false),
            'S' => Atom::Set(SPACE, true),
            'p' | 'P' => Atom::Property(self.property(next)?),
            't' => Atom::Char('\t'),
            'n' => Atom::Char('\n'),
            'v' => Atom::Char('\u{b}'),
            'f' => Atom::Char('\u{c}'),
            'r' => Atom::Char('\r'),
            '0' if !matches!(self.rest.peek(), Some('0'..='9')) => Atom::Char('\0'),
            'c' => match self.rest.next() {
                Some(letter) if letter.is_ascii_alphabetic() => Atom::Char(char::from(letter as u8 % 32)),
                _ => return Err(r"the escape `\c` needs a letter".into()),
            },
            'x' => Atom::Char(
                self.hex(2).and_then(char::from_u32).ok_or(r"the escape `\x` needs two hex digits")?,
            ),
            'u' => Atom::Char(self.unicode()?),
            other if other.is_ascii_alphanumeric() => {
                return Err(format!(r"the escape `\{other}` is not known"));
            }
            other => Atom::Char(other),
        })
    }

    fn hex(&mut self, digits: usize) -> Option<u32> {
        (0..digits).try_fold(0, |value, _| Some(value * 16 + self.rest.next()?.to_digit(16)?))
    }

    fn unicode(&mut self) -> Result<char, String> {
        const BAD: &str = r"the escape `\u` needs four hex digits, or `{…}` with a code point";
        if self.rest.next_if_eq(&'{').is_some() {
            let digits: String = self.rest.by_ref().take_while(|next| *next != '}').collect();
            return u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32).ok_or(BAD.into());
        }
        let unit = self.hex(4).ok_or(BAD)?;
        if !(0xD800..0xDC00).contains(&unit) {
            return char::from_u32(unit).ok_or_else(|| "half a surrogate pair matches no text".into());
        }
        let pair = self.rest.next() == Some('\\') && self.rest.next() == Some('u');
        let low = self.hex(4).filter(|low| pair && (0xDC00..0xE000).contains(low));
        low.and_then(|low| char::from_u32(0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00)))
            .ok_or_else(|| "half a surrogate pair matches no text".into())
    }

    fn property(&mut self, kind: char) -> Result<String, String> {
        if self.rest.next_if_eq(&'{').is_none() {
            return Err(format!(r"the escape `\{kind}` needs a property in braces"));
        }
        let name: String = self.rest.by_ref().take_while(|next| *next != '}').collect();
        if name.is_empty()
            || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'=')
        {
            return Err(format!(r"the escape `\{kind}` names no Unicode property"));
        }
        let property = format!(r"\{kind}{{{name}}}");
        if self.loose && !self.properties.contains(&name) {
            regex_syntax::parse(&property).map_err(|_| format!("`{property}` is no Unicode property"))?;
            self.properties.insert(name);
        }
        Ok(property)
    }

    /// A class, from behind its opening bracket to its closing one.
    fn class(&mut self) -> Result<(), String> {
        let negated = self.rest.next_if_eq(&'^').is_some();
        if self.rest.next_if_eq(&']').is_some() {
            // The empty class matches nothing; its complement matches everything.
            self.out.push_str(if negated { "(?s:.)" } else { r"[^\x00-\u{10FFFF}]" });
            return Ok(());
        }
        self.out.push_str(if negated { "[^" } else { "[" });
        loop {
            let Some(next) = self.rest.next() else { return Err("a class is unclosed".into()) };
            let low = match next {
                ']' => break,
                _ => self.class_atom(next)?,
            };
            if !self.range_follows() {
                self.class_element(&low);
                continue;
            }
            self.rest.next();
            let Some(next) = self.rest.next() else { return Err("a class is unclosed".into()) };
            let high = self.class_atom(next)?;
            if let (Atom::Char(low), Atom::Char(high)) = (&low, &high) {
                if low > high {
                    return Err(format!("the range `{low}-{high}` is out of order"));
                }
                let _ = write!(self.out, r"\u{{{:X}}}-\u{{{:X}}}", *low as u32, *high as u32);
            } else {
                // A set at either end makes the hyphen a character.
                self.class_element(&low);
                self.class_element(&Atom::Char('-'));
                self.class_element(&high);
            }
        }
        self.out.push(']');
        Ok(())
    }

    /// Whether a hyphen comes next that is not the last character of the class.
    fn range_follows(&self) -> bool {
        let mut ahead = self.rest.clone();
        ahead.next() == Some('-') && !matches!(ahead.next(), Some(']') | None)
    }

    fn class_atom(&mut self, next: char) -> Result<Atom, String> {
        match next {
            '\\' if self.rest.next_if_eq(&'b').is_some() => Ok(Atom::Char('\u{8}')),
            '\\' => self.atom(),
            other => Ok(Atom::Char(other)),
        }
    }

    fn class_element(&mut self, atom: &Atom) {
        let _ = match atom {
            Atom::Set(..) | Atom::Property(_) if self.loose => write!(self.out, "x"),
            Atom::Char(character) => write!(self.out, r"\u{{{:X}}}", *character as u32),
            Atom::Set(inside, false) => write!(self.out, "{inside}"),
            Atom::Set(inside, true) => write!(self.out, "[^{inside}]"),
            Atom::Property(property) => write!(self.out, "{property}"),
        };
    }
}
