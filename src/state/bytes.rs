//! Bytes that are read from the front: the primitives of snapshots, journals and the ledger's shelf.
//!
//! Nothing here trusts what it reads: whatever does not make sense is `None`, and the caller decides what that means.

use super::window::Second;

/// Bytes that are read from the front; `None` wherever they do not make sense.
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl Bytes<'_> {
    pub(super) fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    pub(super) fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    pub(super) fn second(&mut self) -> Option<Second> {
        self.take().map(u32::from_le_bytes)
    }
}
