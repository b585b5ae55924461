//! Making a stream with several threads: blocks in turn, handed over in order.

use crossbeam::channel::{Receiver, Sender, bounded};

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
    /// Makes a block with `write`, which appends the record of a number; `records_max` ends the stream.
    pub fn make(first: u64, records_max: u64, write: impl FnMut(u64, &mut Vec<u8>) -> Made) -> Self {
        let mut block = Self::default();
        block.refill(first, records_max, write);
        block
    }

    /// Makes a block in the memory of another.
    ///
    /// PERF: a megabyte of new memory for each block was a tenth of the CPU time (`flamegraphs/generate.md`).
    fn refill(&mut self, first: u64, records_max: u64, mut write: impl FnMut(u64, &mut Vec<u8>) -> Made) {
        self.first = first;
        self.records.clear();
        self.bytes.clear();
        self.bytes.reserve(BLOCK_RECORDS * 1200);
        for number in first..(first + BLOCK_RECORDS as u64).min(records_max) {
            let made = write(number, &mut self.bytes);
            self.records.push((self.bytes.len() as u32, made));
            self.bytes.push(b'\n');
        }
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

/// Makes a stream of a generator that begins at `start`; see [`produce_with`].
pub fn produce<E: Send>(
    generator: &Generator,
    records: u64,
    start: Timestamp,
    threads: usize,
    take: impl FnMut(&mut Block) -> Result<(), E>,
) -> Result<(), E> {
    let writer = || {
        let mut cursor = generator.cursor();
        move |number, out: &mut Vec<u8>| cursor.write(number, |number| Generator::time_of(start, number), out)
    };
    produce_with(writer, records, threads, take)
}

/// Makes a stream and gives its blocks in order to `take`, until that fails. Each thread has a `writer` of its own; what
/// `take` leaves of a block's memory is used again.
pub fn produce_with<E: Send, W: FnMut(u64, &mut Vec<u8>) -> Made>(
    writer: impl Fn() -> W + Sync,
    records: u64,
    threads: usize,
    mut take: impl FnMut(&mut Block) -> Result<(), E>,
) -> Result<(), E> {
    let blocks = records.div_ceil(BLOCK_RECORDS as u64);
    let threads = (threads as u64).clamp(1, blocks.max(1));
    let writer = &writer;
    std::thread::scope(|scope| {
        let mut lanes: Vec<(Receiver<Block>, Sender<Block>)> = Vec::new();
        for thread in 0..threads {
            let (sender, receiver) = bounded(AHEAD_MAX);
            let (spent_in, spent) = bounded::<Block>(AHEAD_MAX + 1);
            lanes.push((receiver, spent_in));
            scope.spawn(move || {
                let mut write = writer();
                for block in (thread..blocks).step_by(threads as usize) {
                    let first = block * BLOCK_RECORDS as u64;
                    let mut made = spent.try_recv().unwrap_or_default();
                    made.refill(first, records, &mut write);
                    // Nobody takes any more.
                    if sender.send(made).is_err() {
                        return;
                    }
                }
            });
        }
        for block in 0..blocks {
            let lane = lanes.get((block % threads) as usize);
            let Some((mut block, lane)) = lane.and_then(|lane| Some((lane.0.recv().ok()?, &lane.1))) else {
                unreachable!("a thread makes its blocks until nobody takes them")
            };
            take(&mut block)?;
            // A thread that is done needs no memory.
            let _ = lane.try_send(block);
        }
        Ok(())
    })
}
