//! The mix: which formats, faults, repetitions, sizes and keys a stream is made of. Read from TOML; shares are percent.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::scripts::Family;
use crate::verdict::Reason;

/// What a stream is made of.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mix {
    /// Weight of each format among conversations that hold, by name.
    pub formats: BTreeMap<String, f64>,
    /// How envelopes are written.
    pub style: Style,
    /// Share of Olympus conversations that are signed by scheme v2; the others by v1.
    pub olympus_v2: f64,
    /// How large records are.
    pub size: Size,
    /// Share of records by the reason that they are refused for; `all` is spread over all others that can occur.
    pub faults: BTreeMap<String, f64>,
    /// Copies of accepted records from further back.
    pub replays: Replays,
    /// Runs of one fault, as a broken producer sends them.
    pub bursts: Bursts,
    /// Keys of records.
    pub keys: Keys,
}

/// How envelopes are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Style {
    /// RFC 8785: names in order, no blanks.
    Canonical,
    /// Every envelope of a kind has its members in the same order.
    Uniform,
    /// Orders, blanks, escapes and spellings of numbers vary.
    #[default]
    Mixed,
}

/// How large records are, in bytes.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Size {
    /// The size, or the median where sizes vary.
    pub bytes: u32,
    /// Standard deviation of the size's logarithm; 0: all have the same size.
    pub sigma: f64,
    /// Largest size.
    pub bytes_max: u32,
}

/// Copies of accepted records from further back.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Replays {
    /// Share of the records.
    pub share: f64,
    /// How many records lie between a record and its copy: at least,
    pub distance_min: u32,
    /// and at most.
    pub distance_max: u32,
}

/// Runs of one fault.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bursts {
    /// Share of the records.
    pub share: f64,
    /// Records in a row.
    pub length: u16,
}

/// Keys of records; the records of a conversation share one.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Keys {
    /// How many there are.
    pub count: u32,
    /// How uneven they are: of so many more draws the lowest key is taken; 0 is even.
    pub skew: u8,
    /// Weight of each partition of the topic, whose number is the key's modulo theirs; none: all alike.
    pub partitions: Vec<f64>,
}

impl Default for Mix {
    fn default() -> Self {
        Self {
            formats: Family::BUILT_IN.iter().map(|(name, _)| ((*name).to_owned(), 1.0)).collect(),
            style: Style::default(),
            olympus_v2: 50.0,
            size: Size::default(),
            faults: BTreeMap::from([("all".to_owned(), 5.0)]),
            replays: Replays::default(),
            bursts: Bursts::default(),
            keys: Keys::default(),
        }
    }
}

impl Default for Size {
    fn default() -> Self {
        Self { bytes: 1024, sigma: 0.0, bytes_max: 32_768 }
    }
}

impl Default for Replays {
    fn default() -> Self {
        Self { share: 0.5, distance_min: 1, distance_max: 10_000 }
    }
}

impl Default for Bursts {
    fn default() -> Self {
        Self { share: 0.0, length: 32 }
    }
}

impl Default for Keys {
    fn default() -> Self {
        Self { count: 1024, skew: 0, partitions: Vec::new() }
    }
}

/// A mix that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum MixError {
    /// No TOML, or keys that a mix does not have.
    #[error("{file}: {error}")]
    Syntax {
        /// The file.
        file: String,
        /// What is wrong with it.
        #[source]
        error: Box<toml::de::Error>,
    },
    /// A value that is not allowed.
    #[error("mix: `{key}`: found {found}, allowed: {allowed}")]
    Value {
        /// The key.
        key: String,
        /// What stands there.
        found: String,
        /// What may stand there.
        allowed: String,
    },
}

pub(super) fn refuse(key: &str, found: impl std::fmt::Display, allowed: impl Into<String>) -> MixError {
    MixError::Value { key: key.to_owned(), found: format!("{found}"), allowed: allowed.into() }
}

/// LIMIT: bytes of a record that is not too big on purpose.
const BYTES_MAX: u32 = 60_000;
/// LIMIT: records of a burst; a burst stays within a block.
const BURST_MAX: u16 = 512;
/// LIMIT: how far back a copy lies.
const DISTANCE_MAX: u32 = 10_000_000;

impl Mix {
    /// Reads a mix from TOML; `file` is its name in errors.
    pub fn read(text: &str, file: &str) -> Result<Self, MixError> {
        let mix: Self = toml::from_str(text)
            .map_err(|error| MixError::Syntax { file: file.to_owned(), error: Box::new(error) })?;
        mix.check()?;
        Ok(mix)
    }

    /// A mix of one format alone, or of all if the name is `all`.
    #[must_use]
    pub fn of_format(mut self, name: &str) -> Self {
        if name != "all" {
            self.formats = BTreeMap::from([(name.to_owned(), 1.0)]);
        }
        self
    }

    /// Checks what does not depend on the scripts.
    pub fn check(&self) -> Result<(), MixError> {
        let share = |key: &str, value: f64| {
            let holds = (0.0..=100.0).contains(&value);
            if holds { Ok(()) } else { Err(refuse(key, value, "0 to 100 (percent)")) }
        };
        for (name, weight) in &self.formats {
            if !weight.is_finite() || *weight < 0.0 {
                return Err(refuse(&format!("formats.{name}"), weight, "a number from 0"));
            }
        }
        if self.formats.values().sum::<f64>() <= 0.0 {
            return Err(refuse("formats", "no weight", "at least one format with a weight above 0"));
        }
        for (code, value) in &self.faults {
            let key = format!("faults.{code}");
            if code != "all" && Reason::from_code(code).is_none() {
                return Err(refuse(&key, code, "`all`, or a reason's code"));
            }
            share(&key, *value)?;
        }
        share("olympus_v2", self.olympus_v2)?;
        share("replays.share", self.replays.share)?;
        share("bursts.share", self.bursts.share)?;
        if self.replays.distance_min == 0
            || self.replays.distance_min > self.replays.distance_max
            || self.replays.distance_max > DISTANCE_MAX
        {
            let found = format!("{} to {}", self.replays.distance_min, self.replays.distance_max);
            return Err(refuse("replays.distance_…", found, format!("1 to {DISTANCE_MAX}, ascending")));
        }
        if !(1..=BURST_MAX).contains(&self.bursts.length) {
            return Err(refuse("bursts.length", self.bursts.length, format!("1 to {BURST_MAX}")));
        }
        if self.size.bytes > BYTES_MAX || self.size.bytes_max > BYTES_MAX {
            return Err(refuse(
                "size",
                self.size.bytes.max(self.size.bytes_max),
                format!("0 to {BYTES_MAX}"),
            ));
        }
        if !(0.0..=3.0).contains(&self.size.sigma) {
            return Err(refuse("size.sigma", self.size.sigma, "0 to 3"));
        }
        if self.keys.count == 0 || self.keys.skew > 8 {
            return Err(refuse("keys", format!("{:?}", self.keys), "a count from 1, a skew of 0 to 8"));
        }
        let weights = &self.keys.partitions;
        let hold = weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0)
            && (weights.is_empty() || weights.iter().sum::<f64>() > 0.0)
            && weights.len() <= self.keys.count as usize;
        if !hold {
            let allowed = "weights from 0, one above it, and no more of them than `keys.count`";
            return Err(refuse("keys.partitions", format!("{weights:?}"), allowed));
        }
        Ok(())
    }
}
