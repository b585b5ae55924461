//! Tollgate.
pub mod clock;
pub mod kafka;
pub mod tape;
pub mod verdict;
