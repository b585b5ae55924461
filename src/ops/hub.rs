//! Where everything comes together that the ops port shows: counts, latency, partitions, rejects, rules.
//!
//! The run calls [`Hub::interval`] once a second; handlers read at any time. What is asked for rarely is computed when it
//! is asked for; nothing here runs on the way of a record.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use crossbeam::channel::Receiver;
use tokio::sync::{broadcast, watch};

use super::latency::Latency;
use super::places::Places;
use super::rejects::RejectGroups;
use super::reload::Reloader;
use super::shadow::ShadowGroups;
use super::view;
use crate::histograms::{Histograms, Stage};
use crate::pipeline::sample::Sample;
use crate::pipeline::shadow::ShadowChanges;
use crate::pipeline::stop::Stop;
use crate::pipeline::{Editions, Meters};
use crate::status::Status;

/// LIMIT: seconds of history that a page gets when it opens.
const HISTORY_S: usize = 900;
/// LIMIT: verdicts that wait for one who taps; whoever is slower misses some.
const TAP_WAITING_MAX: usize = 1024;
/// How often the brokers are asked for the ends of partitions, of how many at most, and how long each may take.
const ENDS_EVERY: Duration = Duration::from_secs(10);
const ENDS_MAX: usize = 64;
const ENDS_WAIT: Duration = Duration::from_millis(500);

/// A second of the run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Point {
    /// Its end, in milliseconds since 1970.
    pub at_ms: i64,
    /// Accepted records per second.
    pub accepted: f64,
    /// Rejected records per second.
    pub rejected: f64,
    /// Payload bytes per second.
    pub bytes: f64,
    /// Share of the time that the gate worked.
    pub gate_busy: f64,
    /// End-to-end percentiles in nanoseconds: p50, p90, p99, p99.9, max.
    pub latency: Option<[u64; 5]>,
}

/// What the hub is made of.
pub struct Parts {
    /// Counts and levels of the run.
    pub meters: Arc<Meters>,
    /// Kafka's side; `None` with files.
    pub status: Option<Arc<Status>>,
    /// Names of partitions.
    pub places: Places,
    /// The rules.
    pub editions: Arc<Editions>,
    /// Reads the configuration again.
    pub reloader: Arc<Reloader>,
    /// Tells whether the run is stopping.
    pub stop: Arc<Stop>,
    /// How many verdicts a second the gate copies for those who tap.
    pub tapped_per_s: Arc<AtomicU32>,
    /// Counts log lines that were kept back.
    pub log_suppressed: &'static AtomicU64,
}

/// The meeting point.
pub struct Hub {
    /// What it was made of.
    pub parts: Parts,
    /// When the process started.
    pub started: SystemTime,
    latency: Mutex<Latency>,
    history: Mutex<VecDeque<Point>>,
    last: Mutex<Last>,
    rejects: Mutex<RejectGroups>,
    /// What candidate rules would change.
    pub shadow: ShadowGroups,
    /// The newest second as JSON.
    ticks: watch::Sender<Arc<str>>,
    /// Verdicts for those who tap.
    taps: broadcast::Sender<Arc<str>>,
    running: AtomicBool,
}

/// Counts at the end of the last second.
struct Last {
    at: Instant,
    records: u64,
    rejected: u64,
    bytes: u64,
    busy_ns: u64,
}

impl Hub {
    /// A hub that was not told anything yet.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        let groups_max = parts.reloader.config().ops.reject_groups_max as usize;
        Self {
            parts,
            started: SystemTime::now(),
            latency: Mutex::default(),
            history: Mutex::default(),
            last: Mutex::new(Last { at: Instant::now(), records: 0, rejected: 0, bytes: 0, busy_ns: 0 }),
            rejects: Mutex::new(RejectGroups::new(groups_max)),
            shadow: ShadowGroups::default(),
            ticks: watch::Sender::new(Arc::from("")),
            taps: broadcast::Sender::new(TAP_WAITING_MAX),
            running: AtomicBool::new(true),
        }
    }

    /// A second is over.
    pub fn interval(&self, interval: &Histograms) {
        lock(&self.latency).add(interval);
        let point = self.point();
        {
            let mut history = lock(&self.history);
            if history.len() == HISTORY_S {
                history.pop_front();
            }
            history.push_back(point);
        }
        if self.ticks.receiver_count() > 0 {
            self.ticks.send_replace(Arc::from(view::now(self).to_string()));
        }
    }

    fn point(&self) -> Point {
        let meters = &self.parts.meters;
        let load = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
        let mut last = lock(&self.last);
        let seconds = last.at.elapsed().as_secs_f64().max(1e-3);
        let now = Last {
            at: Instant::now(),
            records: load(&meters.records),
            rejected: load(&meters.rejected),
            bytes: load(&meters.bytes),
            busy_ns: load(&meters.gate_busy_ns),
        };
        let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
        let rejected = rate(now.rejected, last.rejected);
        let point = Point {
            at_ms: crate::clock::wall().micros() / 1000,
            accepted: (rate(now.records, last.records) - rejected).max(0.0),
            rejected,
            bytes: rate(now.bytes, last.bytes),
            gate_busy: (rate(now.busy_ns, last.busy_ns) / 1e9).min(1.0),
            latency: lock(&self.latency).last(Stage::EndToEnd),
        };
        *last = now;
        point
    }

    /// The run has ended.
    pub fn end(&self) {
        self.running.store(false, Ordering::Release);
        if let Some(shadow) = &self.parts.meters.shadow {
            // Wakes whoever gathers; one who is busy looks by itself.
            let _ = shadow.try_send(None);
        }
    }

    /// Whether the run goes on.
    pub(super) fn is_running(&self) -> bool {
        self.running.load(Ordering::Acquire)
    }

    /// Whether traffic passes: not stopping, and Kafka has assigned partitions that are all restored.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.is_running()
            && !self.parts.stop.is_asked()
            && self.parts.status.as_ref().is_none_or(|status| status.is_ready())
    }

    /// In one word, for people.
    #[must_use]
    pub fn state(&self) -> &'static str {
        match &self.parts.status {
            _ if self.parts.stop.is_asked() || !self.is_running() => "stopping",
            Some(status) if !status.is_ready() => "waiting",
            _ => "running",
        }
    }

    /// Latency since the start.
    pub fn latency(&self) -> Latency {
        lock(&self.latency).clone()
    }

    /// The last seconds, oldest first.
    pub fn history(&self) -> Vec<Point> {
        lock(&self.history).iter().copied().collect()
    }

    /// The groups of rejects.
    pub fn rejects(&self) -> MutexGuard<'_, RejectGroups> {
        lock(&self.rejects)
    }

    /// Seconds as they end.
    pub fn ticks(&self) -> watch::Receiver<Arc<str>> {
        self.ticks.subscribe()
    }

    /// Verdicts as they fall; `per_s` are wanted.
    pub fn tap(&self, per_s: u32) -> broadcast::Receiver<Arc<str>> {
        let receiver = self.taps.subscribe();
        self.parts.tapped_per_s.fetch_max(per_s, Ordering::Relaxed);
        receiver
    }

    /// Takes samples until the run has ended: groups rejects, and passes verdicts on to those who tap.
    pub fn gather(&self, samples: &Receiver<Sample>) {
        for sample in samples {
            if self.taps.receiver_count() > 0 {
                let _ = self.taps.send(Arc::from(view::verdict(&sample, &self.parts.places).to_string()));
            } else {
                self.parts.tapped_per_s.store(0, Ordering::Relaxed);
            }
            self.rejects().add(&sample, &self.parts.places);
        }
    }

    /// Gathers what candidate rules would change until the run has ended.
    pub fn gather_shadow(&self, changes: &Receiver<Option<ShadowChanges>>) -> std::io::Result<()> {
        self.shadow.gather(changes, &self.parts.places, &self.parts.editions, || self.is_running())
    }

    /// Asks the brokers from time to time where partitions end, until the run has ended: while reading is stuck, no
    /// fetch tells.
    pub fn ask_ends(&self) {
        let Some(status) = &self.parts.status else { return };
        let mut ask_at = Instant::now() + ENDS_EVERY;
        while self.is_running() {
            std::thread::sleep(Duration::from_millis(100));
            if Instant::now() >= ask_at {
                status.ask_ends(ENDS_MAX, ENDS_WAIT);
                ask_at = Instant::now() + ENDS_EVERY;
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
