//! `/metrics`: the table of metrics with the values of this moment, as `OpenMetrics` or as the older Prometheus text.
//!
//! Values are gathered when somebody scrapes. The match below names every metric of the table, so one that is not
//! fed does not compile; a metric without a value now (no partition is assigned) has no series.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::UNIX_EPOCH;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::{Registry, Unit as ClientUnit};

use super::hub::Hub;
use super::latency::{BOUNDS, Buckets, Latency};
use super::process;
use crate::formats::Compiled;
use crate::histograms::Stage;
use crate::metrics::{Id, Kind, METRICS, Metric, Unit};
use crate::status::{PartitionStatus, Rebalance};
use crate::verdict::Reason;

/// The values of a series' labels, in the order of the table.
type Labels = Vec<String>;

/// What a series says.
#[derive(Clone, Debug)]
enum Value {
    Whole(u64),
    Real(f64),
    Histogram(Buckets),
}

/// All series of this moment.
#[derive(Debug)]
struct Scrape(Vec<(&'static Metric, Vec<(Labels, Value)>)>);

/// As `OpenMetrics`.
#[must_use]
pub(super) fn openmetrics(hub: &Hub) -> String {
    let moment = Moment::of(hub);
    let scrape = METRICS.iter().map(|metric| (metric, moment.series(metric.id))).collect();
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Scrape(scrape)));
    let mut out = String::new();
    // Writing to memory cannot fail.
    let _ = text::encode(&mut out, &registry);
    out
}

/// As Prometheus text, which names counters and infos whole and knows no units.
#[must_use]
pub(super) fn prometheus_text(hub: &Hub) -> String {
    let mut out = String::new();
    for line in openmetrics(hub).lines() {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some(what @ ("HELP" | "TYPE")), Some(base), Some(rest)) => {
                let metric = METRICS.iter().find(|metric| base_of(metric) == base);
                let name = metric.map_or(base, |metric| metric.name);
                let rest = if what == "TYPE" && rest == "info" { "gauge" } else { rest };
                out.push_str(&format!("# {what} {name} {rest}\n"));
            }
            (Some("#"), ..) => {}
            _ => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    out
}

/// The name as `OpenMetrics` writes it in descriptions.
fn base_of(metric: &Metric) -> String {
    match metric.unit {
        Unit::Count => metric.stem().to_owned(),
        Unit::Seconds => format!("{}_seconds", metric.stem()),
        Unit::Bytes => format!("{}_bytes", metric.stem()),
    }
}

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        for (metric, series) in &self.0 {
            let unit = match metric.unit {
                Unit::Count => None,
                Unit::Seconds => Some(ClientUnit::Seconds),
                Unit::Bytes => Some(ClientUnit::Bytes),
            };
            let kind = match metric.kind {
                Kind::Counter => MetricType::Counter,
                Kind::Gauge => MetricType::Gauge,
                Kind::Histogram => MetricType::Histogram,
                Kind::Info => MetricType::Info,
            };
            let mut family = encoder.encode_descriptor(metric.stem(), metric.help, unit.as_ref(), kind)?;
            for (labels, value) in series {
                let pairs: Vec<(&str, &str)> =
                    metric.labels.iter().copied().zip(labels.iter().map(String::as_str)).collect();
                if metric.kind == Kind::Info {
                    family.encode_info(&pairs)?;
                } else if pairs.is_empty() {
                    encode(&mut family, metric.kind, value)?;
                } else {
                    encode(&mut family.encode_family(&pairs)?, metric.kind, value)?;
                }
            }
        }
        Ok(())
    }
}

fn encode(encoder: &mut MetricEncoder<'_>, kind: Kind, value: &Value) -> Result<(), std::fmt::Error> {
    let none: Option<&Exemplar<NoLabelSet, f64>> = None;
    match (kind, value) {
        (Kind::Counter, Value::Whole(value)) => encoder.encode_counter(value, none),
        (Kind::Counter, Value::Real(value)) => encoder.encode_counter(value, none),
        (_, Value::Whole(value)) => encoder.encode_gauge(value),
        (_, Value::Real(value)) => encoder.encode_gauge(value),
        (_, Value::Histogram(Buckets { counts, count, sum })) => {
            let bounds = BOUNDS.iter().copied().chain([f64::MAX]);
            let buckets: Vec<_> = bounds.zip(counts.iter().copied()).collect();
            encoder.encode_histogram::<NoLabelSet>(*sum, *count, &buckets, None)
        }
    }
}

/// What several metrics are taken from, read once per scrape.
struct Moment<'a> {
    hub: &'a Hub,
    latency: Latency,
    partitions: Vec<(String, i32, PartitionStatus)>,
    now_ms: i64,
}

impl<'a> Moment<'a> {
    fn of(hub: &'a Hub) -> Self {
        let partitions = hub.parts.status.as_ref().map_or_else(Vec::new, |status| status.partitions());
        Self { hub, latency: hub.latency(), partitions, now_ms: crate::clock::wall().micros() / 1000 }
    }

    fn series(&self, id: Id) -> Vec<(Labels, Value)> {
        let parts = &self.hub.parts;
        let (meters, state) = (&parts.meters, &parts.meters.state);
        match id {
            Id::Envelopes | Id::Rejects => self.verdicts(id),
            Id::PayloadBytes => one(&meters.bytes),
            Id::Unchecked => one(&meters.unchecked),
            Id::Warned => one(&meters.warned),
            Id::Ignored => one(&state.ignored),
            Id::EndToEndSeconds | Id::StageSeconds => self.stages(id),
            Id::GateBusySeconds => {
                single(Value::Real(meters.gate_busy_ns.load(Ordering::Relaxed) as f64 / 1e9))
            }
            Id::InflightRecords => one(&meters.inflight_records),
            Id::InflightBytes => one(&meters.inflight_bytes),
            Id::InflightRecordsMax => {
                single(Value::Whole(u64::from(parts.reloader.config().pipeline.inflight_records_max)))
            }
            Id::PartitionLagRecords
            | Id::PartitionLagSeconds
            | Id::PartitionCommitted
            | Id::PartitionReady
            | Id::Rebalances
            | Id::Transactions
            | Id::CommitFailures
            | Id::ProducerRebuilds
            | Id::ConsumerRebuilds
            | Id::PartitionsStuck
            | Id::JournalRestored
            | Id::JournalRestoreSeconds => self.kafka(id),
            Id::WindowIds => one(&state.window_ids),
            Id::WindowBytes => one(&state.window_bytes),
            Id::WindowBytesMax => single(Value::Whole(parts.reloader.config().window.memory_bytes_max)),
            Id::WindowEvicted => one(&state.ids_evicted),
            Id::WindowCapped => one(&state.capped),
            Id::LedgerEntries => one(&state.ledger_entries),
            Id::LedgerEvicted => one(&state.entries_evicted),
            Id::RulesInfo => vec![(vec![parts.editions.current().hash().to_owned()], Value::Whole(1))],
            Id::Reloads => labelled(parts.reloader.counts()),
            Id::RulesChanged => single(Value::Real(parts.reloader.changed_ms() as f64 / 1e3)),
            Id::ShadowRecords => one(&meters.shadow_records),
            Id::ShadowChanges => {
                let pairs = self.hub.shadow.pairs().into_iter();
                pairs
                    .map(|(live, new, count)| (vec![live.to_owned(), new.to_owned()], Value::Whole(count)))
                    .collect()
            }
            Id::BuildInfo => vec![(vec![env!("CARGO_PKG_VERSION").to_owned()], Value::Whole(1))],
            Id::Ready => single(Value::Whole(u64::from(self.hub.is_ready()))),
            Id::StartTime => {
                let since = self.hub.started.duration_since(UNIX_EPOCH).unwrap_or_default();
                single(Value::Real(since.as_millis() as f64 / 1e3))
            }
            Id::CpuSeconds => process::cpu_seconds().map_or_else(Vec::new, |cpu| single(Value::Real(cpu))),
            Id::ResidentBytes => {
                process::resident_bytes().map_or_else(Vec::new, |bytes| single(Value::Whole(bytes)))
            }
            Id::LogSuppressed => one(parts.log_suppressed),
        }
    }

    /// By format and result, or by format and reason.
    fn verdicts(&self, id: Id) -> Vec<(Labels, Value)> {
        let rules = self.hub.parts.editions.current();
        let mut series: Vec<(Labels, u64)> = Vec::new();
        for (format, reason, count) in self.hub.parts.meters.verdicts() {
            let format = format.and_then(|format| rules.format(format)).map_or("none", Compiled::name);
            let second = match (id, reason) {
                (Id::Rejects, None) => continue,
                (Id::Rejects, Some(reason)) => Reason::code(reason),
                (_, None) => "accepted",
                (_, Some(_)) => "rejected",
            };
            let labels = vec![format.to_owned(), second.to_owned()];
            match series.iter_mut().find(|(known, _)| *known == labels) {
                Some((_, sum)) => *sum += count,
                None => series.push((labels, count)),
            }
        }
        series.into_iter().map(|(labels, count)| (labels, Value::Whole(count))).collect()
    }

    fn stages(&self, id: Id) -> Vec<(Labels, Value)> {
        let of = |stage: Stage| self.latency.stage(stage).cloned().unwrap_or_default();
        if id == Id::EndToEndSeconds {
            return single(Value::Histogram(of(Stage::EndToEnd)));
        }
        let stages = Stage::ALL.iter().filter(|stage| **stage != Stage::EndToEnd);
        stages.map(|stage| (vec![stage.label().to_owned()], Value::Histogram(of(*stage)))).collect()
    }

    /// What Kafka's side tells; nothing where files are read.
    fn kafka(&self, id: Id) -> Vec<(Labels, Value)> {
        let Some(status) = &self.hub.parts.status else { return Vec::new() };
        let load = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
        let value = |at: &PartitionStatus| match id {
            Id::PartitionLagRecords => at.lag_records().map(Value::Whole),
            Id::PartitionLagSeconds => at.lag_seconds(self.now_ms).map(Value::Real),
            Id::PartitionCommitted => u64::try_from(at.committed).ok().map(Value::Whole),
            _ => Some(Value::Whole(u64::from(at.state == crate::status::PartitionState::Reading))),
        };
        match id {
            Id::Rebalances => labelled(Rebalance::ALL.map(|(kind, name)| (name, status.rebalances(kind)))),
            Id::Transactions => labelled([
                ("committed", load(&status.transactions_committed)),
                ("aborted", load(&status.transactions_aborted)),
            ]),
            Id::CommitFailures => one(&status.commit_failures),
            Id::ProducerRebuilds => one(&status.rebuilds),
            Id::ConsumerRebuilds => one(&status.rejoins),
            Id::PartitionsStuck => one(&status.partitions_stuck),
            Id::JournalRestored => one(&status.journal_restored),
            Id::JournalRestoreSeconds => single(Value::Real(load(&status.journal_restore_ms) as f64 / 1e3)),
            _ => self
                .partitions
                .iter()
                .filter_map(|(topic, partition, at)| {
                    Some((vec![topic.clone(), partition.to_string()], value(at)?))
                })
                .collect(),
        }
    }
}

fn one(cell: &AtomicU64) -> Vec<(Labels, Value)> {
    single(Value::Whole(cell.load(Ordering::Relaxed)))
}

fn single(value: Value) -> Vec<(Labels, Value)> {
    vec![(Vec::new(), value)]
}

fn labelled<const N: usize>(values: [(&str, u64); N]) -> Vec<(Labels, Value)> {
    values.into_iter().map(|(label, value)| (vec![label.to_owned()], Value::Whole(value))).collect()
}
