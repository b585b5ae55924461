//! Texts of fixed length in which every position has its own class of bytes: ids, hashes.
//!
//! PERF: sixteen positions are compared at once, without tables or branches; an id of 40 bytes takes three rounds.
//! Only positions that can be told by at most three ranges of bytes qualify. This file must not know patterns.

/// Bytes that are compared at once.
pub(super) const CHUNK_BYTES: usize = 16;

/// Ranges of bytes per position: digits, lower-case and upper-case letters are three.
const RANGES: usize = 3;

/// The classes of sixteen neighbouring positions, each as first bytes and widths of ranges.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    firsts: [[u8; CHUNK_BYTES]; RANGES],
    widths: [[u8; CHUNK_BYTES]; RANGES],
}

impl Chunk {
    #[inline]
    #[expect(
        clippy::indexing_slicing,
        reason = "arrays of one length; iterators would hide the loop from the vectoriser"
    )]
    fn fits(&self, bytes: &[u8; CHUNK_BYTES]) -> bool {
        let outside = |range: usize, at: usize| {
            u8::from(bytes[at].wrapping_sub(self.firsts[range][at]) > self.widths[range][at])
        };
        let mut bad = [0_u8; CHUNK_BYTES];
        for (at, bad) in bad.iter_mut().enumerate() {
            *bad = outside(0, at) & outside(1, at) & outside(2, at);
        }
        bad == [0; CHUNK_BYTES]
    }
}

/// The classes of a text of at least [`CHUNK_BYTES`] positions.
#[derive(Clone, Debug)]
pub(super) struct Positions {
    len: usize,
    /// Those that start at multiples of sixteen; the last one ends with the text and may overlap.
    chunks: Box<[Chunk]>,
}

impl Positions {
    /// From the set of bytes of each position; `None` if there are too few, or if one has too many ranges.
    pub(super) fn new(sets: &[[bool; 256]]) -> Option<Self> {
        let ranges: Vec<[(u8, u8); RANGES]> = sets.iter().map(ranges_of).collect::<Option<_>>()?;
        let last = ranges.len().checked_sub(CHUNK_BYTES)?;
        let starts = (0..last).step_by(CHUNK_BYTES).chain([last]);
        let chunks =
            starts.map(|start| chunk(ranges.get(start..start + CHUNK_BYTES)?)).collect::<Option<_>>()?;
        Some(Self { len: ranges.len(), chunks })
    }

    /// Whether a text has the right length and fits at every position.
    #[inline]
    pub(super) fn fit(&self, text: &[u8]) -> bool {
        if text.len() != self.len {
            return false;
        }
        let Some((last, chunks)) = self.chunks.split_last() else { return false };
        let (whole, _) = text.as_chunks::<CHUNK_BYTES>();
        chunks.iter().zip(whole).all(|(chunk, bytes)| chunk.fits(bytes))
            && text.last_chunk::<CHUNK_BYTES>().is_some_and(|bytes| last.fits(bytes))
    }
}

fn chunk(ranges: &[[(u8, u8); RANGES]]) -> Option<Chunk> {
    let mut chunk = Chunk { firsts: [[0; CHUNK_BYTES]; RANGES], widths: [[0; CHUNK_BYTES]; RANGES] };
    for (at, ranges) in ranges.iter().enumerate() {
        for (number, (first, width)) in ranges.iter().enumerate() {
            *chunk.firsts.get_mut(number)?.get_mut(at)? = *first;
            *chunk.widths.get_mut(number)?.get_mut(at)? = *width;
        }
    }
    Some(chunk)
}

/// A set as ranges; fewer are filled up with the first one again.
fn ranges_of(set: &[bool; 256]) -> Option<[(u8, u8); RANGES]> {
    let mut ranges: Vec<(u8, u8)> = Vec::new();
    for byte in (0..=u8::MAX).zip(set).filter_map(|(byte, in_set)| in_set.then_some(byte)) {
        match ranges.last_mut() {
            Some((first, width)) if *first as usize + *width as usize + 1 == usize::from(byte) => *width += 1,
            _ => ranges.push((byte, 0)),
        }
    }
    let fill = *ranges.first()?;
    ranges.resize(ranges.len().max(RANGES), fill);
    ranges.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_position_counts() {
        for len in [16, 17, 31, 32, 40, 71] {
            let sets: Vec<[bool; 256]> = (0..len)
                .map(|at| {
                    std::array::from_fn(|byte| {
                        if at % 5 == 4 { byte == 45 } else { (byte as u8).is_ascii_alphanumeric() }
                    })
                })
                .collect();
            let positions = Positions::new(&sets).unwrap();
            let good: Vec<u8> = (0..len).map(|at| if at % 5 == 4 { b'-' } else { b"aZ09"[at % 4] }).collect();
            assert!(positions.fit(&good));
            for at in 0..len {
                for wrong in [0, b'/', b':', b'@', b'[', b'`', b'{', 0x80, 0xFF] {
                    let mut bad = good.clone();
                    bad[at] = wrong;
                    assert!(!positions.fit(&bad), "{len} {at} {wrong}");
                }
            }
            assert!(!positions.fit(&good[1..]) && !positions.fit(&[&good[..], b"a"].concat()));
        }
        assert!(Positions::new(&[[true; 256]; 15]).is_none());
    }
}
