//! A stopwatch that the recipe carries along: real on sampled records, nothing on the others.

use std::time::Instant;

use crate::histograms::{Recorder, Stage};

/// Told when a stage has ended.
pub trait Watch {
    /// The stage that began at the last lap has ended.
    fn lap(&mut self, stage: Stage);
}

/// Measures nothing and costs nothing.
pub struct NoWatch;

impl Watch for NoWatch {
    fn lap(&mut self, _: Stage) {}
}

/// Records each lap in the thread's histograms.
pub struct StageWatch<'r> {
    recorder: &'r mut Recorder,
    since: Instant,
    weight: u64,
}

impl<'r> StageWatch<'r> {
    /// Starts now; each lap counts for `weight` records.
    #[must_use]
    pub fn start(recorder: &'r mut Recorder, weight: u64) -> Self {
        Self { recorder, since: Instant::now(), weight }
    }
}

impl Watch for StageWatch<'_> {
    fn lap(&mut self, stage: Stage) {
        let now = Instant::now();
        self.recorder.record(stage, now - self.since, self.weight);
        self.since = now;
    }
}
