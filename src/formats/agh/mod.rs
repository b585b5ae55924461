//! agh: AGH Network envelopes, v0.
//!
//! The steps of a receiver decide about the order of reasons, not the order of members:
//!
//! | step | what | file |
//! |---|---|---|
//! | 1 – 2e | names, types, presence, protocol, id, workspace, kind, channel, peers, references | `header` |
//! | 3 | freshness | `freshness` |
//! | 4 | surface, thread, room, work | `container` |
//! | 5 | the body of the kind, the digest of a capability | `body`, `capability` |
//! | 5p | policies that are off unless asked for | `policy`, `secrets` |
//! | 5v | the proof of the trust profile | `policy` |
//!
//! The page decides where it says something; the reference implementation fills what it leaves open, and the profile
//! `page` leaves those rules out. Numbers are carried unread: only `ts` and `expires_at` are looked at.

mod body;
mod capability;
mod container;
mod fields;
mod freshness;
mod grammar;
mod header;
mod secrets;
mod settings;

use std::ops::ControlFlow;

use crate::program::{Failure, Observer};
use crate::tape::NodeIndex;
use crate::verdict::Reason;

/// What a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MessageKind {
    Greet,
    Whois,
    Say,
    Capability,
    Receipt,
    Trace,
}

impl MessageKind {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "greet" => Self::Greet,
            "whois" => Self::Whois,
            "say" => Self::Say,
            "capability" => Self::Capability,
            "receipt" => Self::Receipt,
            "trace" => Self::Trace,
            _ => return None,
        })
    }

    /// Peers that look for each other, outside any conversation.
    fn is_discovery(self) -> bool {
        matches!(self, Self::Greet | Self::Whois)
    }

    /// Kinds that only make sense for work that was opened before.
    fn needs_work(self) -> bool {
        matches!(self, Self::Receipt | Self::Trace)
    }
}

/// Tells the observer of a failure.
fn fail<O: Observer>(observer: &mut O, reason: Reason, at: NodeIndex) -> ControlFlow<()> {
    observer.failed(Failure::of(reason, at))
}
