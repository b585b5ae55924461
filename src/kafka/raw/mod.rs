//! The thin layer over librdkafka's C interface: the only `unsafe` code of the crate.
//!
//! It owns handles, lists, messages and callbacks, and makes them safe to use; it takes no decisions. Three rules hold
//! throughout, and the safety notes rest on them:
//! - A C pointer has one Rust owner, whose `Drop` gives it back. Nothing borrowed from C outlives a function.
//! - Callbacks that carry decisions (rebalance, delivery, commit) reach Rust state only through a pointer that the
//!   calling function put up for the length of its call, on its own thread (`scope.rs`).
//! - A broker's error code is an integer, never the generated enum (`sys.rs`).

#![expect(unsafe_code, reason = "the boundary to librdkafka; every block argues its safety")]

pub(in crate::kafka) mod answers;
pub(in crate::kafka) mod changes;
pub(in crate::kafka) mod cluster;
pub(in crate::kafka) mod conf;
pub(in crate::kafka) mod consumer;
pub(in crate::kafka) mod context;
pub(in crate::kafka) mod errors;
pub(in crate::kafka) mod handle;
pub(in crate::kafka) mod in_flight;
pub(in crate::kafka) mod message;
pub(in crate::kafka) mod partitions;
pub(in crate::kafka) mod producer;
pub(in crate::kafka) mod questions;
pub(in crate::kafka) mod rebalance;
pub(in crate::kafka) mod requests;
pub(in crate::kafka) mod scope;
pub(in crate::kafka) mod sys;
pub(in crate::kafka) mod transactions;
