//! The run's threads: named, guarded against panics, and watched while they work.

use std::thread;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, RecvTimeoutError};

use crate::config;

use super::PipelineError;
use super::budget::Budget;
use super::stop::Stop;

/// How often the run looks at its deadline.
const WATCH_INTERVAL: Duration = Duration::from_millis(20);
/// How often histograms are gathered.
const HISTOGRAM_INTERVAL: Duration = Duration::from_secs(1);

/// Waits until the writer drops its side of `ended`, giving up what is in flight when a stop takes longer than its
/// deadline; says how many records these were.
pub(super) fn watch(
    pipeline: &config::Pipeline,
    stop: &Stop,
    budget: &Budget,
    ended: &Receiver<()>,
    mut each_interval: impl FnMut(),
) -> u64 {
    let mut given_up = 0;
    let deadline = Duration::from_millis(u64::from(pipeline.stop_deadline_ms));
    let mut interval_at = Instant::now() + HISTOGRAM_INTERVAL;
    while ended.recv_timeout(WATCH_INTERVAL) != Err(RecvTimeoutError::Disconnected) {
        if !stop.is_abandoned() && stop.asked_at().is_some_and(|asked| asked.elapsed() > deadline) {
            given_up = budget.used().0;
            stop.abandon();
        }
        if Instant::now() >= interval_at {
            interval_at += HISTOGRAM_INTERVAL;
            each_interval();
        }
    }
    given_up
}

pub(super) type Handle<'scope, T> = thread::ScopedJoinHandle<'scope, Result<T, PipelineError>>;

/// Starts a named thread that stops the run when it fails or panics.
pub(super) fn stage<'scope, T: Send + 'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    stop: &'scope Stop,
    name: &str,
    body: impl FnOnce() -> Result<T, PipelineError> + Send + 'scope,
) -> Handle<'scope, T> {
    let thread_name = name.to_owned();
    let guarded = move || {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
        let outcome = outcome
            .map_err(|panic| PipelineError::Panicked { thread: thread_name, message: text_of(&*panic) });
        let outcome = outcome.flatten();
        if outcome.is_err() {
            stop.abandon();
        }
        outcome
    };
    match thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, guarded) {
        Ok(handle) => handle,
        Err(error) => unreachable!("the system refuses a thread: {error}"),
    }
}

pub(super) fn join<T>(handle: Handle<'_, T>) -> Result<T, PipelineError> {
    handle.join().unwrap_or_else(|panic| {
        Err(PipelineError::Panicked { thread: "stage".into(), message: text_of(&*panic) })
    })
}

fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into())
}
