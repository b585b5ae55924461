//! A consumer: takes batches from the group's queue, commits, pauses, seeks.
//!
//! It knows nothing about positions; `kafka/consumer.rs` keeps them. One thread polls (`&mut self`), while commits and
//! questions may come from any thread through the shared [`Handle`].

use std::panic::resume_unwind;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use super::conf::Conf;
use super::context::{Context, TokenSource, context};
use super::errors::{check, millis, take};
use super::handle::{Ending, Handle, Kind, end, end_on_drop, let_go};
use super::message::Message;
use super::partitions::{List, PartitionOffset, entries};
use super::rebalance::{Rebalance, on_rebalance, serve};
use super::sys;
use crate::kafka::faults::{Code, Fault, KafkaError};

/// A consumer's handle, its queue, and a buffer for batches.
pub(crate) struct Consumer {
    /// `None` only while closing.
    handle: Option<Arc<Handle>>,
    ending: Ending,
    queue: NonNull<sys::rd_kafka_queue_t>,
    buffer: Vec<*mut sys::rd_kafka_message_t>,
}

// SAFETY: the queue may be used by any thread, here one at a time; the buffer is empty between calls.
unsafe impl Send for Consumer {}

impl Consumer {
    /// A consumer that is in no group yet.
    pub(crate) fn new(conf: Conf, tokens: Option<TokenSource>) -> Result<Self, KafkaError> {
        // SAFETY: the configuration is ours; the callbacks have the signatures that librdkafka wants.
        unsafe {
            sys::rd_kafka_conf_set_rebalance_cb(conf.as_ptr(), Some(on_rebalance));
            sys::rd_kafka_conf_set_offset_commit_cb(conf.as_ptr(), Some(on_commit));
        }
        let (handle, ending) = Handle::new(Kind::Consumer, conf, Box::new(Context::new(tokens)))?;
        // SAFETY: the handle is alive. From here on one queue brings messages and all callbacks.
        let queue = unsafe {
            check("join the queues", sys::rd_kafka_poll_set_consumer(handle.as_ptr()))?;
            sys::rd_kafka_queue_get_consumer(handle.as_ptr())
        };
        let Some(queue) = NonNull::new(queue) else {
            let text = "it has no queue; is `group.id` set?".to_owned();
            return Err(KafkaError::Create { kind: Kind::Consumer.name(), text });
        };
        Ok(Self { handle: Some(handle), ending, queue, buffer: Vec::new() })
    }

    /// The shared part.
    pub(crate) fn handle(&self) -> Result<&Arc<Handle>, KafkaError> {
        self.handle.as_ref().ok_or(KafkaError::Closed)
    }

    /// Joins the group for these topics.
    pub(crate) fn subscribe(&self, topics: &[String]) -> Result<(), KafkaError> {
        if topics.is_empty() {
            return Err(KafkaError::EmptyList { doing: "subscribe" });
        }
        let list = List::of_topics(topics);
        // SAFETY: handle and list are alive.
        check("subscribe", unsafe { sys::rd_kafka_subscribe(self.handle()?.as_ptr(), list.as_ptr()) })
    }

    /// Takes partitions by hand, without the group.
    pub(crate) fn assign(&self, partitions: &[PartitionOffset]) -> Result<(), KafkaError> {
        let list = List::new(partitions);
        // SAFETY: handle and list are alive.
        check("assign partitions", unsafe { sys::rd_kafka_assign(self.handle()?.as_ptr(), list.as_ptr()) })
    }

    /// Waits for the first message or event and puts it into `into`.
    pub(crate) fn poll(
        &mut self,
        wait: Duration,
        hook: &mut dyn Rebalance,
        into: &mut Vec<Message>,
    ) -> Result<(), KafkaError> {
        let rk = self.handle()?.as_ptr();
        // SAFETY: the handle is alive; what comes back is ours.
        let served = serve(hook, || unsafe { sys::rd_kafka_consumer_poll(rk, millis(wait)) });
        self.own([served.result], into)?;
        served.panic.map_or(Ok(()), |panic| resume_unwind(panic))
    }

    /// Takes what is there, at most `count`, without waiting.
    pub(crate) fn take(
        &mut self,
        count: usize,
        hook: &mut dyn Rebalance,
        into: &mut Vec<Message>,
    ) -> Result<(), KafkaError> {
        self.handle()?;
        self.buffer.clear();
        self.buffer.resize(count, std::ptr::null_mut());
        let (queue, buffer) = (self.queue.as_ptr(), self.buffer.as_mut_ptr());
        // SAFETY: the queue is alive, and the buffer has room for `count` pointers; those filled in are ours.
        let served = serve(hook, || unsafe { sys::rd_kafka_consume_batch_queue(queue, 0, buffer, count) });
        let filled = usize::try_from(served.result).unwrap_or(0).min(count);
        let mut buffer = std::mem::take(&mut self.buffer);
        let owned = self.own(buffer.drain(..).take(filled), into);
        buffer.clear();
        self.buffer = buffer;
        owned?;
        served.panic.map_or(Ok(()), |panic| resume_unwind(panic))
    }

    fn own(
        &self,
        pointers: impl IntoIterator<Item = *mut sys::rd_kafka_message_t>,
        into: &mut Vec<Message>,
    ) -> Result<(), KafkaError> {
        let held = self.handle()?.context().held;
        let pointers = pointers.into_iter().filter_map(NonNull::new);
        // SAFETY: each pointer came from a poll of this client and appears once.
        into.extend(pointers.map(|raw| unsafe { Message::from_raw(raw, held) }));
        Ok(())
    }

    /// Leaves the group and ends the client, at most until `deadline`.
    pub(crate) fn close(mut self, deadline: Duration) -> Result<(), KafkaError> {
        let Some(handle) = self.release() else { return Err(KafkaError::Closed) };
        end(handle, &self.ending, deadline)
    }

    /// Begins to leave the group and to end the client; `wait_gone` tells when that is done.
    pub(crate) fn leave(&mut self) {
        if let Some(handle) = self.release() {
            let_go(handle);
        }
    }

    /// Waits until a client that was left, or was never there, is gone.
    pub(crate) fn wait_gone(&self, deadline: Duration) -> Result<(), KafkaError> {
        self.ending.wait(deadline)
    }

    /// Gives the queue back, which must be before the handle goes.
    fn release(&mut self) -> Option<Arc<Handle>> {
        let handle = self.handle.take()?;
        // SAFETY: ours, and given back once, since `handle` is `None` from now on.
        unsafe { sys::rd_kafka_queue_destroy(self.queue.as_ptr()) };
        Some(handle)
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        if let Some(handle) = self.release() {
            end_on_drop(handle, &self.ending);
        }
    }
}

impl Handle {
    /// Stops fetching from these partitions; throws away what was fetched ahead.
    pub(crate) fn pause(&self, partitions: &[PartitionOffset]) -> Result<(), KafkaError> {
        let list = List::new(partitions);
        // SAFETY: handle and list are alive.
        check("pause", unsafe { sys::rd_kafka_pause_partitions(self.as_ptr(), list.as_ptr()) })?;
        list.first_fault("pause").map_or(Ok(()), |fault| Err(fault.into()))
    }

    /// Fetches again. Must be followed by a seek to our own position (librdkafka#4844).
    pub(crate) fn resume(&self, partitions: &[PartitionOffset]) -> Result<(), KafkaError> {
        let list = List::new(partitions);
        // SAFETY: handle and list are alive.
        check("resume", unsafe { sys::rd_kafka_resume_partitions(self.as_ptr(), list.as_ptr()) })?;
        list.first_fault("resume").map_or(Ok(()), |fault| Err(fault.into()))
    }

    /// Goes on from the offset of each entry; returns each with its own outcome, since one partition that is not
    /// fetched from at this moment must not hold up the others.
    pub(crate) fn seek(
        &self,
        partitions: &[PartitionOffset],
        wait: Duration,
    ) -> Vec<(PartitionOffset, Code)> {
        let list = List::new(partitions);
        // SAFETY: handle and list are alive.
        let error = unsafe { sys::rd_kafka_seek_partitions(self.as_ptr(), list.as_ptr(), millis(wait)) };
        let mut entries = list.entries();
        if let Err(fault) = take("seek", error) {
            for (_, code) in entries.iter_mut().filter(|(_, code)| code.is_none()) {
                *code = fault.code;
            }
        }
        entries
    }

    /// The committed offsets with their texts; `None` where nothing is committed.
    pub(crate) fn committed(
        &self,
        partitions: &[PartitionOffset],
        wait: Duration,
    ) -> Result<Vec<Option<PartitionOffset>>, KafkaError> {
        let list = List::new(partitions);
        // SAFETY: handle and list are alive.
        check("read committed offsets", unsafe {
            sys::rd_kafka_committed(self.as_ptr(), list.as_ptr(), millis(wait))
        })?;
        let read = |(entry, code): (PartitionOffset, Code)| {
            if code.is_none() {
                return Ok(Some(entry).filter(|entry| entry.offset >= 0));
            }
            Err(Fault::new("read committed offsets", code)
                .at(&entry.topic, Some(entry.partition), None)
                .into())
        };
        list.entries().into_iter().map(read).collect()
    }

    /// Commits without waiting; a failure is kept for `Context::take_commit_fault`.
    pub(crate) fn commit_async(&self, offsets: &[PartitionOffset]) -> Result<(), KafkaError> {
        if offsets.is_empty() {
            return Ok(());
        }
        let list = List::new(offsets);
        // SAFETY: handle and list are alive; librdkafka copies the list.
        check("commit offsets", unsafe { sys::rd_kafka_commit(self.as_ptr(), list.as_ptr(), 1) })
    }

    /// Commits and waits for the broker's word. After a timeout the outcome is unknown.
    pub(crate) fn commit(&self, offsets: &[PartitionOffset], wait: Duration) -> Result<(), KafkaError> {
        if offsets.is_empty() {
            return Ok(());
        }
        let list = List::new(offsets);
        let mut outcome: Option<Result<(), Fault>> = None;
        // SAFETY: handle and list are alive. The queue is our own and destroyed before `outcome` goes, and the
        // callback is only ever called while this function polls that queue.
        let code = unsafe {
            let queue = sys::rd_kafka_queue_new(self.as_ptr());
            let opaque = (&raw mut outcome).cast();
            let code = sys::rd_kafka_commit_queue(
                self.as_ptr(),
                list.as_ptr(),
                queue,
                Some(on_commit_waited),
                opaque,
            );
            if code == 0 {
                sys::rd_kafka_queue_poll_callback(queue, millis(wait));
            }
            sys::rd_kafka_queue_destroy(queue);
            code
        };
        check("commit offsets", code)?;
        match outcome {
            Some(result) => Ok(result?),
            None => Err(Fault::new("commit offsets", Code::TIMED_OUT).into()),
        }
    }
}

/// Failures of commits that nobody waits for.
unsafe extern "C" fn on_commit(
    _rk: *mut sys::rd_kafka_t,
    code: i32,
    list: *mut sys::rd_kafka_topic_partition_list_t,
    opaque: *mut std::ffi::c_void,
) {
    // SAFETY: librdkafka passes a valid list, or null.
    if let Err(fault) = unsafe { outcome_of(code, list) } {
        tracing::warn!(target: "tollgate::kafka", "{fault}");
        // SAFETY: a living client's own opaque pointer.
        unsafe { context(opaque) }.keep_commit_fault(fault);
    }
}

unsafe extern "C" fn on_commit_waited(
    _rk: *mut sys::rd_kafka_t,
    code: i32,
    list: *mut sys::rd_kafka_topic_partition_list_t,
    opaque: *mut std::ffi::c_void,
) {
    // SAFETY: `opaque` is the `outcome` of the `commit` that polls at this moment; the list is valid, or null.
    unsafe { *opaque.cast::<Option<Result<(), Fault>>>() = Some(outcome_of(code, list)) }
}

/// # Safety
/// `list` is null or a valid list.
unsafe fn outcome_of(code: i32, list: *mut sys::rd_kafka_topic_partition_list_t) -> Result<(), Fault> {
    // SAFETY: see above.
    let failed = unsafe { entries(list) }.into_iter().find(|(_, code)| !code.is_none());
    match failed {
        Some((at, code)) => {
            Err(Fault::new("commit offsets", code).at(&at.topic, Some(at.partition), Some(at.offset)))
        }
        None if code == 0 || Code(code) == Code::NO_OFFSET => Ok(()),
        None => Err(Fault::new("commit offsets", Code(code))),
    }
}
