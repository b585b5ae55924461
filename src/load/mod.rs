//! Streams of envelopes whose right verdict is known: seeded, reproducible, signed, cheap to make.
//!
//! ```text
//! mix ─► scripts (templates, faults, conversations) ─► compiled to pieces ─┐
//! seed ─► layout of a block: which record plays what ───────────────────────┴─► record, verdict, key
//! ```
//!
//! A stream consists of *scenes*: conversations that follow the rules of their format, single envelopes with one fault,
//! and conversations whose last step breaks a rule of sequence. Each follows a *script*, in which every step has the
//! verdict that it must get. Those come from the formats' documents; nothing here asks the judge, so that a stream can
//! find it guilty.

mod account;
mod compiled;
mod keys;
pub mod kit;
mod layout;
mod mix;
mod own;
mod page;
mod places;
mod produce;
mod publish;
mod random;
mod samples;
mod schedule;
mod scripts;
mod stream;
mod template;
mod truth;

pub use account::{Account, Findings, Side};
pub use keys::Secrets;
pub use mix::{Bursts, Keys, Mix, MixError, Replays, Size, Style};
pub use own::{Own, OwnError};
pub use page::{Stream, Truth};
pub use produce::{Block, produce, produce_with};
pub use publish::{HEADER, PublishError, Publisher, mark, partition_of, read_mark};
pub use random::Random;
pub use schedule::Schedule;
pub use stream::{Cursor, Destination, Generator, Made};
pub use truth::{rfc3339, write_truth};

/// LIMIT: larger payloads are too big by the kit's configuration.
pub const PAYLOAD_BYTES_MAX: usize = 65_536;

/// Records that are made and written together.
pub const BLOCK_RECORDS: usize = layout::BLOCK;
