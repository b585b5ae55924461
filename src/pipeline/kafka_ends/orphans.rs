//! Partitions that nobody has, though the group is at rest.
//!
//! In a cooperative rebalance, a partition that is to move is taken from its owner first; the owner joins again, and then
//! it is given to the other one. An owner that is killed between the two and comes back under its name gets what it was
//! left with, without a rebalance: nobody joins again, and the partition rests for as long as the group does. So the
//! group is asked now and then, and if a partition stays without an owner, the member with the fewest partitions leaves
//! for as long as the group takes to notice; then all are given out anew.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::config::Config;
use crate::kafka::{Admin, GroupDescription, KafkaError};

use super::progress::Progress;
use super::renewal::session;

/// How often the group is asked, and how long an answer may take.
pub(super) const LOOK_EVERY: Duration = Duration::from_secs(10);
const ASK_WAIT: Duration = Duration::from_secs(2);
/// What can keep an owner from joining again, beside the drain of what it gives away: a stall before it is heard of, a commit,
/// an assignment that waits for its offsets.
const SLOWEST: Duration = Duration::from_secs(30);
/// LIMIT: how often the patience is doubled.
const DOUBLED_MAX: u32 = 6;

/// Looks for them.
pub(super) struct Orphans {
    admin: Admin,
    group: String,
    topics: Vec<String>,
    /// The fewest partitions that each topic was seen with: members hear of later ones in time.
    partitions: Vec<usize>,
    progress: Arc<Progress>,
    seen: Seen,
}

/// What was seen of the group.
struct Seen {
    /// Our name in it.
    name: String,
    /// Looks after which the first member leaves: a rebalance is over by then.
    first: u32,
    /// Looks after which the next one does, because the one before did not, or in vain.
    next: u32,
    /// Partitions without an owner at every look.
    orphans: BTreeSet<(String, i32)>,
    /// So many looks.
    looks: u32,
    /// How often we left since the group was complete.
    left: u32,
}

impl Orphans {
    pub(super) fn new(admin: Admin, config: &Config, name: String, progress: &Arc<Progress>) -> Self {
        Self {
            admin,
            group: config.kafka.group.clone(),
            topics: config.kafka.topics.clone(),
            partitions: Vec::new(),
            progress: Arc::clone(progress),
            seen: Seen::new(name, config),
        }
    }

    /// Asks the group.
    pub(super) fn look(&mut self) {
        if let Err(error) = self.try_look() {
            tracing::debug!("{error}; the group is asked again");
            self.seen.forget();
        }
    }

    fn try_look(&mut self) -> Result<(), KafkaError> {
        if self.partitions.is_empty() {
            self.count()?;
        }
        let group = self.admin.group(&self.group, ASK_WAIT)?;
        let mut is_turn = self.seen.is_our_turn(&group, self.all());
        if is_turn {
            // Partitions that are there no longer miss nobody.
            self.count()?;
            is_turn = self.seen.is_our_turn(&group, self.all());
        }
        if is_turn {
            let orphans: Vec<_> =
                self.seen.orphans.iter().map(|(topic, number)| format!("{topic}/{number}")).collect();
            tracing::warn!(
                "the group is at rest, but nobody has {}; this process leaves it for a session, so that \
                 partitions are given out anew",
                orphans.join(", ")
            );
            self.seen.left += 1;
            self.seen.forget();
            self.progress.set_leaving(true);
        } else if self.seen.looks == 0 {
            self.progress.set_leaving(false);
        }
        Ok(())
    }

    /// All partitions that somebody should have.
    fn all(&self) -> BTreeSet<(String, i32)> {
        let all = self.topics.iter().zip(&self.partitions);
        all.flat_map(|(topic, count)| (0..*count).map(|number| (topic.clone(), number as i32))).collect()
    }

    fn count(&mut self) -> Result<(), KafkaError> {
        let topics: Vec<_> = self.topics.iter().map(String::as_str).collect();
        let described = self.admin.topics(&topics, ASK_WAIT)?;
        let counts: Result<Vec<_>, KafkaError> =
            described.into_iter().map(|topic| Ok(topic?.partitions)).collect();
        let before = self.partitions.iter().copied().chain(std::iter::repeat(usize::MAX));
        self.partitions = counts?.into_iter().zip(before).map(|(now, before)| now.min(before)).collect();
        Ok(())
    }
}

impl Seen {
    fn new(name: String, config: &Config) -> Self {
        let drain = Duration::from_millis(u64::from(config.kafka.revoke_deadline_ms)) * 3 / 2;
        let first = 1 + looks(SLOWEST + drain);
        let next = first + looks(session(config));
        Self { name, first, next, orphans: BTreeSet::new(), looks: 0, left: 0 }
    }

    fn forget(&mut self) {
        self.orphans.clear();
        self.looks = 0;
    }

    /// Whether we should leave, since some of all partitions have had no owner for long enough.
    fn is_our_turn(&mut self, group: &GroupDescription, all: BTreeSet<(String, i32)>) -> bool {
        let mut ranked: Vec<_> = group.members.iter().filter(|member| !member.instance.is_empty()).collect();
        ranked.sort_by_key(|member| (member.partitions.len(), &member.instance));
        let rank = ranked.iter().position(|member| member.instance == self.name);
        let (true, Some(rank)) = (group.is_stable, rank) else {
            self.forget();
            return false;
        };
        let owned: BTreeSet<_> = group.members.iter().flat_map(|member| &member.partitions).collect();
        let mut missing = all;
        missing.retain(|at| !owned.contains(at));
        if missing.is_empty() {
            self.left = 0;
        }
        if self.looks > 0 {
            missing.retain(|at| self.orphans.contains(at));
        }
        self.orphans = missing;
        self.looks = if self.orphans.is_empty() { 0 } else { self.looks + 1 };
        // Who left in vain is more patient the next time.
        self.looks >= (self.first + self.next * rank as u32) << self.left.min(DOUBLED_MAX)
    }
}

/// So many looks fit into a time.
fn looks(time: Duration) -> u32 {
    time.as_millis().div_ceil(LOOK_EVERY.as_millis()) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::GroupMember;

    fn group(is_stable: bool, members: &[(&str, &[i32])]) -> GroupDescription {
        let member = |(instance, partitions): &(&str, &[i32])| GroupMember {
            instance: (*instance).to_owned(),
            partitions: partitions.iter().map(|number| ("in".to_owned(), *number)).collect(),
        };
        GroupDescription { members: members.iter().map(member).collect(), is_stable, rights: None }
    }

    /// Who leaves after two looks, or three more for each other one.
    fn seen(name: &str) -> Seen {
        Seen { first: 2, next: 3, ..Seen::new(name.to_owned(), &Config::default()) }
    }

    fn all() -> BTreeSet<(String, i32)> {
        (0..4).map(|number| ("in".to_owned(), number)).collect()
    }

    /// At which looks `name` should leave, if it sees these groups one after the other.
    fn turns(name: &str, groups: impl IntoIterator<Item = GroupDescription>) -> Vec<usize> {
        let mut seen = seen(name);
        let turns = groups.into_iter().map(|group| {
            let is_turn = seen.is_our_turn(&group, all());
            if is_turn {
                seen.left += 1;
                seen.forget();
            }
            is_turn
        });
        turns.enumerate().filter_map(|(look, is_turn)| is_turn.then_some(look + 1)).collect()
    }

    #[test]
    fn who_has_the_fewest_leaves_first() {
        let stuck = || std::iter::repeat_n(group(true, &[("a", &[2, 3]), ("b", &[]), ("", &[])]), 9);
        assert_eq!(turns("a", stuck()), [5], "the other one did not");
        assert_eq!(turns("b", stuck()), [2, 6], "the second time it waits for twice as long");
        assert_eq!(turns("c", stuck()), [0; 0], "not in the group");
        let even = || std::iter::repeat_n(group(true, &[("b", &[0]), ("a", &[1])]), 5);
        assert_eq!((turns("a", even()), turns("b", even())), (vec![2], vec![5]));
    }

    #[test]
    fn a_group_that_is_busy_or_complete_needs_nobody_to_leave() {
        let stuck = || group(true, &[("a", &[2, 3])]);
        let (busy, complete) = (group(false, &[("a", &[])]), group(true, &[("a", &[0, 1, 2, 3])]));
        assert_eq!(turns("a", [stuck(), busy.clone(), stuck(), complete.clone(), stuck(), busy]), [0; 0]);
        // Partitions that are given out one after the other are not stuck.
        assert_eq!(turns("a", [group(true, &[("a", &[0, 1])]), group(true, &[("a", &[2, 3])])]), [0; 0]);
        let (one, both) = (group(true, &[("a", &[0, 1, 2])]), group(true, &[("a", &[0, 1])]));
        assert_eq!(turns("a", [one, both.clone(), group(true, &[("a", &[0, 1, 3])]), both]), [2]);
        // Complete again, it is as patient as at first.
        assert_eq!(turns("a", [stuck(), stuck(), complete, stuck(), stuck()]), [2, 5]);
    }

    #[test]
    fn patience_follows_from_what_may_take_long() {
        let mut config = Config::default();
        let patience = |config: &Config| {
            let Seen { first, next, .. } = Seen::new("a".to_owned(), config);
            (first, next)
        };
        assert_eq!(patience(&config), (5, 6), "30 s and 7.5 s for a drain; a session of 10 s");
        config.kafka.revoke_deadline_ms = 60_000;
        config.kafka.session_timeout_ms = 120_000;
        assert_eq!(patience(&config), (13, 25));
    }
}
