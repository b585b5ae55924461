//! Tollgate.
pub mod clock;
pub mod program;
pub mod tape;
pub mod verdict;
