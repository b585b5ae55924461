//! alfred: A2A envelopes of the Alfred agent platform, protocol 2.
//!
//! The rules in their order: the spelling of version and ids, the major version, the time window, the reply target, the
//! registry, the intent, what the type demands; then the token with its subject, rights and tenant; then the signature.

mod consistency;
mod grammar;
mod message;
mod registry;
mod rights;
