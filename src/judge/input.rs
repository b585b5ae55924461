//! A record as it comes to be judged.

use crate::clock::Timestamp;

/// What a record carries.
#[derive(Clone, Copy, Debug)]
pub enum Payload<'a> {
    /// Bytes.
    Bytes(&'a [u8]),
    /// Nothing: a tombstone.
    Tombstone,
    /// More than the reader keeps.
    Oversized,
}

/// A record as it comes to be judged.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// What it carries.
    pub payload: Payload<'a>,
    /// Its key, where the source has keys.
    pub key: Option<&'a [u8]>,
    /// The time to judge by; `None` means the envelope's own time, by which it is always fresh.
    pub now: Option<Timestamp>,
}

impl<'a> From<Payload<'a>> for Input<'a> {
    fn from(payload: Payload<'a>) -> Self {
        Self { payload, key: None, now: None }
    }
}
