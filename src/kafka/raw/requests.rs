//! How a request of administration is made: each has options and a queue of its own, waits for its one answer and has
//! it copied; nothing of C escapes.

use std::ffi::{c_char, c_int};
use std::time::Duration;

use super::conf::{TEXT_BYTES, text_of};
use super::errors::{copy, millis};
use super::handle::Handle;
use super::sys;
use crate::kafka::faults::{Code, Fault, KafkaError};

pub(super) use sys::rd_kafka_admin_op_t as Operation;

/// How much longer than its own limit an answer is waited for.
const GRACE: Duration = Duration::from_secs(2);

impl Handle {
    /// Starts a call, waits for its answer and reads it.
    pub(super) fn ask<R>(
        &self,
        doing: &'static str,
        operation: Operation,
        wait: Duration,
        start: impl FnOnce(&Call),
        read: impl FnOnce(*mut sys::rd_kafka_event_t) -> R,
    ) -> Result<R, KafkaError> {
        let call = Call::new(self, operation, wait);
        start(&call);
        // SAFETY: the queue is alive; the event that comes back is ours, and destroyed after the last look at it.
        unsafe {
            let event = sys::rd_kafka_queue_poll(call.queue, millis(wait + GRACE));
            if event.is_null() {
                return Err(Fault::new(doing, Code::TIMED_OUT).into());
            }
            let code = Code(sys::rd_kafka_event_error(event));
            let answer = if code.is_none() {
                Ok(read(event))
            } else {
                let text = copy(sys::rd_kafka_event_error_string(event));
                Err(Fault { text, ..Fault::new(doing, code) }.into())
            };
            sys::rd_kafka_event_destroy(event);
            answer
        }
    }
}

/// Options and queue of one call.
pub(super) struct Call {
    pub(super) options: *mut sys::rd_kafka_AdminOptions_t,
    pub(super) queue: *mut sys::rd_kafka_queue_t,
}

impl Call {
    fn new(handle: &Handle, operation: Operation, wait: Duration) -> Self {
        // SAFETY: the handle is alive; both objects are ours until `drop`.
        let call = unsafe {
            Self {
                options: sys::rd_kafka_AdminOptions_new(handle.as_ptr(), operation),
                queue: sys::rd_kafka_queue_new(handle.as_ptr()),
            }
        };
        let limit = millis(wait).max(1);
        // SAFETY: the options are ours; the buffer has the size that is passed.
        call.set(|options, text| unsafe {
            sys::rd_kafka_AdminOptions_set_request_timeout(options, limit, text, TEXT_BYTES)
        });
        let describes = matches!(
            operation,
            Operation::RD_KAFKA_ADMIN_OP_DESCRIBETOPICS
                | Operation::RD_KAFKA_ADMIN_OP_DESCRIBECLUSTER
                | Operation::RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS
        );
        if describes {
            // SAFETY: the options are ours; these operations know the option, so no error comes back.
            let error =
                unsafe { sys::rd_kafka_AdminOptions_set_include_authorized_operations(call.options, 1) };
            debug_assert!(error.is_null(), "describing calls take this option");
        }
        call
    }

    /// Sets an option; librdkafka refuses none of those used here.
    pub(super) fn set(&self, option: impl FnOnce(*mut sys::rd_kafka_AdminOptions_t, *mut c_char) -> c_int) {
        let mut text: [c_char; TEXT_BYTES] = [0; TEXT_BYTES];
        let code = option(self.options, text.as_mut_ptr());
        debug_assert_eq!(code, 0, "{}", text_of(&text));
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        // SAFETY: ours alone; an answer that comes later finds no queue and is thrown away by librdkafka.
        unsafe {
            sys::rd_kafka_AdminOptions_destroy(self.options);
            sys::rd_kafka_queue_destroy(self.queue);
        }
    }
}
