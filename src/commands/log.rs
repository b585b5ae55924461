//! Logs: text or JSON on standard error, with a rate limit per place in the code.
//!
//! Something that goes wrong with every batch would otherwise fill a disk with one sentence. What is kept back is
//! counted, and told with the next line that passes. Logs must not hold payloads or secrets: none is ever given to them.

use std::collections::HashMap;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tracing::callsite::Identifier;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Filter, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, fmt};

use super::{Failure, usage};
use crate::cli::Cli;

/// LIMIT: lines of one place in the code within the period.
const LINES_MAX: u32 = 20;
const PERIOD: Duration = Duration::from_secs(10);

/// Lines that were kept back, of all places.
pub(super) static SUPPRESSED: AtomicU64 = AtomicU64::new(0);

/// Starts logging as the command line says.
pub(super) fn start(cli: &Cli) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(&cli.log)
        .with_context(|| {
            format!("--log: found `{}`, allowed: error, warn, info, debug, trace or a filter", cli.log)
        })
        .map_err(usage)?;
    let colours = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let layer = fmt::layer().with_writer(io::stderr).with_ansi(colours);
    let registry = tracing_subscriber::registry().with(filter);
    if cli.log_json {
        registry.with(layer.json().with_filter(RateLimit { json: true, ..RateLimit::default() })).init();
    } else {
        registry.with(layer.with_target(false).with_filter(RateLimit::default())).init();
    }
    Ok(())
}

/// Lets so many lines of each place pass.
#[derive(Default)]
struct RateLimit {
    /// Whether lines are JSON.
    json: bool,
    places: Mutex<HashMap<Identifier, Window>>,
}

#[derive(Clone, Copy)]
struct Window {
    since: Instant,
    lines: u32,
    kept_back: u64,
}

impl RateLimit {
    /// Whether a line of this place may pass now, and how many were kept back before it.
    fn admit(&self, place: Identifier, now: Instant) -> (bool, u64) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let window = places.entry(place).or_insert(Window { since: now, lines: 0, kept_back: 0 });
        let mut told = 0;
        if now.duration_since(window.since) >= PERIOD {
            told = window.kept_back;
            *window = Window { since: now, lines: 0, kept_back: 0 };
        }
        window.lines += 1;
        let passes = window.lines <= LINES_MAX;
        window.kept_back += u64::from(!passes);
        (passes, told)
    }
}

impl<S: Subscriber> Filter<S> for RateLimit {
    fn enabled(&self, _: &tracing::Metadata<'_>, _: &Context<'_, S>) -> bool {
        true
    }

    fn event_enabled(&self, event: &Event<'_>, _: &Context<'_, S>) -> bool {
        // Who asks for these wants them all.
        if *event.metadata().level() > Level::INFO {
            return true;
        }
        let (passes, told) = self.admit(event.metadata().callsite(), Instant::now());
        if !passes {
            SUPPRESSED.fetch_add(1, Ordering::Relaxed);
        }
        if told > 0 {
            let target = event.metadata().target();
            let line = if self.json {
                serde_json::json!({ "level": "WARN", "target": target, "suppressed": told }).to_string()
            } else {
                format!("{told} lines of the same place as the next one were kept back")
            };
            let _ = writeln!(io::stderr(), "{line}");
        }
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_repeats_itself_is_kept_back_and_told() {
        let limit = RateLimit::default();
        let place = || tracing::callsite::Identifier(&CALLSITE);
        let start = Instant::now();
        let passed = (0..100).filter(|_| limit.admit(place(), start).0).count();
        assert_eq!(passed, LINES_MAX as usize);
        assert_eq!(limit.admit(place(), start + PERIOD), (true, 80));
        assert_eq!(limit.admit(place(), start + PERIOD), (true, 0));
    }

    struct TestSite;
    static CALLSITE: TestSite = TestSite;
    impl tracing::Callsite for TestSite {
        fn set_interest(&self, _: tracing::subscriber::Interest) {}
        fn metadata(&self) -> &tracing::Metadata<'_> {
            unreachable!("nobody asks")
        }
    }
}
