//! The handle of a client, its end, and what every client can be asked.
//!
//! Destroying a consumer blocks until every message taken from it was given back. So a client ends on a helper thread,
//! and whoever closes it waits with a deadline. Nothing here may be called from inside `Drop` of a message.

use std::ffi::c_char;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use super::conf::{Conf, TEXT_BYTES, text_of};
use super::context::{Context, Held};
use super::{errors, sys};
use crate::kafka::faults::{Code, Fault, KafkaError};

/// How long a client that is dropped without `close` may take before its thread is left behind.
const DROP_DEADLINE: Duration = Duration::from_secs(10);

/// Consumer or producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Consumer,
    Producer,
}

impl Kind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Consumer => "consumer",
            Self::Producer => "producer",
        }
    }
}

/// A living client of librdkafka.
pub(crate) struct Handle {
    rk: NonNull<sys::rd_kafka_t>,
    kind: Kind,
    context: Box<Context>,
    /// Dropped after the client is gone; `Ending` waits for that.
    _alive: Sender<()>,
}

// SAFETY: librdkafka's handle may be used by any number of threads at once (its own documentation: "completely
// thread-safe"), and `Context` is `Send` and `Sync`.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

/// Tells when a handle is gone.
pub(crate) struct Ending {
    gone: Receiver<()>,
    kind: Kind,
    held: &'static Held,
}

impl Handle {
    /// Makes a client out of a configuration whose callbacks of `context` are registered.
    pub(crate) fn new(
        kind: Kind,
        conf: Conf,
        context: Box<Context>,
    ) -> Result<(Arc<Self>, Ending), KafkaError> {
        context.register(&conf);
        let native = match kind {
            Kind::Consumer => sys::rd_kafka_type_t::RD_KAFKA_CONSUMER,
            Kind::Producer => sys::rd_kafka_type_t::RD_KAFKA_PRODUCER,
        };
        let conf = conf.into_raw();
        let mut text: [c_char; TEXT_BYTES] = [0; TEXT_BYTES];
        // SAFETY: the configuration is given away on success; the buffer has the size that is passed.
        let rk = unsafe { sys::rd_kafka_new(native, conf, text.as_mut_ptr(), TEXT_BYTES) };
        let Some(rk) = NonNull::new(rk) else {
            // SAFETY: on failure the configuration stays ours.
            unsafe { sys::rd_kafka_conf_destroy(conf) };
            return Err(KafkaError::Create { kind: kind.name(), text: text_of(&text) });
        };
        let (alive, gone) = channel();
        let ending = Ending { gone, kind, held: context.held };
        let handle = Arc::new(Self { rk, kind, context, _alive: alive });
        if handle.context.has_tokens() {
            // SAFETY: the handle is alive; tokens are then served by a thread of librdkafka, also between polls.
            let error = unsafe { sys::rd_kafka_sasl_background_callbacks_enable(handle.as_ptr()) };
            errors::take("serve tokens", error)?;
        }
        Ok((handle, ending))
    }

    pub(crate) fn as_ptr(&self) -> *mut sys::rd_kafka_t {
        self.rk.as_ptr()
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// The fatal error, once it was reported; costs nothing before.
    pub(crate) fn fatal(&self) -> Option<Fault> {
        if self.context.is_fatal() { self.look_for_fatal() } else { None }
    }

    /// The fatal error, once there was one. A consumer reports its own in place of a record.
    pub(crate) fn look_for_fatal(&self) -> Option<Fault> {
        let mut text: [c_char; TEXT_BYTES] = [0; TEXT_BYTES];
        // SAFETY: the handle is alive, and the buffer has the size that is passed.
        let code = unsafe { sys::rd_kafka_fatal_error(self.as_ptr(), text.as_mut_ptr(), TEXT_BYTES) };
        if code == 0 {
            return None;
        }
        let fault = Fault::new("go on", Code(code));
        Some(Fault { text: text_of(&text), fatal: true, retriable: false, ..fault })
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the last owner; queues, lists and topics of this client hold an `Arc` to it or are gone before.
        // `context` is freed after this, when no callback can come any more.
        unsafe {
            if self.kind == Kind::Consumer {
                sys::rd_kafka_consumer_close(self.as_ptr());
            }
            sys::rd_kafka_destroy(self.as_ptr());
        }
    }
}

/// Lets go of `handle` on a helper thread and waits until the client is gone, at most until `deadline`.
///
/// After the deadline the helper thread stays behind, blocked until the last message is given back.
pub(crate) fn end(handle: Arc<Handle>, ending: &Ending, deadline: Duration) -> Result<(), KafkaError> {
    let_go(handle);
    ending.wait(deadline)
}

/// Lets go of `handle` on a helper thread.
pub(crate) fn let_go(handle: Arc<Handle>) {
    let name = format!("close-{}", handle.kind.name());
    let spawned = std::thread::Builder::new().name(name).spawn(move || drop(handle));
    if spawned.is_err() {
        tracing::warn!(target: "tollgate::kafka", "no thread for closing a client; it was closed in place");
    }
}

impl Ending {
    /// Waits until the client is gone, at most until `deadline`.
    pub(crate) fn wait(&self, deadline: Duration) -> Result<(), KafkaError> {
        match self.gone.recv_timeout(deadline) {
            Err(RecvTimeoutError::Disconnected) | Ok(()) => Ok(()),
            Err(RecvTimeoutError::Timeout) => Err(KafkaError::CloseTimeout {
                kind: self.kind.name(),
                held: self.held.count(),
                waited: deadline,
            }),
        }
    }
}

/// `end` for `Drop`: waits a while, and only logs.
pub(crate) fn end_on_drop(handle: Arc<Handle>, ending: &Ending) {
    if let Err(error) = end(handle, ending, DROP_DEADLINE) {
        tracing::error!(target: "tollgate::kafka", "{error}");
    }
}
