//! Tollgate.
pub mod clock;
pub mod files;
pub mod tape;
pub mod verdict;
