//! What can go wrong with Kafka: the error type of this module, and what to do about each of librdkafka's codes.
//!
//! Which code asks for what stands in `classes.rs`. Texts name topic, partition and offset, and never contain payloads or secrets.

use std::fmt;
use std::time::Duration;

use super::classes;
use super::raw;
use super::raw::sys::rd_kafka_resp_err_t as Known;

/// What the caller should do about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Passing trouble: wait and try again; librdkafka often does so by itself.
    Retry,
    /// The cluster takes nothing at this moment: take nothing in, keep what there is, and try again with patience.
    Pause,
    /// This one record is refused; others are not concerned.
    Reject,
    /// The client is of no more use: make a new one and go on from the committed offsets.
    Rebuild,
    /// A person has to change something: drain and stop.
    Stop,
}

impl Class {
    /// Whether it passes by itself: the same call may succeed later.
    #[must_use]
    pub const fn is_passing(self) -> bool {
        matches!(self, Self::Retry | Self::Pause)
    }
}

/// An error code of librdkafka or of a broker, known or not.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code(pub(in crate::kafka) i32);

impl Code {
    /// No error.
    pub const NONE: Self = Self(0);
    /// A call ran out of time.
    pub const TIMED_OUT: Self = Self(Known::RD_KAFKA_RESP_ERR__TIMED_OUT as i32);
    /// The producer's own queue is full: poll, then produce again.
    pub const QUEUE_FULL: Self = Self(Known::RD_KAFKA_RESP_ERR__QUEUE_FULL as i32);
    /// Purged while it waited in the producer's queue.
    pub const PURGED_QUEUE: Self = Self(Known::RD_KAFKA_RESP_ERR__PURGE_QUEUE as i32);
    /// Purged while a request with it was under way; it may have been written.
    pub const PURGED_IN_FLIGHT: Self = Self(Known::RD_KAFKA_RESP_ERR__PURGE_INFLIGHT as i32);
    /// The topic has no such partition, as far as the client knows.
    pub const UNKNOWN_PARTITION: Self = Self(Known::RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION as i32);
    /// The end of a partition was reached.
    pub(in crate::kafka) const PARTITION_EOF: Self = Self(Known::RD_KAFKA_RESP_ERR__PARTITION_EOF as i32);
    pub(in crate::kafka) const FENCED: Self = Self(Known::RD_KAFKA_RESP_ERR__FENCED as i32);
    pub(in crate::kafka) const PRODUCER_FENCED: Self = Self(Known::RD_KAFKA_RESP_ERR_PRODUCER_FENCED as i32);
    pub(in crate::kafka) const INVALID_PRODUCER_EPOCH: Self =
        Self(Known::RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH as i32);
    pub(in crate::kafka) const FENCED_INSTANCE_ID: Self =
        Self(Known::RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID as i32);
    pub(in crate::kafka) const NO_OFFSET: Self = Self(Known::RD_KAFKA_RESP_ERR__NO_OFFSET as i32);
    pub(in crate::kafka) const UNKNOWN_TOPIC: Self =
        Self(Known::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART as i32);
    pub(in crate::kafka) const TOPIC_EXISTS: Self =
        Self(Known::RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS as i32);
    pub(in crate::kafka) const INVALID_PARTITIONS: Self =
        Self(Known::RD_KAFKA_RESP_ERR_INVALID_PARTITIONS as i32);
    pub(in crate::kafka) const ALL_BROKERS_DOWN: Self =
        Self(Known::RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN as i32);
    pub(in crate::kafka) const STATE: Self = Self(Known::RD_KAFKA_RESP_ERR__STATE as i32);
    pub(in crate::kafka) const ASSIGN: Self = Self(Known::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS as i32);
    pub(in crate::kafka) const REVOKE: Self = Self(Known::RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS as i32);
    pub(in crate::kafka) const FATAL: Self = Self(Known::RD_KAFKA_RESP_ERR__FATAL as i32);
    pub(in crate::kafka) const INVALID_ARGUMENT: Self = Self(Known::RD_KAFKA_RESP_ERR__INVALID_ARG as i32);

    /// The number: negative for librdkafka's own, positive for a broker's.
    #[must_use]
    pub const fn number(self) -> i32 {
        self.0
    }

    /// Whether it stands for success.
    #[must_use]
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// The symbolic name, as in `UNKNOWN_TOPIC_OR_PART`.
    #[must_use]
    pub fn name(self) -> String {
        raw::errors::name(self)
    }

    /// librdkafka's sentence about it.
    #[must_use]
    pub fn text(self) -> String {
        raw::errors::text(self)
    }

    /// What to do about it.
    #[must_use]
    pub fn class(self) -> Class {
        classes::class_of(&self.name())
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}({})", self.name(), self.0)
    }
}

/// Where something happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The topic.
    pub topic: String,
    /// The partition, where one is concerned.
    pub partition: Option<i32>,
    /// The offset, where one is known.
    pub offset: Option<i64>,
}

/// An error that librdkafka or a broker reported.
#[derive(Clone, Debug)]
pub struct Fault {
    /// What was being done, as in "commit offsets".
    pub doing: &'static str,
    /// The code.
    pub code: Code,
    /// librdkafka's text.
    pub text: String,
    /// The client can do nothing any more.
    pub fatal: bool,
    /// librdkafka says that the same call may succeed later.
    pub retriable: bool,
    /// The current transaction can only be aborted.
    pub requires_abort: bool,
    /// Topic, partition and offset.
    pub place: Option<Box<Place>>,
}

impl Fault {
    pub(in crate::kafka) fn new(doing: &'static str, code: Code) -> Self {
        Self {
            doing,
            code,
            text: code.text(),
            fatal: false,
            retriable: code.class().is_passing(),
            requires_abort: false,
            place: None,
        }
    }

    pub(in crate::kafka) fn at(mut self, topic: &str, partition: Option<i32>, offset: Option<i64>) -> Self {
        self.place = Some(Box::new(Place { topic: topic.to_owned(), partition, offset }));
        self
    }

    /// The client is closed.
    #[must_use]
    pub fn closed() -> Self {
        Self::new("produce", Code::STATE)
    }

    /// Whether another producer has our name, or the brokers took it away since a transaction was open for too long.
    #[must_use]
    pub fn is_fenced(&self) -> bool {
        self.fatal && [Code::FENCED, Code::PRODUCER_FENCED, Code::INVALID_PRODUCER_EPOCH].contains(&self.code)
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_retriable(&self) -> bool {
        self.class().is_passing()
    }

    /// What to do about it: a fatal one always asks for a new client, unless its code asks to stop.
    #[must_use]
    pub fn class(&self) -> Class {
        match self.code.class() {
            Class::Stop => Class::Stop,
            _ if self.fatal => Class::Rebuild,
            class if class.is_passing() => class,
            _ if self.retriable => Class::Retry,
            class => class,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "could not {}", self.doing)?;
        if let Some(place) = &self.place {
            write!(out, " at {}", place.topic)?;
            if let Some(partition) = place.partition {
                write!(out, "/{partition}")?;
            }
            if let Some(offset) = place.offset {
                write!(out, "/{offset}")?;
            }
        }
        write!(out, ": {} ({}{})", self.text, self.code.name(), if self.fatal { ", fatal" } else { "" })
    }
}

impl std::error::Error for Fault {}

/// Everything that a call of this module can fail with.
#[derive(Debug, thiserror::Error)]
pub enum KafkaError {
    /// librdkafka refuses a setting.
    #[error("librdkafka setting `{key}` = `{value}`: {text}")]
    Setting {
        /// The key.
        key: String,
        /// The value, or `(hidden)`.
        value: String,
        /// librdkafka's text, or ours.
        text: String,
    },
    /// The client could not be made.
    #[error("could not make the Kafka {kind}: {text}")]
    Create {
        /// `consumer` or `producer`.
        kind: &'static str,
        /// librdkafka's text.
        text: String,
    },
    /// librdkafka or a broker reported an error.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// A partition has no committed offset, and the settings do not say where to start without one.
    #[error(
        "{topic}/{partition}: group `{group}` has no committed offset, and `stored` wants one; set `kafka.start` \
         (or `stop`, where it says `stored`) to `beginning` or `end`, or commit an offset for the group"
    )]
    NothingStored {
        /// The topic.
        topic: String,
        /// The partition.
        partition: i32,
        /// The consumer group.
        group: String,
    },
    /// A list of topics or partitions is empty where that makes no sense.
    #[error("could not {doing}: the list is empty")]
    EmptyList {
        /// What was being done.
        doing: &'static str,
    },
    /// A topic stands in two ranges.
    #[error("topic `{topic}` stands in two ranges; one range each")]
    TopicTwice {
        /// The topic.
        topic: String,
    },
    /// A topic is not there.
    #[error(
        "topic `{topic}` does not exist, or this user may not see it (right Describe); only journals are made by Tollgate"
    )]
    NoTopic {
        /// The topic.
        topic: String,
    },
    /// This process does not own the partition (any more).
    #[error("{topic}/{partition} is not assigned to this consumer")]
    NotAssigned {
        /// The topic.
        topic: String,
        /// The partition.
        partition: i32,
    },
    /// The client did not end in time, mostly because messages are still held.
    #[error("the Kafka {kind} did not close within {} ms; {held} messages are still held", waited.as_millis())]
    CloseTimeout {
        /// `consumer` or `producer`.
        kind: &'static str,
        /// Messages that nobody released.
        held: u64,
        /// How long it was waited.
        waited: Duration,
    },
    /// Part of a journal is gone, and with it part of the state.
    #[error(
        "state is lost: {topic}/{partition}: {text}; with `kafka.on_state_loss = \"continue\"` Tollgate goes on without it"
    )]
    StateLost {
        /// The journal's topic.
        topic: String,
        /// The partition.
        partition: i32,
        /// What is missing.
        text: String,
    },
    /// Another process has our name.
    #[error(
        "another process with the name `{name}` has taken over: each process needs a `kafka.instance` of its own ({text})"
    )]
    Fenced {
        /// Our name.
        name: String,
        /// librdkafka's text.
        text: String,
    },
    /// The client was closed before.
    #[error("the Kafka client is closed")]
    Closed,
    /// The consumer could not take over a partition and must be made anew.
    #[error("this consumer failed earlier and has to be made anew: {first}")]
    Failed {
        /// The error that made it so.
        first: String,
        /// What to do.
        class: Class,
    },
}

impl KafkaError {
    /// A record of ours that was not written for certain.
    #[must_use]
    pub fn undelivered(partition: i32, code: Code) -> Self {
        Fault {
            text: format!("{} (output partition {partition})", code.text()),
            ..Fault::new("deliver a record", code)
        }
        .into()
    }

    /// A partition was given away while its records were in a transaction.
    #[must_use]
    pub fn not_ours() -> Self {
        let text = "partitions of it were given away".to_owned();
        Fault { text, ..Fault::new("commit the transaction", Code::STATE) }.into()
    }

    /// The output topic refuses even what stands for a record that it refuses.
    #[must_use]
    pub fn stub_refused(partition: i32, offset: i64) -> Self {
        let text = "the rejected topic refuses even a stub of it; see its limits".to_owned();
        let code = Code::INVALID_ARGUMENT;
        Fault { text, ..Fault::new("reject a record", code) }
            .at("input", Some(partition), Some(offset))
            .into()
    }

    /// A journal does not take our records, and never will.
    #[must_use]
    pub fn journal_refused(topic: &str, partition: i32, code: Code) -> Self {
        let text = format!(
            "{} ({}); a journal needs `max.message.bytes` of 1000000 or more, and `cleanup.policy=delete`",
            code.text(),
            code.name()
        );
        let fault = Fault { text, ..Fault::new("write to the journal", Code::INVALID_ARGUMENT) };
        fault.at(topic, Some(partition), None).into()
    }

    /// The same error, as one after which the transaction can only be aborted, unless it says more than that.
    #[must_use]
    pub fn aborting(self) -> Self {
        match self {
            Self::Fault(fault) if fault.fatal || fault.class() == Class::Stop => Self::Fault(fault),
            Self::Fault(fault) => Self::Fault(Fault { requires_abort: true, ..fault }),
            Self::Closed => {
                let text = "the run is given up".to_owned();
                let fault = Fault { text, ..Fault::new("commit the transaction", Code::STATE) };
                Self::Fault(Fault { requires_abort: true, ..fault })
            }
            other => other,
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Fault(fault) => fault.class(),
            Self::Failed { class, .. } => *class,
            Self::NotAssigned { .. } => Class::Retry,
            Self::Closed => Class::Rebuild,
            _ => Class::Stop,
        }
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_retriable(&self) -> bool {
        self.class().is_passing()
    }
}
