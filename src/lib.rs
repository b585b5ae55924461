//! Tollgate.
pub mod clock;
pub mod commands;
pub mod program;
pub mod tape;
pub mod verdict;
