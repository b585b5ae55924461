//! Where an identity was seen first, so that a repetition is shown with both places.
//!
//! The replay window keeps no coordinates. This is a list of them in the order of the records, in sixteen bytes for each
//! that is noted. Nobody needs an answer before the end, so nothing is looked up while records pass: questions wait, and one
//! walk through the list answers all of them. A list that is full forgets its oldest part, and answers before it does. So
//! what is known follows from the order of records alone, not from how identities are named. It only serves to show
//! places: whether a message is a repetition is the window's word.
//!
//! PERF: a table that every record looked into took 0.17 µs of the tallies' time for each record, this list 0.13 (AMD EPYC,
//! perf, two million records), and a third more memory.

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher as _;

use foldhash::fast::{FixedState, RandomState};

use crate::credentials::digest::Identity;

/// Places of one part; the oldest is forgotten as a whole.
const PART_MAX: usize = 512 * 1024;
/// LIMIT: parts that are kept, the last ones: 8.4 million places, 128 MiB.
const PARTS_MAX: usize = 16;
/// LIMIT: identities whose first places are found in one walk.
const WANTED_AT_ONCE: usize = 1 << 20;

/// A record's place: its input, by its number in the report, and line or offset there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The input.
    pub input: u32,
    /// Line of a file, or offset of a partition.
    pub position: u64,
}

const POSITION_BITS: u32 = 40;

impl Place {
    /// In one word: 2^24 inputs, 2^40 positions.
    fn pack(self) -> u64 {
        u64::from(self.input) << POSITION_BITS | self.position.min((1 << POSITION_BITS) - 1)
    }

    fn unpack(word: u64) -> Self {
        Self { input: (word >> POSITION_BITS) as u32, position: word & ((1 << POSITION_BITS) - 1) }
    }
}

/// An identity's tag, with its lowest bit set where the place takes that of an earlier one; and the place.
#[derive(Clone, Copy)]
struct Noted {
    tag: u64,
    place: u64,
}

/// A question for a first place, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question(u32);

/// A question that is not answered yet.
struct Asked {
    question: Question,
    tag: u64,
    /// Where it is again.
    again: Place,
    /// How many places had been noted.
    noted: u64,
}

/// First places by identity.
pub struct Places {
    /// Nobody knows the tags, so nobody can make identities with one.
    keys: FixedState,
    /// The oldest part first; all but the last are full.
    parts: VecDeque<Vec<Noted>>,
    part_max: usize,
    forgotten: u64,
    /// In the order in which they were asked.
    asked: Vec<Asked>,
    /// By question.
    answers: Vec<Option<Place>>,
}

impl Default for Places {
    fn default() -> Self {
        Self::with_parts_of(PART_MAX)
    }
}

impl Places {
    fn with_parts_of(part_max: usize) -> Self {
        Self {
            keys: FixedState::with_seed(std::hash::RandomState::new().hash_one(0_u64)),
            parts: VecDeque::new(),
            part_max,
            forgotten: 0,
            asked: Vec::new(),
            answers: Vec::new(),
        }
    }

    /// 63 bits tell identities apart.
    fn tag_of(&self, identity: Identity) -> u64 {
        self.keys.hash_one(u128::from_le_bytes(identity)) & !1
    }

    /// How many places are not known any longer.
    #[must_use]
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Notes where an identity is; the first place stays.
    pub fn insert(&mut self, identity: Identity, place: Place) {
        self.note(Noted { tag: self.tag_of(identity), place: place.pack() });
    }

    /// The same, but an earlier place does not count any longer.
    pub fn renew(&mut self, identity: Identity, place: Place) {
        self.note(Noted { tag: self.tag_of(identity) | 1, place: place.pack() });
    }

    fn note(&mut self, noted: Noted) {
        if self.parts.back().is_none_or(|part| part.len() == self.part_max) {
            self.begin_part();
        }
        if let Some(part) = self.parts.back_mut() {
            part.push(noted);
        }
    }

    #[cold]
    fn begin_part(&mut self) {
        if self.parts.len() < PARTS_MAX {
            return self.parts.push_back(Vec::with_capacity(self.part_max));
        }
        self.answer();
        if let Some(mut oldest) = self.parts.pop_front() {
            self.forgotten += oldest.len() as u64;
            oldest.clear();
            self.parts.push_back(oldest);
        }
    }

    /// Asks where an identity, which is at a place again, was first, as far as is known now.
    pub fn ask(&mut self, identity: Identity, again: Place) -> Question {
        let question = Question(self.answers.len() as u32);
        self.answers.push(None);
        let noted = self.forgotten + self.parts.iter().map(|part| part.len() as u64).sum::<u64>();
        let tag = self.tag_of(identity);
        self.asked.push(Asked { question, tag, again, noted });
        question
    }

    /// The answer, once there was time for it: see [`Self::answer`].
    #[must_use]
    pub fn answer_to(&self, question: Question) -> Option<Place> {
        self.answers.get(question.0 as usize).copied().flatten()
    }

    /// Answers all questions.
    pub fn answer(&mut self) {
        if self.asked.is_empty() {
            return;
        }
        // Of each tag that is asked for: its place so far, and its questions, the last one first.
        let mut wanted: HashMap<u64, (Option<Place>, Vec<Asked>), RandomState> = HashMap::default();
        for asked in self.asked.drain(..).rev() {
            wanted.entry(asked.tag).or_default().1.push(asked);
        }
        let mut answer = |asked: Asked, first: Option<Place>| {
            if let Some(answer) = self.answers.get_mut(asked.question.0 as usize) {
                *answer = first.filter(|first| *first != asked.again);
            }
        };
        for (number, noted) in (self.forgotten..).zip(self.parts.iter().flatten()) {
            let Some((first, questions)) = wanted.get_mut(&(noted.tag & !1)) else { continue };
            while let Some(asked) = questions.pop_if(|asked| asked.noted <= number) {
                answer(asked, *first);
            }
            follow(first, *noted);
        }
        for (first, questions) in wanted.into_values() {
            for asked in questions {
                answer(asked, first);
            }
        }
    }

    /// The first places of these identities, as far as they are known; the lowest ones, in their order.
    pub fn lowest(&self, mut identities: impl Iterator<Item = Identity>, most: usize) -> Vec<Place> {
        let mut lowest = Vec::new();
        loop {
            let mut wanted: HashMap<u64, Option<Place>, RandomState> = HashMap::default();
            wanted.extend(
                identities.by_ref().take(WANTED_AT_ONCE).map(|identity| (self.tag_of(identity), None)),
            );
            if wanted.is_empty() {
                return lowest;
            }
            for noted in self.parts.iter().flatten() {
                if let Some(first) = wanted.get_mut(&(noted.tag & !1)) {
                    follow(first, *noted);
                }
            }
            lowest.extend(wanted.into_values().flatten());
            lowest.sort_unstable();
            lowest.truncate(most);
        }
    }
}

/// A place of an identity, behind those that it had before.
fn follow(first: &mut Option<Place>, noted: Noted) {
    if first.is_none() || noted.tag & 1 == 1 {
        *first = Some(Place::unpack(noted.place));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credentials::digest::identity;

    const NOWHERE: Place = Place { input: 77, position: 0 };

    fn named(number: u64) -> Identity {
        identity(&[&number.to_le_bytes()])
    }

    fn place(position: u64) -> Place {
        Place { input: (position % 7) as u32, position }
    }

    #[test]
    fn places_are_packed_and_unpacked() {
        for place in [
            Place { input: 0, position: 0 },
            Place { input: 1, position: 2 },
            Place { input: (1 << 24) - 1, position: (1 << POSITION_BITS) - 1 },
        ] {
            assert_eq!(Place::unpack(place.pack()), place);
        }
    }

    #[test]
    fn first_places_stay_until_they_are_renewed() {
        let mut places = Places::default();
        for number in 0..20_000 {
            places.insert(named(number), place(number));
            places.insert(named(number), place(number + 1));
        }
        let before: Vec<_> = (0..20_000).map(|number| places.ask(named(number), NOWHERE)).collect();
        for number in 0..20_000 {
            places.renew(named(number), place(number + 2));
            places.insert(named(number), place(number + 3));
        }
        let behind: Vec<_> = (0..20_000).map(|number| places.ask(named(number), NOWHERE)).collect();
        let unknown = places.ask(identity(&[b"unknown"]), NOWHERE);
        places.answer();
        for (number, (before, behind)) in (0..).zip(before.into_iter().zip(behind)) {
            assert_eq!(places.answer_to(before), Some(place(number)));
            assert_eq!(places.answer_to(behind), Some(place(number + 2)));
        }
        assert_eq!(places.answer_to(unknown), None);
        assert_eq!(places.forgotten(), 0);
    }

    /// Against a map of every place at the time of each question.
    #[test]
    fn answers_are_those_of_the_time_of_the_question() {
        const PART: u64 = 512;
        let mut random = crate::load::Random::new(23);
        let mut places = Places::with_parts_of(PART as usize);
        // Of each identity all that was noted: by which number, where, and whether it renews.
        let mut model: HashMap<u64, Vec<(u64, Place, bool)>> = HashMap::new();
        let mut expected = Vec::new();
        let mut noted = 0;
        for position in 0..40_000 {
            let number = random.below(3000);
            let renews = random.below(3) == 0;
            if renews {
                places.renew(named(number), place(position));
            } else {
                places.insert(named(number), place(position));
            }
            model.entry(number).or_default().push((noted, place(position), renews));
            noted += 1;
            if random.below(50) == 0 {
                let number = random.below(3100);
                let known = model.get(&number).into_iter().flatten();
                let known = known.filter(|(at, ..)| *at >= places.forgotten());
                let first = known.fold(
                    None,
                    |first: Option<Place>, (_, place, renews)| {
                        if *renews { Some(*place) } else { first.or(Some(*place)) }
                    },
                );
                let again = place(random.below(position + 1));
                expected.push((places.ask(named(number), again), first.filter(|first| *first != again)));
            }
        }
        places.answer();
        assert!(places.forgotten() > 30_000 - PART * 16 && places.forgotten().is_multiple_of(PART));
        assert!(noted - places.forgotten() > PART * (PARTS_MAX as u64 - 1));
        for (number, (question, first)) in expected.iter().enumerate() {
            assert_eq!(places.answer_to(*question), *first, "question {number}");
        }
        assert!(
            expected.iter().any(|(_, first)| first.is_some())
                && expected.iter().any(|(_, first)| first.is_none())
        );
    }

    #[test]
    fn the_lowest_places_are_found() {
        let mut places = Places::default();
        for number in (0..1000).rev() {
            places.insert(named(number), Place { input: 0, position: number });
            places.insert(named(number), Place { input: 0, position: 1 });
        }
        let found = places.lowest((500..2000).map(named), 3);
        let positions: Vec<_> = found.iter().map(|place| place.position).collect();
        assert_eq!(positions, [500, 501, 502]);
        assert!(places.lowest(std::iter::empty(), 3).is_empty());
        assert!(places.lowest(std::iter::once(named(5000)), 3).is_empty());
    }
}
