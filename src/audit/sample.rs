//! A quick look: one record of so many, chosen by its position alone, so that the same sample comes again.
//!
//! Inputs are still read whole, and files hashed; only judging is saved. Repetitions are found only as far as both records
//! are in the sample, sequences are not looked at ([`super::settings`]), and the report says so.

use crate::pipeline::batch::Payloads;
use crate::pipeline::{Read, Source, SourceError};

/// A source of which only a sample is passed on.
pub struct Sampled<S> {
    source: S,
    one_in: u64,
}

impl<S: Source> Sampled<S> {
    /// One record of `one_in`; 1 passes everything.
    pub fn new(source: S, one_in: u64) -> Self {
        Self { source, one_in: one_in.max(1) }
    }
}

impl<S: Source> Source for Sampled<S> {
    fn read(&mut self) -> Result<Read, SourceError> {
        let mut read = self.source.read()?;
        if self.one_in == 1 {
            return Ok(read);
        }
        let Read::Intake(intake) = &mut read else { return Ok(read) };
        let partition = intake.partition.0;
        let wanted = |position: u64| mixed(position ^ partition.rotate_left(40)).is_multiple_of(self.one_in);
        match &mut intake.payloads {
            Payloads::Block(block) => {
                let mut number = block.first_record;
                block.spans.retain(|_| {
                    number += 1;
                    wanted(number)
                });
            }
            Payloads::Messages { messages, .. } | Payloads::Range(messages) => {
                messages.retain(|message| wanted(message.offset().cast_unsigned()));
            }
        }
        Ok(if intake.payloads.is_empty() { Read::Idle } else { read })
    }
}

/// Neighbours must not be alike.
fn mixed(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}
