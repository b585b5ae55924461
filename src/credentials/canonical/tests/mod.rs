//! Canonical forms against oracles: another printer, Python itself, a naive writer; and against hostile inputs.

mod hostile;
mod outlines;
mod printers;
mod random_documents;

use std::hash::{BuildHasher as _, RandomState};

use serde_json::Value;

/// A small generator; the seed comes from `TOLLGATE_SEED` or is random, and is printed.
pub(in crate::credentials) struct Random(u64);

impl Random {
    pub(in crate::credentials) fn seeded(test: &str) -> Self {
        let given = std::env::var("TOLLGATE_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(|| RandomState::new().hash_one(test));
        println!("{test}: TOLLGATE_SEED={seed}");
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(in crate::credentials) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    /// All bit patterns, whole numbers, short decimals, powers of ten and their neighbours.
    fn double(&mut self) -> f64 {
        let value = match self.below(5) {
            0 => (self.next() >> (self.below(64))) as f64,
            1 => self.below(1_000_000) as f64 / 10_f64.powi(self.below(12) as i32),
            2 => {
                let power: f64 = format!("1e{}", self.below(640) as i32 - 330).parse().unwrap();
                f64::from_bits(power.to_bits().wrapping_add(self.below(3)).saturating_sub(1))
            }
            _ => f64::from_bits(self.next()),
        };
        let value = if self.below(2) == 0 { -value } else { value };
        if value.is_finite() { value } else { 0.5 }
    }
}

/// RFC 8785 without any cleverness; `None` where there is no form.
fn naive(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => {
            let mut names: Vec<&String> = members.keys().collect();
            names.sort_by_key(|name| name.encode_utf16().collect::<Vec<_>>());
            out.push('{');
            for (number, name) in names.into_iter().enumerate() {
                out.push_str(if number > 0 { "," } else { "" });
                naive(&Value::String(name.clone()), out);
                out.push(':');
                naive(&members[name], out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (number, item) in items.iter().enumerate() {
                out.push_str(if number > 0 { "," } else { "" });
                naive(item, out);
            }
            out.push(']');
        }
        Value::Number(number) if number.is_f64() => {
            out.push_str(ryu_js::Buffer::new().format(number.as_f64().unwrap()));
        }
        // serde_json escapes strings as RFC 8785 does: short forms, lower case, nothing more than needed.
        _ => out.push_str(&serde_json::to_string(value).unwrap()),
    }
}
