//! Errors from C to Rust: codes with their names and texts, and `rd_kafka_error_t`.
//!
//! Texts are copied at once, since librdkafka keeps some of them in a buffer of the thread.

use std::ffi::{CStr, CString, c_char};
use std::time::Duration;

use super::sys;
use crate::kafka::faults::{Code, Fault, KafkaError};

/// Copies a C text; null gives the empty text.
pub(crate) fn copy(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: not null, and librdkafka's texts end with a zero byte and live at least until the next call.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// A Rust text for C. A zero byte can't be part of a topic or a setting, so the text ends before it.
pub(crate) fn c_text(text: &str) -> CString {
    let until_zero: Vec<u8> = text.bytes().take_while(|byte| *byte != 0).collect();
    CString::new(until_zero).unwrap_or_default()
}

/// A timeout for C: whole milliseconds, rounded up, and never librdkafka's "for ever".
pub(crate) fn millis(timeout: Duration) -> i32 {
    let rounded = timeout.as_micros().div_ceil(1000);
    i32::try_from(rounded).unwrap_or(i32::MAX)
}

pub(in crate::kafka) fn name(code: Code) -> String {
    // SAFETY: takes any integer and returns a text of the library or of this thread.
    copy(unsafe { sys::rd_kafka_err2name(code.number()) })
}

pub(in crate::kafka) fn text(code: Code) -> String {
    // SAFETY: as in `name`.
    copy(unsafe { sys::rd_kafka_err2str(code.number()) })
}

/// The names of all codes that librdkafka knows.
#[cfg(test)]
pub(in crate::kafka) fn all_names() -> Vec<String> {
    let mut list = std::ptr::null();
    let mut count = 0;
    // SAFETY: both pointers are valid for the write; the list is a static table of `count` entries.
    let entries = unsafe {
        sys::rd_kafka_get_err_descs(&raw mut list, &raw mut count);
        std::slice::from_raw_parts(list, count)
    };
    let named = entries.iter().filter(|entry| !entry.name.is_null() && !entry.text.is_null());
    named.map(|entry| name(Code(entry.code))).collect()
}

/// A code returned by a call, as a result.
pub(crate) fn check(doing: &'static str, code: i32) -> Result<(), KafkaError> {
    if code == 0 { Ok(()) } else { Err(Fault::new(doing, Code(code)).into()) }
}

/// Takes over an `rd_kafka_error_t` (null: success), copies what it says, and frees it.
pub(crate) fn take(doing: &'static str, error: *mut sys::rd_kafka_error_t) -> Result<(), Fault> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: a non-null error object is ours alone; it is read, then destroyed once.
    unsafe {
        let fault = Fault {
            doing,
            code: Code(sys::rd_kafka_error_code(error)),
            text: copy(sys::rd_kafka_error_string(error)),
            fatal: sys::rd_kafka_error_is_fatal(error) != 0,
            retriable: sys::rd_kafka_error_is_retriable(error) != 0,
            requires_abort: sys::rd_kafka_error_txn_requires_abort(error) != 0,
            place: None,
        };
        sys::rd_kafka_error_destroy(error);
        Err(fault)
    }
}
