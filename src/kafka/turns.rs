//! The order of records of several partitions: they take turns, whatever arrives first.
//!
//! The partition whose next record is the oldest gives the records of its next [`TURN`] offsets. So the order depends on
//! the records alone, reading the same ranges again gives the same order, and partitions go through time together. What
//! arrives before its turn waits here; a partition that is far ahead should not be fetched meanwhile.

use std::collections::VecDeque;

/// Offsets of one turn.
const TURN: i64 = 1024;
/// LIMIT: bytes of a partition that wait for their turn before it is paused; what is under way comes on top.
const AHEAD_BYTES_MAX: usize = 4 << 20;

/// Records of one partition, with ascending offsets; never empty.
pub(super) trait Piece: Sized {
    /// The first and the last offset.
    fn ends(&self) -> (i64, i64);

    /// The time of the first record.
    fn time(&self) -> i64;

    /// Bytes of keys and payloads.
    fn bytes(&self) -> usize;

    /// Takes out the records before this offset, of which there is at least one, and one at or behind it.
    fn take_before(&mut self, offset: i64) -> Self;
}

/// The partitions.
pub(super) struct Turns<K, P> {
    /// Those that are not done.
    lanes: Vec<Lane<K, P>>,
    /// Whose turn it is, if that is known.
    current: Option<usize>,
}

struct Lane<K, P> {
    key: K,
    /// Its turn ends before this offset.
    turn_end: i64,
    /// Everything before this offset has arrived.
    arrived: i64,
    /// Nothing more will arrive.
    is_done: bool,
    is_paused: bool,
    waiting: VecDeque<P>,
    bytes: usize,
}

/// Partitions that should be paused, and those that should be fetched again.
pub(super) struct Flow<K> {
    pub(super) pause: Vec<K>,
    pub(super) resume: Vec<K>,
}

impl<K: Copy + PartialEq, P: Piece> Turns<K, P> {
    /// Partitions and the offsets at which they start.
    pub(super) fn new(starts: impl IntoIterator<Item = (K, i64)>) -> Self {
        let lane = |(key, from)| Lane {
            key,
            turn_end: from,
            arrived: from,
            is_done: false,
            is_paused: false,
            waiting: VecDeque::new(),
            bytes: 0,
        };
        Self { lanes: starts.into_iter().map(lane).collect(), current: None }
    }

    /// Something has arrived.
    pub(super) fn push(&mut self, key: K, piece: P) {
        if let Some(lane) = self.lane(key) {
            lane.arrived = piece.ends().1 + 1;
            lane.bytes += piece.bytes();
            lane.waiting.push_back(piece);
        }
    }

    /// Nothing more will arrive of this partition.
    pub(super) fn finish(&mut self, key: K) {
        if let Some(lane) = self.lane(key) {
            lane.is_done = true;
        }
    }

    fn lane(&mut self, key: K) -> Option<&mut Lane<K, P>> {
        self.lanes.iter_mut().find(|lane| lane.key == key)
    }

    /// The next records in order; `None` while they have not arrived, or when there are none left.
    pub(super) fn next(&mut self) -> Option<P> {
        loop {
            if self.current.is_none() {
                self.begin()?;
            }
            let lane = self.lanes.get_mut(self.current?)?;
            if let Some(piece) = lane.take() {
                return Some(piece);
            }
            if !lane.is_done && lane.arrived < lane.turn_end {
                return None;
            }
            self.current = None;
        }
    }

    /// Finds whose turn is next; `None` while somebody's next record is not known.
    fn begin(&mut self) -> Option<()> {
        self.lanes.retain(|lane| !lane.is_done || !lane.waiting.is_empty());
        let mut oldest: Option<(i64, i64, usize)> = None;
        for (place, lane) in self.lanes.iter().enumerate() {
            let next = lane.waiting.front()?;
            if oldest.is_none_or(|(time, ..)| next.time() < time) {
                oldest = Some((next.time(), next.ends().0, place));
            }
        }
        let (_, first, place) = oldest?;
        self.lanes.get_mut(place)?.turn_end = first + TURN;
        self.current = Some(place);
        Some(())
    }

    /// Whether records wait, or are still to come.
    pub(super) fn has_more(&self) -> bool {
        !self.lanes.is_empty()
    }

    /// What should be paused and resumed now; each is told once.
    pub(super) fn flow(&mut self) -> Flow<K> {
        let mut flow = Flow { pause: Vec::new(), resume: Vec::new() };
        for (place, lane) in self.lanes.iter_mut().enumerate().filter(|(_, lane)| !lane.is_done) {
            let is_current = self.current == Some(place);
            let is_far = lane.bytes > AHEAD_BYTES_MAX && !is_current;
            let is_near = lane.bytes < AHEAD_BYTES_MAX / 2 || is_current;
            if !lane.is_paused && is_far {
                lane.is_paused = true;
                flow.pause.push(lane.key);
            } else if lane.is_paused && is_near {
                lane.is_paused = false;
                flow.resume.push(lane.key);
            }
        }
        flow
    }
}

impl<K, P: Piece> Lane<K, P> {
    /// What waits and belongs to this turn.
    fn take(&mut self) -> Option<P> {
        let (first, last) = self.waiting.front()?.ends();
        if first >= self.turn_end {
            return None;
        }
        let piece = if last < self.turn_end {
            self.waiting.pop_front()?
        } else {
            self.waiting.front_mut()?.take_before(self.turn_end)
        };
        self.bytes -= piece.bytes();
        Some(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Offsets(char, Vec<i64>);

    impl Piece for Offsets {
        fn ends(&self) -> (i64, i64) {
            (self.1[0], *self.1.last().unwrap())
        }

        /// A record a second, and `b` began an hour before the others.
        fn time(&self) -> i64 {
            if self.0 == 'b' { self.1[0] - 3600 } else { self.1[0] }
        }

        fn bytes(&self) -> usize {
            self.1.len() * 8192
        }

        fn take_before(&mut self, offset: i64) -> Self {
            let rest = self.1.split_off(self.1.partition_point(|at| *at < offset));
            Self(self.0, std::mem::replace(&mut self.1, rest))
        }
    }

    /// Feeds the partitions in the order that `pick` says, `size` records at a time; gives the order that comes out.
    fn order(
        partitions: &[(char, Vec<i64>)],
        size: usize,
        mut pick: impl FnMut(usize) -> usize,
    ) -> Vec<(char, i64)> {
        let mut turns = Turns::new(partitions.iter().map(|(key, offsets)| (*key, offsets[0])));
        let mut left: Vec<(char, &[i64])> =
            partitions.iter().map(|(key, all)| (*key, all.as_slice())).collect();
        let (mut paused, mut out) = (Vec::new(), Vec::new());
        while turns.has_more() {
            let may_come: Vec<_> = (0..left.len()).filter(|at| !paused.contains(&left[*at].0)).collect();
            if !may_come.is_empty() {
                let at = may_come[pick(may_come.len())];
                let (key, rest) = left[at];
                let (now, later) = rest.split_at(size.min(rest.len()));
                turns.push(key, Offsets(key, now.to_vec()));
                left[at].1 = later;
                if later.is_empty() {
                    turns.finish(key);
                    left.remove(at);
                }
            }
            while let Some(piece) = turns.next() {
                out.extend(piece.1.iter().map(|offset| (piece.0, *offset)));
            }
            let flow = turns.flow();
            paused.retain(|key| !flow.resume.contains(key));
            paused.extend(flow.pause);
        }
        out
    }

    #[test]
    fn the_order_does_not_depend_on_what_arrives_first() {
        // One partition starts late, one has gaps, one is short.
        let partitions = [
            ('a', (0..9000).collect::<Vec<i64>>()),
            ('b', (1000..12_000).collect()),
            ('c', (0..30_000).step_by(7).collect()),
            ('d', vec![3, 4000]),
        ];
        let expected = order(&partitions, 1, |_| 0);
        assert_eq!(expected.len(), partitions.iter().map(|(_, offsets)| offsets.len()).sum::<usize>());
        assert_eq!(expected[0], ('b', 1000), "the oldest is the first");
        let in_c = expected.iter().position(|at| *at == ('c', 0)).unwrap();
        assert!(expected[in_c..].contains(&('b', 11_000)) && expected[..in_c].contains(&('b', 3000)));
        for (size, seed) in [(1, 1_usize), (100, 2), (1023, 3), (5000, 4), (700, 5)] {
            let mut state = seed;
            let pick = |count: usize| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) % count
            };
            assert!(order(&partitions, size, pick) == expected, "size {size}, seed {seed}");
        }
        assert!(order(&partitions, 1000, |count| count - 1) == expected, "the last one comes first");
    }

    #[test]
    fn who_is_far_ahead_is_paused_until_its_turn() {
        let mut turns = Turns::new([('a', 0), ('b', 9000)]);
        turns.push('b', Offsets('b', (9000..10_000).collect()));
        assert!(turns.next().is_none(), "where a begins is not known");
        let flow = turns.flow();
        assert_eq!((flow.pause, flow.resume), (vec!['b'], vec![]));
        turns.push('a', Offsets('a', (0..2000).collect()));
        assert_eq!(turns.next().unwrap().1.len(), 1024);
        assert_eq!(turns.next().unwrap().0, 'a');
        turns.finish('a');
        assert_eq!(turns.next().unwrap().0, 'b');
        assert_eq!(turns.flow().resume, vec!['b']);
    }
}
