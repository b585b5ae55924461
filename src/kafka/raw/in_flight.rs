//! What the producer was given and has not reported yet: the owner of every payload in flight.
//!
//! Records are produced by reference, so their memory must stay until the delivery report. Entries live in a slab and
//! librdkafka carries only their number, so that producing allocates nothing once warm. What is left when a producer
//! was destroyed is released with the slab.

use bytes::Bytes;

use super::message::{Message, fetch};
use crate::kafka::faults::Code;

/// The outcome of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// What the caller produced it with.
    pub tag: u64,
    /// The partition that it went to.
    pub partition: i32,
    /// Its offset there, or why it was not written for certain.
    pub outcome: Result<i64, Code>,
}

/// Memory that a record in flight points into.
pub(crate) enum Owner {
    /// A consumed record that is sent on.
    Message(Message),
    /// Bytes of ours. (librdkafka copies keys, so only the payload is kept.)
    Bytes { payload: Option<Bytes> },
}

impl Owner {
    /// Where the payload is; 0 for a tombstone.
    fn address(&self) -> usize {
        match self {
            Self::Message(message) => message.raw_payload().0.addr(),
            Self::Bytes { payload } => payload.as_ref().map_or(0, |payload| payload.as_ptr().addr()),
        }
    }
}

enum Entry {
    Free { next: usize },
    Taken { owner: Owner, tag: u64 },
}

/// No further free entry.
const END: usize = usize::MAX;

/// LIMIT: owners of reported records that wait for their release.
const REPORTED_MAX: usize = 1024;
/// How many entries around the one that is reported are fetched.
const NEAR: usize = 8;
/// How many owners before its turn a message's memory is fetched.
const AHEAD: usize = 8;

/// The slab, and the reports that came since they were last asked for.
pub(crate) struct InFlight {
    entries: Vec<Entry>,
    free: usize,
    count: usize,
    pub(crate) reports: Vec<Delivery>,
    /// Owners of records that were reported during the call to librdkafka that runs at this moment.
    reported: Vec<Owner>,
}

impl InFlight {
    pub(crate) fn new() -> Self {
        Self { entries: Vec::new(), free: END, count: 0, reports: Vec::new(), reported: Vec::new() }
    }

    /// Records given and not reported.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Keeps `owner`, and returns the number of its entry.
    pub(crate) fn insert(&mut self, owner: Owner, tag: u64) -> usize {
        self.count += 1;
        let entry = Entry::Taken { owner, tag };
        let index = self.free;
        if let Some(slot) = self.entries.get_mut(index) {
            if let Entry::Free { next } = *slot {
                self.free = next;
            }
            *slot = entry;
            self.expect(self.free);
            return index;
        }
        self.entries.push(entry);
        self.entries.len() - 1
    }

    /// Takes the entry out; `None` if it is not taken, which would be a bug of the callback's caller.
    pub(crate) fn remove(&mut self, index: usize) -> Option<(Owner, u64)> {
        let slot = self.entries.get_mut(index)?;
        if matches!(slot, Entry::Free { .. }) {
            return None;
        }
        let Entry::Taken { owner, tag } = std::mem::replace(slot, Entry::Free { next: self.free }) else {
            return None;
        };
        self.free = index;
        self.count -= 1;
        Some((owner, tag))
    }

    /// Notes the outcome of an entry; its memory is released soon. `address` is where the report says the payload is.
    pub(crate) fn report(
        &mut self,
        index: usize,
        address: usize,
        partition: i32,
        outcome: Result<i64, Code>,
    ) {
        // Reports come in the order of entries, or against it.
        self.expect(index.wrapping_add(NEAR));
        self.expect(index.wrapping_sub(NEAR));
        if let Some((owner, tag)) = self.remove(index) {
            debug_assert_eq!(owner.address(), address, "what was sent is what we own: no copy, no mix-up");
            self.reports.push(Delivery { tag, partition, outcome });
            self.reported.push(owner);
            if self.reported.len() >= REPORTED_MAX {
                self.release_reported();
            }
        }
    }

    /// An entry is used soon.
    fn expect(&self, index: usize) {
        fetch(self.entries.as_ptr().wrapping_add(index).cast());
    }

    /// Releases the memory of what was reported.
    ///
    /// PERF: one after the other inside the reports, each would wait for memory that other cores have used since.
    pub(crate) fn release_reported(&mut self) {
        let mut owners = self.reported.drain(..);
        while let Some(owner) = owners.next() {
            if let Some(Owner::Message(later)) = owners.as_slice().get(AHEAD) {
                later.expect();
            }
            drop(owner);
        }
    }

    /// Releases everything. Only when the producer is gone, since it reads this memory.
    pub(crate) fn release_all(&mut self) -> usize {
        let left = std::mem::replace(&mut self.count, 0);
        self.reported.clear();
        self.entries.clear();
        self.free = END;
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &'static str) -> Owner {
        Owner::Bytes { payload: Some(Bytes::from_static(text.as_bytes())) }
    }

    #[test]
    fn entries_are_reused_and_reported_once() {
        let mut slab = InFlight::new();
        let (a, b) = ("a", "b");
        let (first, second) = (slab.insert(bytes(a), 1), slab.insert(bytes(b), 2));
        slab.report(first, a.as_ptr().addr(), 0, Ok(7));
        slab.report(first, 0, 0, Ok(8));
        assert_eq!(slab.insert(bytes("c"), 3), first, "a freed entry is used again");
        assert_eq!(slab.count(), 2);
        slab.report(second, b.as_ptr().addr(), 1, Err(Code::QUEUE_FULL));
        let tags: Vec<_> = slab.reports.iter().map(|report| report.tag).collect();
        assert_eq!(tags, [1, 2]);
        assert_eq!(slab.reported.len(), 2, "released once the call to librdkafka is over");
        slab.release_reported();
        assert!(slab.reported.is_empty());
        assert_eq!(slab.release_all(), 1);
        assert_eq!(slab.count(), 0);
    }
}
