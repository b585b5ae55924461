//! Spans of batches, sent to a collector by OTLP over HTTP; only with the feature `otlp`.
//!
//! A thread of its own takes spans from a queue that drops, and sends some hundred at a time. A collector that is slow, gone or
//! rude costs spans and nothing else: no record waits for it, and a run ends a few seconds late at most.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use crossbeam::channel::Receiver;
use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::{ExporterBuildError, Protocol, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{
    IdGenerator as _, RandomIdGenerator, SpanData, SpanEvents, SpanExporter as _, SpanLinks,
};

use super::Hub;
use super::places::Places;
use crate::pipeline::Meters;
use crate::pipeline::trace::{BatchSpan, Spans};

/// LIMIT: spans in one request.
const REQUEST_SPANS_MAX: usize = 512;
/// How long spans are gathered for one request.
const GATHER: Duration = Duration::from_secs(1);
/// How often a waiting thread looks whether the run has ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long a request may take, with its repetitions; so long the end of a run waits for the last spans, too.
const REQUEST_WAIT: Duration = Duration::from_secs(3);

/// The way of spans from the writer to a collector.
pub struct Export {
    exporter: SpanExporter,
    spans: Receiver<BatchSpan>,
    endpoint: String,
    scope: InstrumentationScope,
    ids: RandomIdGenerator,
    dropped_told: u64,
}

impl Export {
    /// Opens it, if the configuration names a collector.
    pub fn open(endpoint: &str, meters: &mut Meters) -> Result<Option<Self>, ExporterBuildError> {
        if endpoint.is_empty() {
            return Ok(None);
        }
        let mut exporter = SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(endpoint)
            .with_timeout(REQUEST_WAIT)
            .build()?;
        let version = env!("CARGO_PKG_VERSION");
        let named = Resource::builder().with_service_name("tollgate");
        exporter.set_resource(&named.with_attribute(KeyValue::new("service.version", version)).build());
        let (to, spans) = Spans::gathered();
        meters.spans = to;
        Ok(Some(Self {
            exporter,
            spans,
            endpoint: endpoint.to_owned(),
            scope: InstrumentationScope::builder("tollgate").with_version(version).build(),
            ids: RandomIdGenerator::default(),
            dropped_told: 0,
        }))
    }

    /// Sends spans until the run has ended.
    pub fn run(mut self, hub: &Arc<Hub>) -> std::io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        while hub.is_running() {
            let spans = self.gather(hub);
            self.send(&runtime, &spans, hub);
        }
        let deadline = Instant::now() + REQUEST_WAIT;
        while !self.spans.is_empty() && Instant::now() < deadline {
            let spans: Vec<_> = self.spans.try_iter().take(REQUEST_SPANS_MAX).collect();
            self.send(&runtime, &spans, hub);
        }
        Ok(())
    }

    /// The next spans: as many as go into a request, or those of a second.
    fn gather(&self, hub: &Hub) -> Vec<BatchSpan> {
        let (mut spans, until) = (Vec::new(), Instant::now() + GATHER);
        while spans.len() < REQUEST_SPANS_MAX && Instant::now() < until && hub.is_running() {
            spans.extend(self.spans.recv_timeout(LOOK_EVERY));
        }
        spans
    }

    fn send(&mut self, runtime: &tokio::runtime::Runtime, spans: &[BatchSpan], hub: &Hub) {
        let dropped = hub.parts.meters.spans.dropped();
        if dropped > self.dropped_told {
            tracing::warn!("{} spans of batches were dropped: too many wait", dropped - self.dropped_told);
            self.dropped_told = dropped;
        }
        if spans.is_empty() {
            return;
        }
        let (count, now) = (spans.len(), (Instant::now(), SystemTime::now()));
        let spans = spans.iter().map(|span| self.data(span, &hub.parts.places, now)).collect();
        if let Err(error) = runtime.block_on(self.exporter.export(spans)) {
            tracing::warn!("{count} spans of batches were dropped: {}: {error}", self.endpoint);
        }
    }

    /// A span as the collector wants it, by the names that messaging systems agreed on where there are some.
    fn data(&self, span: &BatchSpan, places: &Places, now: (Instant, SystemTime)) -> SpanData {
        let BatchSpan { receipt, done_at } = span;
        let trace = &receipt.trace;
        let (topic, partition) = places.split(trace.partition);
        let number = |name: &'static str, value: u64| KeyValue::new(name, value as i64);
        let time = |name: &'static str, from: Instant, to: Instant| {
            KeyValue::new(name, to.saturating_duration_since(from).as_secs_f64())
        };
        let mut attributes = vec![
            KeyValue::new("messaging.operation.name", "process"),
            KeyValue::new("messaging.operation.type", "process"),
            KeyValue::new("messaging.destination.name", topic.to_owned()),
            number("messaging.batch.message_count", receipt.records),
            number("tollgate.first", trace.first),
            number("tollgate.last", trace.last),
            number("tollgate.bytes", trace.bytes),
            number("tollgate.accepted", trace.accepted),
            number("tollgate.rejected", receipt.records - trace.accepted.min(receipt.records)),
            number("tollgate.edition", trace.edition),
            time("tollgate.queue_seconds", receipt.read_at, trace.judging_at),
            time("tollgate.judge_seconds", trace.judging_at, trace.judged_at),
            time("tollgate.gate_seconds", trace.judged_at, receipt.gated_at),
            time("tollgate.write_seconds", receipt.gated_at, receipt.written_at),
            time("tollgate.commit_seconds", receipt.written_at, *done_at),
        ];
        if let Some(partition) = partition {
            attributes.push(KeyValue::new("messaging.system", "kafka"));
            attributes.push(KeyValue::new("messaging.destination.partition.id", partition.to_string()));
        }
        let wall = |at: Instant| now.1 - now.0.saturating_duration_since(at);
        SpanData {
            span_context: SpanContext::new(
                self.ids.new_trace_id(),
                self.ids.new_span_id(),
                TraceFlags::SAMPLED,
                false,
                TraceState::default(),
            ),
            parent_span_id: SpanId::INVALID,
            parent_span_is_remote: false,
            span_kind: SpanKind::Consumer,
            name: format!("process {topic}").into(),
            start_time: wall(receipt.read_at),
            end_time: wall(*done_at),
            attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: Status::Unset,
            instrumentation_scope: self.scope.clone(),
        }
    }
}
