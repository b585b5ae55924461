//! The right verdicts as text, one JSON object per record.

use super::Block;
use super::places::write_time;
use crate::clock::Timestamp;

/// Appends a line for each record of a block; `name_of` tells the names of formats.
pub fn write_truth<'n>(name_of: impl Fn(u8) -> &'n str, block: &Block, out: &mut Vec<u8>) {
    for (number, (_, made)) in (block.first..).zip(&block.records) {
        let format = name_of(made.format);
        let line = match made.reason {
            None => format!(
                "{{\"n\":{number},\"verdict\":\"accept\",\"format\":\"{format}\",\"key\":\"k{}\"}}\n",
                made.key
            ),
            Some(reason) => format!(
                "{{\"n\":{number},\"verdict\":\"reject\",\"reason\":\"{}\",\"format\":\"{format}\",\"key\":\"k{}\"}}\n",
                reason.code(),
                made.key
            ),
        };
        out.extend_from_slice(line.as_bytes());
    }
}

/// A time by RFC 3339.
#[must_use]
pub fn rfc3339(time: Timestamp) -> String {
    let mut text = Vec::new();
    write_time(time.micros(), &mut text);
    String::from_utf8(text).unwrap_or_default()
}
