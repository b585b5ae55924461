//! The account of a run through a filter: every record that was sent must come out once, on the right side, for the
//! right reason, and in the order of its key.

use std::collections::BTreeMap;

use super::Made;
use crate::verdict::Reason;

/// Where a filter put a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Among the accepted ones.
    Accepted,
    /// Among the rejected ones; the reason, where the filter says one that we know.
    Rejected(Option<Reason>),
}

/// What was found. All zero but `sent` and `seen`: the filter is clean.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Records that were sent.
    pub sent: u64,
    /// Different records that came out.
    pub seen: u64,
    /// Records that did not come out.
    pub lost: u64,
    /// Times that a record came out once more.
    pub doubled: u64,
    /// Records on the wrong side.
    pub misrouted: u64,
    /// Records on the right side for another reason, by right and given reason.
    pub misjudged: BTreeMap<(&'static str, &'static str), u64>,
    /// Records that came out behind a later one of their key, on the same side.
    pub reordered: u64,
    /// Records that this run did not send.
    pub strangers: u64,
}

impl Findings {
    /// Whether there is nothing to complain of.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let Self { lost, doubled, misrouted, reordered, misjudged, .. } = self;
        *lost == 0 && *doubled == 0 && *misrouted == 0 && *reordered == 0 && misjudged.is_empty()
    }

    /// Records that got another reason.
    #[must_use]
    pub fn misjudged_total(&self) -> u64 {
        self.misjudged.values().sum()
    }
}

/// What is known of a record.
#[derive(Clone, Copy)]
struct Entry {
    reason: Option<Reason>,
    key: u32,
    times_seen: u8,
}

/// The account.
pub struct Account {
    entries: Vec<Entry>,
    /// The latest record of each key, plus one, on each side.
    latest: BTreeMap<(bool, u32), u64>,
    compares_reasons: bool,
    findings: Findings,
}

impl Account {
    /// An empty account; filters that say no reasons are judged by sides alone.
    #[must_use]
    pub fn new(compares_reasons: bool) -> Self {
        Self { entries: Vec::new(), latest: BTreeMap::new(), compares_reasons, findings: Findings::default() }
    }

    /// The next record is sent.
    pub fn sent(&mut self, made: Made) {
        self.entries.push(Entry { reason: made.reason, key: made.key, times_seen: 0 });
        self.findings.sent += 1;
    }

    /// A record came out. Says whether it is the first time, and thus a latency to count.
    pub fn seen(&mut self, number: u64, side: Side) -> bool {
        let Some(entry) = self.entries.get_mut(number as usize) else {
            self.findings.strangers += 1;
            return false;
        };
        entry.times_seen = entry.times_seen.saturating_add(1);
        if entry.times_seen > 1 {
            self.findings.doubled += 1;
            return false;
        }
        self.findings.seen += 1;
        match (entry.reason, side) {
            (None, Side::Accepted) => {}
            (Some(right), Side::Rejected(given)) => {
                if self.compares_reasons && given != Some(right) {
                    let given = given.map_or("none", Reason::code);
                    *self.findings.misjudged.entry((right.code(), given)).or_default() += 1;
                }
            }
            (None, Side::Rejected(_)) | (Some(_), Side::Accepted) => self.findings.misrouted += 1,
        }
        let latest = self.latest.entry((side == Side::Accepted, entry.key)).or_default();
        if number < *latest {
            self.findings.reordered += 1;
        }
        *latest = (*latest).max(number + 1);
        true
    }

    /// Records that were sent and have not come out.
    #[must_use]
    pub fn missing(&self) -> u64 {
        self.findings.sent - self.findings.seen
    }

    /// Nothing more will come.
    #[must_use]
    pub fn close(mut self) -> Findings {
        self.findings.lost = self.missing();
        self.findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(records: u32) -> Account {
        let mut account = Account::new(true);
        for number in 0..records {
            let reason = (number % 3 == 2).then_some(Reason::Stale);
            account.sent(Made { reason, key: number % 2, format: 0, tombstone: false });
        }
        account
    }

    fn right(number: u64) -> Side {
        if number % 3 == 2 { Side::Rejected(Some(Reason::Stale)) } else { Side::Accepted }
    }

    #[test]
    fn a_clean_run_is_clean() {
        let mut account = account(30);
        for number in 0..30 {
            assert!(account.seen(number, right(number)));
        }
        assert!(account.close().is_clean());
    }

    #[test]
    fn each_fault_is_counted_as_what_it_is_and_nothing_else() {
        let mut account = account(30);
        for number in (0..30).filter(|number| ![4, 13].contains(number)) {
            match number {
                // Lost: 4. Late, behind 15 of the same key: 13.
                15 => {
                    account.seen(15, right(15));
                    account.seen(13, right(13));
                }
                6 => {
                    account.seen(6, right(6));
                    assert!(!account.seen(6, right(6)));
                }
                7 => drop(account.seen(7, Side::Rejected(Some(Reason::Stale)))),
                8 => drop(account.seen(8, Side::Rejected(Some(Reason::Future)))),
                11 => drop(account.seen(11, Side::Rejected(None))),
                number => drop(account.seen(number, right(number))),
            }
        }
        account.seen(99, Side::Accepted);
        let findings = account.close();
        assert_eq!(
            (findings.lost, findings.doubled, findings.misrouted, findings.reordered, findings.strangers),
            (1, 1, 1, 1, 1)
        );
        let misjudged = BTreeMap::from([(("stale", "future"), 1), (("stale", "none"), 1)]);
        assert_eq!(findings.misjudged, misjudged);
        assert!(!findings.is_clean());
    }
}
