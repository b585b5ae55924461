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

/// How often the group is asked, and how long an answer may take.
pub(super) const LOOK_EVERY: Duration = Duration::from_secs(10);
const ASK_WAIT: Duration = Duration::from_secs(2);
/// Looks after which the first member leaves; a rebalance is over by then.
const LOOKS_MIN: u32 = 2;
/// Looks after which the next one does, because the one before did not, or in vain.
const LOOKS_MORE: u32 = 6;

/// Looks for them.
pub(super) struct Orphans {
    admin: Admin,
    group: String,
    /// Our name in the group.
    name: String,
    topics: Vec<String>,
    /// How many partitions each topic had at first: members hear of later ones in time.
    partitions: Vec<usize>,
    progress: Arc<Progress>,
    seen: Seen,
}

/// What was seen of the group.
#[derive(Default)]
struct Seen {
    /// Partitions without an owner at the last look.
    orphans: BTreeSet<(String, i32)>,
    /// Looks at which some of them had none.
    looks: u32,
}

impl Orphans {
    pub(super) fn new(admin: Admin, config: &Config, name: String, progress: &Arc<Progress>) -> Self {
        Self {
            admin,
            group: config.kafka.group.clone(),
            name,
            topics: config.kafka.topics.clone(),
            partitions: Vec::new(),
            progress: Arc::clone(progress),
            seen: Seen::default(),
        }
    }

    /// Asks the group.
    pub(super) fn look(&mut self) {
        if let Err(error) = self.try_look() {
            tracing::debug!("{error}; the group is asked again");
            self.seen = Seen::default();
        }
    }

    fn try_look(&mut self) -> Result<(), KafkaError> {
        if self.partitions.is_empty() {
            let topics: Vec<_> = self.topics.iter().map(String::as_str).collect();
            let described = self.admin.topics(&topics, ASK_WAIT)?;
            let counts: Result<Vec<_>, _> =
                described.into_iter().map(|topic| Ok::<_, KafkaError>(topic?.partitions)).collect();
            self.partitions = counts?;
        }
        let group = self.admin.group(&self.group, ASK_WAIT)?;
        let all = self.topics.iter().zip(&self.partitions);
        let all = all.flat_map(|(topic, count)| (0..*count).map(|number| (topic.clone(), number as i32)));
        if self.seen.is_our_turn(&self.name, &group, all.collect()) {
            let orphans: Vec<_> =
                self.seen.orphans.iter().map(|(topic, number)| format!("{topic}/{number}")).collect();
            tracing::warn!(
                "the group is at rest, but nobody has {}; this process leaves it for a session, so that \
                 partitions are given out anew",
                orphans.join(", ")
            );
            self.seen.looks = 0;
            self.progress.set_leaving(true);
        }
        Ok(())
    }
}

impl Seen {
    /// Whether we should leave, since some partitions have had no owner for long enough.
    fn is_our_turn(
        &mut self,
        name: &str,
        group: &GroupDescription,
        mut all: BTreeSet<(String, i32)>,
    ) -> bool {
        let mut ranked: Vec<_> = group.members.iter().filter(|member| !member.instance.is_empty()).collect();
        ranked.sort_by_key(|member| (member.partitions.len(), &member.instance));
        let rank = ranked.iter().position(|member| member.instance == name);
        let (true, Some(rank)) = (group.is_stable, rank) else {
            *self = Self::default();
            return false;
        };
        for at in group.members.iter().flat_map(|member| &member.partitions) {
            all.remove(at);
        }
        let is_still = self.orphans.is_empty() && self.looks == 0 || !self.orphans.is_disjoint(&all);
        self.looks = if all.is_empty() { 0 } else { 1 + if is_still { self.looks } else { 0 } };
        self.orphans = all;
        self.looks == LOOKS_MIN + LOOKS_MORE * rank as u32
    }
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

    /// At which looks `name` should leave, if it sees these groups one after the other.
    fn turns(name: &str, groups: impl IntoIterator<Item = GroupDescription>) -> Vec<usize> {
        let mut seen = Seen::default();
        let all: BTreeSet<_> = (0..4).map(|number| ("in".to_owned(), number)).collect();
        let is_turn = |group: &GroupDescription| seen.is_our_turn(name, group, all.clone());
        let groups: Vec<_> = groups.into_iter().collect();
        groups.iter().map(is_turn).enumerate().filter_map(|(look, is_turn)| is_turn.then_some(look)).collect()
    }

    #[test]
    fn who_has_the_fewest_leaves_first() {
        let stuck = || std::iter::repeat_n(group(true, &[("a", &[2, 3]), ("b", &[]), ("", &[])]), 12);
        assert_eq!(turns("b", stuck()), [1]);
        assert_eq!(turns("a", stuck()), [7], "the other one did not");
        assert_eq!(turns("c", stuck()), [0; 0], "not in the group");
        let even = || std::iter::repeat_n(group(true, &[("b", &[0]), ("a", &[1])]), 12);
        assert_eq!((turns("a", even()), turns("b", even())), (vec![1], vec![7]));
    }

    #[test]
    fn a_group_that_is_busy_or_complete_needs_nobody_to_leave() {
        let stuck = || group(true, &[("a", &[2, 3])]);
        let (busy, complete) = (group(false, &[("a", &[])]), group(true, &[("a", &[0, 1, 2, 3])]));
        assert_eq!(turns("a", [stuck(), busy.clone(), stuck(), complete, stuck(), busy]), [0; 0]);
        // Partitions that are given out one after the other are not stuck.
        assert_eq!(turns("a", [group(true, &[("a", &[0, 1])]), group(true, &[("a", &[2, 3])])]), [0; 0]);
        assert_eq!(turns("a", [stuck(), stuck()]), [1]);
    }
}
