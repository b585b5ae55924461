//! The `tollgate` command: arguments in, exit code out. Everything else is in the library.

use std::process::ExitCode;

use clap::Parser as _;
use tollgate::cli::Cli;
use tollgate::commands;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // clap ends the process itself on `--help`, `--version` and wrong usage (exit 2).
    commands::run(Cli::parse())
}
