//! The form of a journal record: a header of fixed size, then a part of what one batch changed.
//!
//! ```text
//! "TGJ" · version · part · parts · first source offset · next source offset · latest expiry · body
//! ```
//!
//! Numbers are little-endian. A record of the version before this one can still be read, so that processes can be replaced
//! one by one. Kafka checks every record's bytes itself, so there is no checksum here.

use bytes::Bytes;

/// The version that is written; the one before it can be read.
pub const VERSION: u8 = 2;
const VERSION_MIN: u8 = 1;
/// LIMIT: bytes of one journal record; larger changes are split.
pub const RECORD_BYTES_MAX: usize = 512 * 1024;

const MAGIC: &[u8; 3] = b"TGJ";
const HEADER_BYTES: usize = 28;

/// Bytes that are no journal record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// Something else altogether.
    #[error("not a journal record of Tollgate")]
    Foreign,
    /// Written by a version that is too old or too new.
    #[error("a journal record of version {found}, allowed: {VERSION_MIN} to {VERSION}")]
    Version {
        /// Its version.
        found: u8,
    },
}

/// What stands in front of each part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The version of the form.
    pub version: u8,
    /// Which part this is, from 0.
    pub part: u16,
    /// Of how many.
    pub parts: u16,
    /// The source offset of the batch's first record.
    pub first: i64,
    /// The source offset behind its last record.
    pub next: i64,
    /// When the last of its entries may be forgotten, in seconds.
    pub expiry_max: u32,
}

impl Header {
    /// Whether it stands before nothing; see [`blank`].
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.first == i64::MAX
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(MAGIC);
        out.push(self.version);
        out.extend_from_slice(&self.part.to_le_bytes());
        out.extend_from_slice(&self.parts.to_le_bytes());
        out.extend_from_slice(&self.first.to_le_bytes());
        out.extend_from_slice(&self.next.to_le_bytes());
        out.extend_from_slice(&self.expiry_max.to_le_bytes());
    }

    /// Reads a record: its header, and its part of the body.
    pub fn read(bytes: &[u8]) -> Result<(Self, &[u8]), JournalError> {
        let (header, body) = bytes.split_first_chunk::<HEADER_BYTES>().ok_or(JournalError::Foreign)?;
        let &[b'T', b'G', b'J', version, ref rest @ ..] = header else { return Err(JournalError::Foreign) };
        if !(VERSION_MIN..=VERSION).contains(&version) {
            return Err(JournalError::Version { found: version });
        }
        let &[p0, p1, q0, q1, f0, f1, f2, f3, f4, f5, f6, f7, n0, n1, n2, n3, n4, n5, n6, n7, e0, e1, e2, e3] =
            rest;
        let (part, parts) = (u16::from_le_bytes([p0, p1]), u16::from_le_bytes([q0, q1]));
        if part >= parts {
            return Err(JournalError::Foreign);
        }
        let first = i64::from_le_bytes([f0, f1, f2, f3, f4, f5, f6, f7]);
        let next = i64::from_le_bytes([n0, n1, n2, n3, n4, n5, n6, n7]);
        let expiry_max = u32::from_le_bytes([e0, e1, e2, e3]);
        Ok((Self { version, part, parts, first, next, expiry_max }, body))
    }
}

/// Splits what a batch changed into records. A batch is limited, so its parts always can be counted.
pub fn split(
    body: &[u8],
    (first, next): (i64, i64),
    expiry_max: u32,
    part_bytes_max: usize,
) -> impl Iterator<Item = Bytes> {
    let chunks = body.chunks(part_bytes_max.saturating_sub(HEADER_BYTES).max(1));
    let parts = u16::try_from(chunks.len()).unwrap_or(u16::MAX);
    chunks.enumerate().map(move |(part, chunk)| {
        let part = u16::try_from(part).unwrap_or(u16::MAX);
        let mut record = Vec::with_capacity(HEADER_BYTES + chunk.len());
        Header { version: VERSION, part, parts, first, next, expiry_max }.write(&mut record);
        record.extend_from_slice(chunk);
        Bytes::from(record)
    })
}

/// A record without an entry, so that a transaction ends in its partition. A reader passes over it, also between the parts
/// of a batch.
#[must_use]
pub fn blank() -> Bytes {
    let mut record = Vec::with_capacity(HEADER_BYTES);
    let header =
        Header { version: VERSION, part: 0, parts: 1, first: i64::MAX, next: i64::MAX, expiry_max: 0 };
    header.write(&mut record);
    Bytes::from(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blank_record_is_told_from_others() {
        let record = blank();
        let (header, body) = Header::read(&record).unwrap();
        assert!(header.is_blank() && body.is_empty(), "{header:?}");
    }

    #[test]
    fn what_is_split_can_be_put_together() {
        let body: Vec<u8> = (0..1000_u32).map(|byte| byte as u8).collect();
        let records: Vec<_> = split(&body, (5, 1 << 40), 77, 128).collect();
        assert_eq!(records.len(), 10);
        let mut whole = Vec::new();
        for (part, record) in records.iter().enumerate() {
            assert!(record.len() <= 128);
            let (header, body) = Header::read(record).unwrap();
            let expected = Header {
                version: VERSION,
                part: part as u16,
                parts: 10,
                first: 5,
                next: 1 << 40,
                expiry_max: 77,
            };
            assert_eq!(header, expected);
            whole.extend_from_slice(body);
        }
        assert_eq!(whole, body);
    }

    #[test]
    fn the_version_before_is_read_and_others_are_refused() {
        let record = split(b"body", (0, 1), 9, RECORD_BYTES_MAX).next().unwrap();
        let with_version = |version: u8| {
            let mut bytes = record.to_vec();
            bytes[3] = version;
            Header::read(&bytes).map(|(header, _)| header.version)
        };
        assert_eq!(with_version(VERSION), Ok(VERSION));
        assert_eq!(with_version(VERSION - 1), Ok(VERSION - 1));
        assert_eq!(with_version(VERSION + 1), Err(JournalError::Version { found: VERSION + 1 }));
        assert_eq!(with_version(0), Err(JournalError::Version { found: 0 }));
        assert_eq!(Header::read(b"{}"), Err(JournalError::Foreign));
        assert_eq!(Header::read(&record[..20]), Err(JournalError::Foreign));
    }
}
