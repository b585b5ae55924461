//! Tollgate.
pub mod clock;
pub mod tape;
pub mod verdict;
