//! A producer that sends records by reference: payloads stay where they are until their delivery report.
//!
//! One thread owns it (`&mut self`): delivery reports come inside `poll`, `flush` and the transaction calls of that
//! thread. The memory of a record is released in the call that brings its report and nowhere else, except after the
//! producer is gone.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::conf::Conf;
use super::context::{Context, TokenSource};
use super::errors::{c_text, check, millis, take};
use super::handle::{Ending, Handle, Kind, end};
use super::in_flight::{Delivery, InFlight, Owner};
use super::message::{Headers, Message};
use super::{scope, sys};
use crate::kafka::faults::{Code, Fault, KafkaError};

thread_local! {
    static IN_FLIGHT: Cell<Option<NonNull<InFlight>>> = const { Cell::new(None) };
}

/// How long a producer that is dropped without `close` waits for its last reports.
const DROP_FLUSH: Duration = Duration::from_secs(5);

/// A topic to produce to; lives in its producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TopicHandle(pub(in crate::kafka) usize);

/// A producer's handle and what it has in flight.
pub(crate) struct Producer {
    /// `None` only when closed.
    handle: Option<Arc<Handle>>,
    ending: Ending,
    topics: Vec<(String, NonNull<sys::rd_kafka_topic_t>)>,
    in_flight: InFlight,
}

// SAFETY: topic objects may be used by any thread; everything else is `Send`.
unsafe impl Send for Producer {}

/// A record as C wants it.
struct Outgoing<'a> {
    topic: TopicHandle,
    partition: Option<i32>,
    payload: (*mut c_void, usize),
    key: (*mut c_void, usize),
    /// 0 lets librdkafka set the time of now.
    time_ms: i64,
    headers: Option<&'a Headers>,
}

impl Producer {
    pub(crate) fn new(conf: Conf, tokens: Option<TokenSource>) -> Result<Self, KafkaError> {
        // SAFETY: the configuration is ours; the callback has the signature that librdkafka wants.
        unsafe { sys::rd_kafka_conf_set_dr_msg_cb(conf.as_ptr(), Some(on_delivery)) };
        let (handle, ending) = Handle::new(Kind::Producer, conf, Box::new(Context::new(tokens)))?;
        Ok(Self { handle: Some(handle), ending, topics: Vec::new(), in_flight: InFlight::new() })
    }

    /// The shared part.
    pub(crate) fn handle(&self) -> Result<&Arc<Handle>, KafkaError> {
        self.handle.as_ref().ok_or(KafkaError::Closed)
    }

    /// The topic with this name, made on first use.
    pub(crate) fn topic(&mut self, name: &str) -> Result<TopicHandle, KafkaError> {
        if let Some(index) = self.topics.iter().position(|(known, _)| known == name) {
            return Ok(TopicHandle(index));
        }
        let c_name = c_text(name);
        // SAFETY: handle and name are alive; a null configuration means the client's own.
        let topic = unsafe {
            sys::rd_kafka_topic_new(self.handle()?.as_ptr(), c_name.as_ptr(), std::ptr::null_mut())
        };
        let Some(topic) = NonNull::new(topic) else {
            // SAFETY: takes nothing; the code of this thread's last failed call.
            let code = Code(unsafe { sys::rd_kafka_last_error() });
            return Err(Fault::new("use the topic", code).at(name, None, None).into());
        };
        self.topics.push((name.to_owned(), topic));
        Ok(TopicHandle(self.topics.len() - 1))
    }

    /// Sends a consumed record on: the same memory, key, time and headers, plus `extra` as further headers. Where
    /// that fails at once (the queue is full) the message comes back, unchanged.
    pub(crate) fn produce<'a>(
        &mut self,
        topic: TopicHandle,
        partition: Option<i32>,
        mut message: Message,
        extra: impl IntoIterator<Item = (&'a str, &'a [u8])>,
        tag: u64,
    ) -> Result<(), (Fault, Message)> {
        let mut headers = message.detach_headers();
        for (name, value) in extra {
            headers.get_or_insert_with(Headers::new).add(name, value);
        }
        // LIMIT: librdkafka takes time 0 for "now", so a record that was created at the epoch itself loses that.
        let (time_ms, payload, key) =
            (message.time().millis().unwrap_or(-1), message.raw_payload(), message.raw_key());
        let index = self.in_flight.insert(Owner::Message(message), tag);
        let record = Outgoing { topic, partition, payload, key, time_ms, headers: headers.as_ref() };
        match self.enqueue(&record, index) {
            Ok(()) => {
                if let Some(headers) = headers {
                    headers.given_away();
                }
                Ok(())
            }
            // The headers stay ours and are thrown away: the message still has their bytes.
            Err(fault) => match self.in_flight.remove(index) {
                Some((Owner::Message(message), _)) => Err((fault, message)),
                _ => unreachable!("the entry was made above, and nothing ran in between"),
            },
        }
    }

    /// Sends bytes of ours.
    pub(crate) fn produce_bytes(
        &mut self,
        topic: TopicHandle,
        partition: Option<i32>,
        record: &Record<'_>,
        tag: u64,
    ) -> Result<(), Fault> {
        let mut headers = None;
        for (name, value) in record.headers {
            headers.get_or_insert_with(Headers::new).add(name, value);
        }
        let key = record.key.map_or((std::ptr::null_mut(), 0), pointer);
        let payload = record.payload.as_ref().map_or((std::ptr::null_mut(), 0), |bytes| pointer(bytes));
        let index = self.in_flight.insert(Owner::Bytes { payload: record.payload.clone() }, tag);
        let time_ms = record.time_ms.unwrap_or(0);
        let result = self
            .enqueue(&Outgoing { topic, partition, payload, key, time_ms, headers: headers.as_ref() }, index);
        match (&result, headers) {
            (Ok(()), Some(headers)) => headers.given_away(),
            (Ok(()), None) => {}
            (Err(_), _) => drop(self.in_flight.remove(index)),
        }
        result
    }

    fn enqueue(&self, record: &Outgoing<'_>, index: usize) -> Result<(), Fault> {
        use sys::rd_kafka_vtype_t as Kind;
        let doing = "produce";
        let (Some(handle), Some((name, topic))) = (&self.handle, self.topics.get(record.topic.0)) else {
            return Err(Fault::new(doing, Code::INVALID_ARGUMENT));
        };
        // SAFETY: an all-zero entry is valid; each one below sets the field of the union that its kind names.
        let mut fields: [sys::rd_kafka_vu_t; 7] = unsafe { std::mem::zeroed() };
        let [topic_field, partition, payload, key, time, opaque, headers] = &mut fields;
        topic_field.vtype = Kind::RD_KAFKA_VTYPE_RKT;
        topic_field.u.rkt = topic.as_ptr();
        partition.vtype = Kind::RD_KAFKA_VTYPE_PARTITION;
        partition.u.i32_ = record.partition.unwrap_or(-1);
        payload.vtype = Kind::RD_KAFKA_VTYPE_VALUE;
        payload.u.mem.ptr = record.payload.0;
        payload.u.mem.size = record.payload.1;
        key.vtype = Kind::RD_KAFKA_VTYPE_KEY;
        key.u.mem.ptr = record.key.0;
        key.u.mem.size = record.key.1;
        time.vtype = Kind::RD_KAFKA_VTYPE_TIMESTAMP;
        time.u.i64_ = record.time_ms;
        opaque.vtype = Kind::RD_KAFKA_VTYPE_OPAQUE;
        opaque.u.ptr = std::ptr::without_provenance_mut(index);
        headers.vtype = Kind::RD_KAFKA_VTYPE_HEADERS;
        headers.u.headers = record.headers.map_or(std::ptr::null_mut(), Headers::as_ptr);
        // SAFETY: handle and topic are alive. Payload and key belong to the entry `index` of the slab, which keeps
        // them until the delivery report or until the producer is gone. Headers change hands on success only.
        let error = unsafe {
            let count = if record.headers.is_some() { fields.len() } else { fields.len() - 1 };
            sys::rd_kafka_produceva(handle.as_ptr(), fields.as_ptr(), count)
        };
        take(doing, error).map_err(|fault| fault.at(name, record.partition, None))
    }

    /// Makes a call that may bring delivery reports.
    pub(crate) fn serve<R>(&mut self, call: impl FnOnce(*mut sys::rd_kafka_t) -> R) -> Result<R, KafkaError> {
        let rk = self.handle()?.as_ptr();
        let result = scope::lend(&IN_FLIGHT, &mut self.in_flight, || call(rk));
        self.in_flight.release_reported();
        Ok(result)
    }

    /// Waits for events at most `wait`, and moves all reports to `into`.
    pub(crate) fn poll(&mut self, wait: Duration, into: &mut Vec<Delivery>) -> Result<(), KafkaError> {
        // SAFETY: the handle is alive during `serve`.
        self.serve(|rk| unsafe { sys::rd_kafka_poll(rk, millis(wait)) })?;
        into.append(&mut self.in_flight.reports);
        Ok(())
    }

    /// Sends everything and waits for the reports, which `poll` hands out.
    pub(crate) fn flush(&mut self, wait: Duration) -> Result<(), KafkaError> {
        // SAFETY: the handle is alive during `serve`.
        check("flush", self.serve(|rk| unsafe { sys::rd_kafka_flush(rk, millis(wait)) })?)
    }

    /// Gives up records that wait, and those under way too if asked; each still gets its report.
    pub(crate) fn purge(&mut self, in_flight_too: bool) -> Result<(), KafkaError> {
        let in_flight = if in_flight_too { sys::RD_KAFKA_PURGE_F_INFLIGHT } else { 0 };
        // SAFETY: the handle is alive.
        check("purge", unsafe {
            sys::rd_kafka_purge(self.handle()?.as_ptr(), sys::RD_KAFKA_PURGE_F_QUEUE | in_flight)
        })
    }

    /// Records given and not reported.
    pub(crate) fn outstanding(&self) -> usize {
        self.in_flight.count()
    }

    /// Ends the client: purge, flush, all reports into `into`, destroy, and release what is left.
    pub(crate) fn close(mut self, deadline: Duration, into: &mut Vec<Delivery>) -> Result<(), KafkaError> {
        self.end(deadline, into)
    }

    fn end(&mut self, deadline: Duration, into: &mut Vec<Delivery>) -> Result<(), KafkaError> {
        let started = Instant::now();
        self.purge(true)?;
        if let Err(error) = self.flush(deadline) {
            tracing::warn!(target: "tollgate::kafka", "{error}");
        }
        self.poll(Duration::ZERO, into)?;
        for (_, topic) in self.topics.drain(..) {
            // SAFETY: ours, and given back once.
            unsafe { sys::rd_kafka_topic_destroy(topic.as_ptr()) };
        }
        let Some(handle) = self.handle.take() else { return Err(KafkaError::Closed) };
        let ended = end(handle, &self.ending, deadline.saturating_sub(started.elapsed()));
        if ended.is_ok() {
            let left = self.in_flight.release_all();
            if left > 0 {
                tracing::warn!(target: "tollgate::kafka", left, "records without a delivery report were released");
            }
        } else {
            // The client still runs and may read this memory: it is never freed.
            std::mem::forget(std::mem::replace(&mut self.in_flight, InFlight::new()));
        }
        ended
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        if self.handle.is_some()
            && let Err(error) = self.end(DROP_FLUSH, &mut Vec::new())
        {
            tracing::error!(target: "tollgate::kafka", "{error}");
        }
    }
}

/// A record of our own making.
#[derive(Clone, Debug, Default)]
pub struct Record<'a> {
    /// The payload; `None` is a tombstone.
    pub payload: Option<Bytes>,
    /// The key.
    pub key: Option<&'a [u8]>,
    /// When it was created, in milliseconds since the epoch; `None` is now.
    pub time_ms: Option<i64>,
    /// Names and values of headers.
    pub headers: &'a [(&'a str, &'a [u8])],
}

/// C's view of bytes. Empty ones must not turn into null, which is a tombstone: a slice's pointer never is.
fn pointer(bytes: &[u8]) -> (*mut c_void, usize) {
    (bytes.as_ptr().cast_mut().cast(), bytes.len())
}

unsafe extern "C" fn on_delivery(
    _rk: *mut sys::rd_kafka_t,
    message: *const sys::rd_kafka_message_t,
    _opaque: *mut c_void,
) {
    // SAFETY: the report is valid during the callback; the code is read as an integer.
    let (index, address, code, partition, offset) = unsafe {
        let code = (&raw const (*message).err).cast::<i32>().read();
        let (index, address) = ((*message)._private.addr(), (*message).payload.addr());
        (index, address, code, (*message).partition, (*message).offset)
    };
    let outcome = if code == 0 { Ok(offset) } else { Err(Code(code)) };
    let found = scope::with(&IN_FLIGHT, |in_flight| in_flight.report(index, address, partition, outcome));
    debug_assert!(found.is_some(), "reports come inside calls that lend the slab");
}
