//! Making a stream with several threads: blocks in turn, handed over in order.

use crossbeam::channel::{Receiver, bounded};

use super::{BLOCK_RECORDS, Generator, Made};
use crate::clock::Timestamp;

/// LIMIT: blocks that a thread is ahead of whoever takes them.
const AHEAD_MAX: usize = 4;

/// The records of a block.
#[derive(Default)]
pub struct Block {
    /// The number of its first record.
    pub first: u64,
    /// Payloads, each followed by a line break.
    pub bytes: Vec<u8>,
    /// For each record, where its payload ends (before the line break), and what it is.
    pub records: Vec<(u32, Made)>,
}

impl Block {
    /// Makes a block; `records_max` ends the stream.
    pub fn make(
        cursor: &mut super::Cursor<'_>,
        first: u64,
        records_max: u64,
        time: impl Fn(u64) -> i64,
    ) -> Self {
        let mut block = Self { first, ..Self::default() };
        block.bytes.reserve(BLOCK_RECORDS * 1200);
        for number in first..(first + BLOCK_RECORDS as u64).min(records_max) {
            let made = cursor.write(number, &time, &mut block.bytes);
            block.records.push((block.bytes.len() as u32, made));
            block.bytes.push(b'\n');
        }
        block
    }

    /// The records with their payloads.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], Made)> {
        let mut start = 0;
        self.records.iter().map(move |(end, made)| {
            let payload = self.bytes.get(start..*end as usize).unwrap_or_default();
            start = *end as usize + 1;
            (payload, *made)
        })
    }
}

/// Makes a stream that begins at `start`, and gives its blocks in order to `take`, until that fails.
pub fn produce<E: Send>(
    generator: &Generator,
    records: u64,
    start: Timestamp,
    threads: usize,
    mut take: impl FnMut(Block) -> Result<(), E>,
) -> Result<(), E> {
    let blocks = records.div_ceil(BLOCK_RECORDS as u64);
    let threads = (threads as u64).clamp(1, blocks.max(1));
    std::thread::scope(|scope| {
        let mut lanes: Vec<Receiver<Block>> = Vec::new();
        for thread in 0..threads {
            let (sender, receiver) = bounded(AHEAD_MAX);
            lanes.push(receiver);
            scope.spawn(move || {
                let mut cursor = generator.cursor();
                for block in (thread..blocks).step_by(threads as usize) {
                    let first = block * BLOCK_RECORDS as u64;
                    let made =
                        Block::make(&mut cursor, first, records, |number| Generator::time_of(start, number));
                    // Nobody takes any more.
                    if sender.send(made).is_err() {
                        return;
                    }
                }
            });
        }
        for block in 0..blocks {
            let lane = lanes.get((block % threads) as usize).and_then(|lane| lane.recv().ok());
            let Some(block) = lane else { unreachable!("a thread makes its blocks until nobody takes them") };
            take(block)?;
        }
        Ok(())
    })
}
