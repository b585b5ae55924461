//! The journal: what the state changed, written beside the output, so that a restart or another process can go on.
//!
//! One topic per input topic, with its partitions. The form of a record is `record.rs`; `index.rs` keeps account of which
//! records still have a live entry, and the committed offset's text names that range (`range.rs`); `restore.rs` reads it
//! back; `topics.rs` makes the topic and deletes what is dead. What stands inside an entry is the state's own business.

mod index;
mod range;
mod record;
mod restore;
mod topics;

pub use index::Index;
pub use range::{Range, nobodys_offset};
pub use record::{Header, JournalError, RECORD_BYTES_MAX, VERSION, blank, split};
pub use restore::{Changes, Plan, Restore};
pub use topics::JournalTopics;
pub(in crate::kafka) use topics::SETTINGS;
