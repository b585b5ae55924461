//! Something that is done every so often beside the run, on a thread of its own.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The thread; it ends when this is stopped.
pub(super) struct Rounds {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl Rounds {
    /// Starts the thread; the first round comes after the first wait.
    pub(super) fn start(
        name: &str,
        every: Duration,
        mut round: impl FnMut() + Send + 'static,
    ) -> Option<Self> {
        let (stop, stopped) = channel();
        let rounds = move || {
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                round();
            }
        };
        match std::thread::Builder::new().name(name.into()).spawn(rounds) {
            Ok(thread) => Some(Self { stop, thread }),
            Err(error) => {
                tracing::warn!("the system refuses a thread, so nobody looks after the {name}: {error}");
                None
            }
        }
    }

    /// Asks the thread to end; it may be busy for a while yet.
    pub(super) fn stop(self) -> JoinHandle<()> {
        drop(self.stop);
        self.thread
    }
}
