//! SIGINT and SIGTERM: an orderly stop at the first, an end at once at the second.
//!
//! A verb that stops in good order catches them before it does anything else, so that a stop that is asked for while the
//! configuration is still being read ends as well as any other. Verbs that have nothing to put in order don't, and the
//! system's own way holds. Nothing here decides what is given up: that is the pipeline's part.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::{EXIT_RUN_TIME, Failure};
use crate::config::Config;
use crate::pipeline::stop::Stop;

/// How long after the deadline of an orderly stop threads may take to end, before the process ends without them.
const STOP_GRACE: Duration = Duration::from_secs(5);
/// How often it is looked whether that time is over.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Signals that are caught, from now on until the process ends.
pub(super) struct Signals {
    stop: Arc<Stop>,
    deadline_ms: Arc<AtomicU32>,
}

impl Signals {
    /// Catches them.
    pub(super) fn catch() -> Result<Self, Failure> {
        let deadline_ms = Config::default().pipeline.stop_deadline_ms;
        let caught = Self { stop: Arc::default(), deadline_ms: Arc::new(AtomicU32::new(deadline_ms)) };
        let mut signals =
            signal_hook::iterator::Signals::new([signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM])?;
        let (asked, deadline_ms) = (Arc::clone(&caught.stop), Arc::clone(&caught.deadline_ms));
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            for _ in signals.forever() {
                if asked.is_asked() {
                    exit_now("second signal");
                }
                tracing::info!("stopping: finishing what is in flight; a second signal exits at once");
                asked.ask();
                let (asked, deadline_ms) = (Arc::clone(&asked), Arc::clone(&deadline_ms));
                let _ = std::thread::Builder::new()
                    .name("deadline".into())
                    .spawn(move || exit_after(&asked, &deadline_ms));
            }
        })?;
        Ok(caught)
    }

    /// What asks the run to stop; once asked, it has so long.
    pub(super) fn stop_within(&self, deadline_ms: u32) -> Arc<Stop> {
        self.deadline_ms.store(deadline_ms, Ordering::Relaxed);
        Arc::clone(&self.stop)
    }
}

/// Ends the process where a thread cannot be stopped because it waits for the system, as when nobody reads our output.
fn exit_after(asked: &Stop, deadline_ms: &AtomicU32) {
    let is_over = || {
        let deadline = Duration::from_millis(u64::from(deadline_ms.load(Ordering::Relaxed)));
        asked.asked_at().is_some_and(|at| at.elapsed() > deadline + STOP_GRACE)
    };
    while !is_over() {
        std::thread::sleep(LOOK_EVERY);
    }
    exit_now("the stop takes longer than its deadline");
}

fn exit_now(why: &str) -> ! {
    tracing::warn!("{why}: exiting at once; what was not committed will be read again");
    #[expect(clippy::exit, reason = "nothing may hold the process up any more")]
    std::process::exit(i32::from(EXIT_RUN_TIME));
}
