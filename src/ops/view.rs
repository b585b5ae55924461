//! What the live page, `top` and `tap` get: plain JSON of one moment.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use super::hub::{Hub, Point};
use super::places::Places;
use crate::formats::Compiled;
use crate::histograms::Stage;
use crate::pipeline::sample::Sample;
use crate::verdict::Reason;

/// Everything at this moment.
#[must_use]
pub(super) fn now(hub: &Hub) -> Value {
    let parts = &hub.parts;
    let (meters, config, edition) = (&parts.meters, parts.reloader.config(), parts.editions.current());
    let load = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
    let (records, rejected) = (load(&meters.records), load(&meters.rejected));
    let latency = hub.latency();
    let stages: serde_json::Map<_, _> = Stage::ALL
        .iter()
        .filter_map(|stage| Some((stage.label().to_owned(), json!(latency.last(*stage)?))))
        .collect();
    let point = hub.history().last().copied().unwrap_or_default();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "state": hub.state(),
        "ready": hub.is_ready(),
        "uptime_s": hub.started.elapsed().unwrap_or_default().as_secs(),
        "rules": { "hash": edition.hash(), "edition": edition.number, "profile": config.rules.profile.name() },
        "point": point_of(&point),
        "total": {
            "records": records, "accepted": records.saturating_sub(rejected), "rejected": rejected,
            "bytes": load(&meters.bytes), "unchecked": load(&meters.unchecked),
        },
        "latency_ns": stages,
        "verdicts": verdicts(hub),
        "partitions": partitions(hub),
        "window": {
            "ids": load(&meters.state.window_ids), "bytes": load(&meters.state.window_bytes),
            "bytes_max": config.window.memory_bytes_max, "evicted": load(&meters.state.ids_evicted),
        },
        "ledger": { "entries": load(&meters.state.ledger_entries), "entries_max": config.ledger.entries_max },
        "inflight": {
            "records": load(&meters.inflight_records), "records_max": config.pipeline.inflight_records_max,
            "bytes": load(&meters.inflight_bytes),
        },
        "shadow": edition.candidate.as_ref().map(|candidate| json!({
            "hash": candidate.rules.hash(), "records": load(&meters.shadow_records),
            "changes": hub.shadow.pairs().iter().map(|(_, _, count)| count).sum::<u64>(),
        })),
    })
}

/// The last minutes: one list per second, with the meaning of its places.
#[must_use]
pub(super) fn history(hub: &Hub) -> Value {
    hub.history().iter().map(point_of).collect()
}

/// Time, accepted, rejected and bytes per second, the gate's share, and p50, p90, p99, p99.9, max in nanoseconds.
fn point_of(point: &Point) -> Value {
    let whole = |value: f64| value.round();
    json!([
        point.at_ms,
        whole(point.accepted),
        whole(point.rejected),
        whole(point.bytes),
        (point.gate_busy * 1000.0).round() / 1000.0,
        point.latency,
    ])
}

/// Counts by format and reason; `null` is accepted, or no format.
fn verdicts(hub: &Hub) -> Value {
    let rules = hub.parts.editions.current();
    let counts = hub.parts.meters.verdicts().into_iter().map(|(format, reason, count)| {
        json!([format.map(|format| rules.format_name(format)), reason.map(Reason::code), count])
    });
    Value::Array(counts.collect())
}

fn partitions(hub: &Hub) -> Value {
    let Some(status) = &hub.parts.status else { return Value::Array(Vec::new()) };
    let now_ms = crate::clock::wall().micros() / 1000;
    let shown = status.partitions().into_iter().map(|(topic, partition, at)| {
        json!({
            "topic": topic, "partition": partition, "state": at.state.name(), "next": at.next,
            "committed": at.committed, "end": at.end, "lag": at.lag_records(), "lag_s": at.lag_seconds(now_ms),
        })
    });
    Value::Array(shown.collect())
}

/// One verdict for those who tap; never the payload.
#[must_use]
pub(super) fn verdict(sample: &Sample, places: &Places) -> Value {
    let format = sample.verdict.format.and_then(|format| sample.rules.format(format));
    json!({
        "src": places.record(sample.partition, sample.place),
        "verdict": if sample.verdict.is_accept() { "accept" } else { "reject" },
        "reason": sample.verdict.reason.map_or("ok", Reason::code),
        "format": format.map(Compiled::name),
        "at": super::mask::cut(&sample.pointer),
        "rules": sample.rules.hash(),
    })
}
