//! The verbs of the command line, one file each, and what they share: exit codes, output, signals, logs.

mod audit;
mod audit_out;
mod audit_progress;
mod audit_verify;
mod bench;
mod case;
mod check;
mod config;
mod coverage;
mod demo;
mod envelopes;
mod generate;
mod log;
mod memory;
mod operate;
mod probe;
mod report;
mod run;
mod schema;
mod sign;
mod signals;
mod splice;
mod tap;
mod test;
mod top;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;

use crate::cli::{Cli, Command, OpsPort};
use crate::config::{Config, Secret};
use crate::judge::Rules;
use crate::ops::client::Client;

/// How a verb ended, other than by an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// Exit 0.
    Well,
    /// Exit 1: something was found that the user asked to be told of.
    Findings,
}

/// An error with its exit code.
struct Failure {
    code: u8,
    error: anyhow::Error,
}

/// Wrong usage or configuration.
const EXIT_USAGE: u8 = 2;
/// Something failed at run time.
const EXIT_RUN_TIME: u8 = 3;

/// Errors at run time are the rule; wrong configuration is marked where it is read.
impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self { code: EXIT_RUN_TIME, error: error.into() }
    }
}

/// Marks an error as wrong usage or configuration.
fn usage(error: impl Into<anyhow::Error>) -> Failure {
    Failure { code: EXIT_USAGE, error: error.into() }
}

/// Runs the verb and says how it ended.
#[must_use]
pub fn run(cli: Cli) -> ExitCode {
    let ended = log::start(&cli).and_then(|()| match cli.command {
        Command::Demo(args) => demo::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Audit(args) => audit::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Test(args) => test::run(&args),
        Command::Sign(args) => sign::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Generate(args) => generate::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Top(args) => top::run(&args),
        Command::Tap(args) => tap::run(&args),
        Command::Config(args) => config::run(&args),
    });
    match ended {
        Ok(Ended::Well) => ExitCode::SUCCESS,
        Ok(Ended::Findings) => ExitCode::from(1),
        Err(failure) if is_closed_pipe(&failure.error) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = writeln!(io::stderr(), "tollgate: {:#}", failure.error);
            ExitCode::from(failure.code)
        }
    }
}

/// `bench core` for a build that can measure more than the command.
#[must_use]
pub fn bench_core(args: &crate::cli::BenchCore, extras: &mut crate::bench::Extras<'_>) -> ExitCode {
    match bench::core::run(args, extras) {
        Ok(_) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = writeln!(io::stderr(), "tollgate: {:#}", failure.error);
            ExitCode::from(failure.code)
        }
    }
}

/// Whoever read our output has had enough: a clean end.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let by_io =
            cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
        by_io
            || cause
                .downcast_ref::<crate::files::FileError>()
                .is_some_and(crate::files::FileError::is_closed_pipe)
    })
}

/// The configuration that a verb runs with: the file's, or the defaults.
fn load_config(path: Option<&Path>) -> Result<Config, Failure> {
    path.map_or_else(|| Ok(Config::default()), |path| Config::load(path).map_err(usage))
}

/// The rules of a configuration; `file` is where their keys stand.
fn compile_rules(config: &Config, file: Option<&Path>) -> Result<Rules, Failure> {
    Rules::compile(config).map_err(|error| {
        let error = anyhow::Error::from(error);
        usage(match file {
            Some(file) => error.context(file.display().to_string()),
            None => error,
        })
    })
}

/// Control characters and text that would run backwards must not reach a terminal.
fn visible(text: &str) -> String {
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if hidden(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() }).collect()
}

/// The ops port that a verb asks.
fn ops_client(port: &OpsPort) -> Result<Client, Failure> {
    let token = match &port.token_file {
        Some(file) => {
            let text = std::fs::read_to_string(file)
                .with_context(|| format!("--token-file {}", file.display()))
                .map_err(usage)?;
            Some(Secret::new(text.trim_end_matches(['\r', '\n']).to_owned()))
        }
        None => std::env::var("TOLLGATE_OPS_TOKEN").ok().map(Secret::new),
    };
    Ok(Client::new(&port.address, token))
}
