//! One consumed record, still in librdkafka's memory: the bytes are borrowed from the fetch response that brought them.
//!
//! A [`Message`] is counted from the moment it was taken until it is dropped, because its consumer can't end before,
//! and because each one pins the whole response that it came in. It is never copied.

use std::ffi::c_void;
use std::fmt;
use std::ptr::NonNull;

use super::context::Held;
use super::sys;
use crate::kafka::faults::{Code, Fault};

/// Bytes that a processor fetches from memory at once.
const LINE_BYTES: usize = 64;
/// LIMIT: bytes of a payload that are fetched ahead; of a longer one the processor guesses the rest by itself.
const AHEAD_BYTES_MAX: usize = 2048;

/// The time of a record, in milliseconds since the epoch, and who set it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordTime {
    /// The record carries none.
    None,
    /// The sender set it.
    Create(i64),
    /// The broker set it when it appended the record.
    Append(i64),
}

impl RecordTime {
    /// The milliseconds, whoever set them.
    #[must_use]
    pub const fn millis(self) -> Option<i64> {
        match self {
            Self::None => None,
            Self::Create(millis) | Self::Append(millis) => Some(millis),
        }
    }
}

/// A record that was read from Kafka; gives its memory back when dropped.
pub struct Message {
    raw: NonNull<sys::rd_kafka_message_t>,
    held: &'static Held,
    /// What is sent on in place of its payload.
    instead: Option<Box<[u8]>>,
}

// SAFETY: a message is a plain object with one owner; librdkafka allows any thread to read and destroy it. It is not
// `Sync`, because looking at headers parses them into the message on first use.
unsafe impl Send for Message {}

impl Message {
    /// Takes over what a poll returned.
    ///
    /// # Safety
    /// `raw` came from `rd_kafka_consumer_poll` or a batch call of the client that `held` belongs to, and nobody else
    /// destroys it.
    pub(crate) unsafe fn from_raw(raw: NonNull<sys::rd_kafka_message_t>, held: &'static Held) -> Self {
        held.take();
        Self { raw, held, instead: None }
    }

    fn field<T>(&self, read: impl FnOnce(*const sys::rd_kafka_message_t) -> T) -> T {
        read(self.raw.as_ptr())
    }

    /// It is looked at soon: has its own memory fetched, without waiting for it.
    ///
    /// PERF: each stage runs on another core than the last, so each first look at a message would be a wait of a tenth
    /// of a microsecond.
    pub fn expect(&self) {
        // librdkafka keeps a message inside a larger object, of which destroying it reads the lines around.
        let at = self.raw.as_ptr().cast::<u8>();
        for line in
            [at.wrapping_sub(LINE_BYTES), at, at.wrapping_add(LINE_BYTES), at.wrapping_add(2 * LINE_BYTES)]
        {
            fetch(line);
        }
    }

    /// Its payload is read soon.
    pub fn expect_payload(&self) {
        // SAFETY: ours and alive.
        let (payload, bytes) = self.field(|raw| unsafe { ((*raw).payload.cast::<u8>(), (*raw).len) });
        for at in (0..bytes.min(AHEAD_BYTES_MAX)).step_by(LINE_BYTES) {
            fetch(payload.wrapping_add(at));
        }
    }

    /// It is sent on soon: its key is copied, and its headers, which stand behind the payload, are looked for.
    pub fn expect_edges(&self) {
        // SAFETY: ours and alive.
        let (key, payload, bytes) = self.field(|raw| unsafe { ((*raw).key, (*raw).payload, (*raw).len) });
        fetch(key.cast());
        fetch(payload.cast::<u8>().wrapping_add(bytes));
    }

    /// The error code of an event that is no record; [`Code::NONE`] for a record.
    pub(crate) fn code(&self) -> Code {
        // SAFETY: ours and alive; read as an integer, since it may be none of the enum's values.
        Code(self.field(|raw| unsafe { (&raw const (*raw).err).cast::<i32>().read() }))
    }

    /// An event as a fault. Must only be called where `code` is not `NONE`: the text is the payload otherwise.
    pub(crate) fn fault(&self, doing: &'static str) -> Fault {
        // SAFETY: ours and alive; for an error event this is a text that lives as long as the message.
        let text = super::errors::copy(unsafe { sys::rd_kafka_message_errstr(self.raw.as_ptr()) });
        let fault = Fault { text, ..Fault::new(doing, self.code()) };
        if self.topic_key() == 0 {
            return fault;
        }
        let partition = (self.partition() >= 0).then(|| self.partition());
        fault.at(&self.topic(), partition, (self.offset() >= 0).then(|| self.offset()))
    }

    /// The payload; `None` is a tombstone.
    #[must_use]
    pub fn payload(&self) -> Option<&[u8]> {
        // SAFETY: ours and alive; `slice` borrows for as long as `self` is borrowed.
        unsafe { slice((*self.raw.as_ptr()).payload, (*self.raw.as_ptr()).len) }
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> Option<&[u8]> {
        // SAFETY: as in `payload`.
        unsafe { slice((*self.raw.as_ptr()).key, (*self.raw.as_ptr()).key_len) }
    }

    /// Bytes of key and payload.
    #[must_use]
    pub fn bytes(&self) -> usize {
        // SAFETY: ours and alive.
        self.field(|raw| unsafe { (*raw).len + (*raw).key_len })
    }

    /// The partition that it was read from.
    #[must_use]
    pub fn partition(&self) -> i32 {
        // SAFETY: ours and alive.
        self.field(|raw| unsafe { (*raw).partition })
    }

    /// Its offset.
    #[must_use]
    pub fn offset(&self) -> i64 {
        // SAFETY: ours and alive.
        self.field(|raw| unsafe { (*raw).offset })
    }

    /// The topic that it was read from.
    #[must_use]
    pub fn topic(&self) -> String {
        // SAFETY: ours and alive; a message keeps its topic object alive.
        unsafe {
            let topic = (*self.raw.as_ptr()).rkt;
            if topic.is_null() { String::new() } else { super::errors::copy(sys::rd_kafka_topic_name(topic)) }
        }
    }

    /// Tells topics apart without comparing names: equal for messages of one topic that are alive together, and 0
    /// where there is none.
    pub(in crate::kafka) fn topic_key(&self) -> usize {
        // SAFETY: ours and alive.
        self.field(|raw| unsafe { (*raw).rkt.addr() })
    }

    /// When it was created or appended.
    #[must_use]
    pub fn time(&self) -> RecordTime {
        let mut kind = sys::rd_kafka_timestamp_type_t::RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
        // SAFETY: ours and alive; librdkafka only writes values of this enum.
        let millis = unsafe { sys::rd_kafka_message_timestamp(self.raw.as_ptr(), &raw mut kind) };
        match kind {
            sys::rd_kafka_timestamp_type_t::RD_KAFKA_TIMESTAMP_CREATE_TIME => RecordTime::Create(millis),
            sys::rd_kafka_timestamp_type_t::RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME => RecordTime::Append(millis),
            sys::rd_kafka_timestamp_type_t::RD_KAFKA_TIMESTAMP_NOT_AVAILABLE => RecordTime::None,
        }
    }

    /// Calls `each` with name and value of every header, in order.
    pub fn headers(&self, mut each: impl FnMut(&[u8], Option<&[u8]>)) {
        let mut headers = std::ptr::null_mut();
        // SAFETY: ours and alive, and not `Sync`, so parsing into the message can't race. The list belongs to the
        // message; names and values live as long as it does, and the loop ends at the first index past the end.
        unsafe {
            if sys::rd_kafka_message_headers(self.raw.as_ptr(), &raw mut headers) != 0 {
                return;
            }
            for index in 0..sys::rd_kafka_header_cnt(headers) {
                let (mut name, mut value, mut bytes) = (std::ptr::null(), std::ptr::null(), 0);
                let code = sys::rd_kafka_header_get_all(
                    headers,
                    index,
                    &raw mut name,
                    &raw mut value,
                    &raw mut bytes,
                );
                if code != 0 {
                    return;
                }
                each(std::ffi::CStr::from_ptr(name).to_bytes(), slice(value.cast_mut(), bytes));
            }
        }
    }

    /// Takes the headers out, to send them on without a copy; `None` where there are none. The message itself still
    /// has their bytes and parses them again when asked, so a detached list may be thrown away.
    pub(crate) fn detach_headers(&mut self) -> Option<Headers> {
        let mut headers = std::ptr::null_mut();
        // SAFETY: ours and alive; on success the list is ours.
        let code = unsafe { sys::rd_kafka_message_detach_headers(self.raw.as_ptr(), &raw mut headers) };
        if code == 0 { NonNull::new(headers).map(Headers) } else { None }
    }

    /// Sends other bytes on than those that were received.
    pub fn replace_payload(&mut self, payload: Box<[u8]>) {
        self.instead = Some(payload);
    }

    /// Pointer and length of the payload that is sent on, as C wants them; null and 0 for a tombstone.
    pub(crate) fn raw_payload(&self) -> (*mut c_void, usize) {
        if let Some(instead) = &self.instead {
            return (instead.as_ptr().cast_mut().cast(), instead.len());
        }
        // SAFETY: ours and alive.
        self.field(|raw| unsafe { ((*raw).payload, (*raw).len) })
    }

    /// Pointer and length of the key.
    pub(crate) fn raw_key(&self) -> (*mut c_void, usize) {
        // SAFETY: ours and alive.
        self.field(|raw| unsafe { ((*raw).key, (*raw).key_len) })
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        // SAFETY: the only owner; slices borrowed from it are gone.
        unsafe { sys::rd_kafka_message_destroy(self.raw.as_ptr()) };
        self.held.release();
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "Message({}/{}/{}, {} bytes)",
            self.topic(),
            self.partition(),
            self.offset(),
            self.bytes()
        )
    }
}

/// A list of headers without a message.
pub(crate) struct Headers(NonNull<sys::rd_kafka_headers_t>);

impl Headers {
    pub(crate) fn new() -> Self {
        // SAFETY: returns a new list (librdkafka aborts when memory runs out).
        let headers = unsafe { sys::rd_kafka_headers_new(1) };
        Self(NonNull::new(headers).unwrap_or_else(|| unreachable!("librdkafka never returns a null list")))
    }

    /// Appends a header; name and value are copied.
    pub(crate) fn add(&mut self, name: &str, value: &[u8]) {
        // SAFETY: the list is ours; lengths are passed, so no zero byte is needed.
        let code = unsafe {
            sys::rd_kafka_header_add(
                self.0.as_ptr(),
                name.as_ptr().cast(),
                name.len().cast_signed(),
                value.as_ptr().cast(),
                value.len().cast_signed(),
            )
        };
        debug_assert_eq!(code, 0, "librdkafka refuses a header only where the list is read-only");
    }

    pub(crate) fn as_ptr(&self) -> *mut sys::rd_kafka_headers_t {
        self.0.as_ptr()
    }

    /// The producer owns the list now.
    pub(crate) fn given_away(self) {
        std::mem::forget(self);
    }
}

impl Drop for Headers {
    fn drop(&mut self) {
        // SAFETY: ours alone; a list that was given away is forgotten before.
        unsafe { sys::rd_kafka_headers_destroy(self.0.as_ptr()) }
    }
}

/// Has a line of memory brought near; any address will do.
pub(super) fn fetch(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing that the program could see, and never faults.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Bytes at a pointer of C; null is `None`.
///
/// # Safety
/// Where `at` is not null, `bytes` bytes stand there and stay unchanged for `'a`.
unsafe fn slice<'a>(at: *mut c_void, bytes: usize) -> Option<&'a [u8]> {
    // SAFETY: see above.
    NonNull::new(at.cast::<u8>()).map(|at| unsafe { std::slice::from_raw_parts(at.as_ptr(), bytes) })
}
