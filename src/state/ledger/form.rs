//! Entries as bytes, of one length for each kind: as the shelf holds them, and as snapshots and journals tell them.

use super::{AghWork, Entry, Kind, OlympusWork, Request, WorkState, humaninloop};
use crate::clock::Timestamp;
use crate::state::bytes::Bytes;

/// What stands for a message that comes from no assignment.
const NO_HOPS: u8 = u8::MAX;

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::OlympusWork,
        Self::OlympusMessage,
        Self::AghWork,
        Self::AlfredRequest,
        Self::BluelabelMessage,
        Self::HumaninloopRun,
        Self::HumaninloopFile,
    ];

    /// Its place among all kinds.
    pub(super) const fn place(self) -> usize {
        match self {
            Self::OlympusWork => 0,
            Self::OlympusMessage => 1,
            Self::AghWork => 2,
            Self::AlfredRequest => 3,
            Self::BluelabelMessage => 4,
            Self::HumaninloopRun => 5,
            Self::HumaninloopFile => 6,
        }
    }

    /// Bytes of an entry of this kind.
    pub(super) const fn value_bytes(self) -> usize {
        match self {
            Self::OlympusWork => 9,
            Self::OlympusMessage => 1,
            Self::AghWork => 49,
            Self::AlfredRequest => 74,
            Self::BluelabelMessage => 8,
            Self::HumaninloopRun => 4,
            Self::HumaninloopFile => 16,
        }
    }
}

impl Entry {
    /// Appends the entry.
    pub(in crate::state) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::OlympusWork(work) => {
                let OlympusWork { assigned, cancelled, feedback, rounds, returned, tripped } = work;
                out.extend_from_slice(&assigned.to_le_bytes());
                out.extend_from_slice(&cancelled.to_le_bytes());
                out.extend_from_slice(feedback);
                out.extend_from_slice(&[*rounds, u8::from(*returned), u8::from(*tripped)]);
            }
            Self::OlympusMessage { hops } => out.push(hops.unwrap_or(NO_HOPS)),
            Self::AghWork(AghWork { container, initiator, target, state }) => {
                out.extend([container, initiator, target].into_iter().flatten());
                out.push(*state as u8);
            }
            Self::AlfredRequest(request) => {
                let Request { source, destination, intent, trace, sent, answered } = request;
                out.extend([source, destination, intent].into_iter().flatten());
                out.push(u8::from(trace.is_some()));
                out.extend_from_slice(&trace.unwrap_or_default());
                out.extend_from_slice(&sent.micros().to_le_bytes());
                out.push(u8::from(*answered));
            }
            Self::BluelabelMessage(retries) => out.extend_from_slice(&retries.to_le_bytes()),
            Self::HumaninloopRun(iteration) => out.extend_from_slice(&iteration.to_le_bytes()),
            Self::HumaninloopFile(contents) => out.extend(contents.iter().flat_map(|tag| tag.to_le_bytes())),
        }
    }

    /// Reads an entry of a kind.
    pub(in crate::state) fn read(kind: Kind, bytes: &mut Bytes<'_>) -> Option<Self> {
        Some(match kind {
            Kind::OlympusWork => Self::OlympusWork(OlympusWork {
                assigned: bytes.take().map(u16::from_le_bytes)?,
                cancelled: bytes.take().map(u16::from_le_bytes)?,
                feedback: bytes.take()?,
                rounds: bytes.byte()?,
                returned: bytes.flag()?,
                tripped: bytes.flag()?,
            }),
            Kind::OlympusMessage => {
                Self::OlympusMessage { hops: Some(bytes.byte()?).filter(|hops| *hops != NO_HOPS) }
            }
            Kind::AghWork => Self::AghWork(AghWork {
                container: bytes.take()?,
                initiator: bytes.take()?,
                target: bytes.take()?,
                state: *WorkState::ALL.get(usize::from(bytes.byte()?))?,
            }),
            Kind::AlfredRequest => {
                let (source, destination, intent) = (bytes.take()?, bytes.take()?, bytes.take()?);
                let (has_trace, trace) = (bytes.flag()?, bytes.take()?);
                Self::AlfredRequest(Request {
                    source,
                    destination,
                    intent,
                    trace: has_trace.then_some(trace),
                    sent: Timestamp::from_micros(bytes.take().map(i64::from_le_bytes)?),
                    answered: bytes.flag()?,
                })
            }
            Kind::BluelabelMessage => Self::BluelabelMessage(bytes.take().map(u64::from_le_bytes)?),
            Kind::HumaninloopRun => Self::HumaninloopRun(bytes.take().map(u32::from_le_bytes)?),
            Kind::HumaninloopFile => {
                let mut contents = [0; humaninloop::CONTENTS];
                for tag in &mut contents {
                    *tag = bytes.take().map(u32::from_le_bytes)?;
                }
                Self::HumaninloopFile(contents)
            }
        })
    }
}
