//! Items that must not repeat, found in time that no record can blow up: hashes under a random key, sorted.

use std::cell::RefCell;
use std::hash::{BuildHasher as _, Hash, RandomState};

/// Up to so many items, comparing each with each is cheaper.
const PAIRWISE_MAX: usize = 8;

thread_local! {
    /// Used again for every record; grows to what is needed.
    static SCRATCH: RefCell<Vec<(u64, u32)>> = const { RefCell::new(Vec::new()) };
    static RANDOM: RandomState = RandomState::new();
}

/// The place of the first item that equals an earlier one; `items` are gone through several times.
pub(super) fn first_repeated<T: Hash + PartialEq>(
    count: usize,
    items: impl Iterator<Item = T> + Clone,
) -> Option<usize> {
    if count <= PAIRWISE_MAX {
        return items
            .clone()
            .enumerate()
            .position(|(place, item)| items.clone().take(place).any(|other| other == item));
    }
    SCRATCH.with_borrow_mut(|hashes| {
        hashes.clear();
        RANDOM.with(|random| {
            hashes.extend(items.enumerate().map(|(place, item)| (random.hash_one(&item), place as u32)));
        });
        hashes.sort_unstable();
        // 64 bits under a key that nobody knows: equal hashes are equal items.
        let repeated = hashes.windows(2).filter_map(|pair| match pair {
            [(first, _), (second, place)] if first == second => Some(*place as usize),
            _ => None,
        });
        repeated.min()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_repetition_is_found_among_few_and_many() {
        for count in [0, 1, 2, 7, 8, 9, 100] {
            let items: Vec<usize> = (0..count).collect();
            assert_eq!(first_repeated(count, items.iter()), None);
            for place in 1..count {
                let mut repeated = items.clone();
                repeated[place] = place / 2;
                repeated[count - 1] = 0;
                assert_eq!(first_repeated(count, repeated.iter()), Some(place), "{count} {place}");
            }
        }
    }
}
