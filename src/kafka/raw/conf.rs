//! Building a client's configuration: key by key, every refusal a typed error that hides secrets.
//!
//! Which keys Tollgate owns and what their defaults are is decided in `settings.rs`, not here.

use std::ffi::{CStr, c_char};
use std::ptr::NonNull;

use super::errors::c_text;
use super::sys;
use crate::kafka::faults::KafkaError;

/// librdkafka writes its error texts into buffers of this size.
pub(crate) const TEXT_BYTES: usize = 512;

/// Keys whose values are never shown.
const SECRETS: &[&str] = &[
    "sasl.password",
    "sasl.oauthbearer.client.secret",
    "sasl.oauthbearer.config",
    "sasl.oauthbearer.assertion.private.key.passphrase",
    "sasl.oauthbearer.assertion.private.key.pem",
    "ssl.key.password",
    "ssl.keystore.password",
    "ssl.key.pem",
    "ssl.certificate.pem",
    "ssl.ca.pem",
];

/// Whether the value of `key` must not be shown.
pub(crate) fn is_secret(key: &str) -> bool {
    SECRETS.contains(&key)
        || ["password", "secret", "passphrase", ".pem"].iter().any(|ending| key.ends_with(ending))
}

/// The text that stands for a value in errors and in `tollgate config`.
pub(crate) fn shown<'a>(key: &str, value: &'a str) -> &'a str {
    if is_secret(key) { "(hidden)" } else { value }
}

/// What librdkafka was built with, as `gzip,snappy,ssl,…`.
pub(crate) fn features() -> String {
    let conf = Conf::new();
    let key = c_text("builtin.features");
    let mut text: [c_char; TEXT_BYTES] = [0; TEXT_BYTES];
    let mut size = TEXT_BYTES;
    // SAFETY: the configuration is alive; the buffer has the size that is passed.
    unsafe { sys::rd_kafka_conf_get(conf.as_ptr(), key.as_ptr(), text.as_mut_ptr(), &raw mut size) };
    text_of(&text)
}

/// A configuration that no client has taken over yet.
pub(crate) struct Conf(NonNull<sys::rd_kafka_conf_t>);

impl Conf {
    /// librdkafka's defaults.
    pub(crate) fn new() -> Self {
        // SAFETY: takes nothing, returns a new object (librdkafka aborts when memory runs out).
        let conf = unsafe { sys::rd_kafka_conf_new() };
        Self(
            NonNull::new(conf)
                .unwrap_or_else(|| unreachable!("librdkafka never returns a null configuration")),
        )
    }

    /// Sets one key; the last value wins.
    pub(crate) fn set(&mut self, key: &str, value: &str) -> Result<(), KafkaError> {
        let (c_key, c_value) = (c_text(key), c_text(value));
        let mut text: [c_char; TEXT_BYTES] = [0; TEXT_BYTES];
        // SAFETY: all pointers are valid for the call, and the size is that of the buffer.
        let result = unsafe {
            sys::rd_kafka_conf_set(
                self.0.as_ptr(),
                c_key.as_ptr(),
                c_value.as_ptr(),
                text.as_mut_ptr(),
                TEXT_BYTES,
            )
        };
        if result == sys::rd_kafka_conf_res_t::RD_KAFKA_CONF_OK {
            return Ok(());
        }
        let text = text_of(&text);
        // librdkafka may repeat the value in its text.
        let text = if is_secret(key) { "librdkafka refuses the value".to_owned() } else { text };
        Err(KafkaError::Setting { key: key.to_owned(), value: shown(key, value).to_owned(), text })
    }

    pub(crate) fn as_ptr(&self) -> *mut sys::rd_kafka_conf_t {
        self.0.as_ptr()
    }

    /// Gives the object away, to `rd_kafka_new`.
    pub(crate) fn into_raw(self) -> *mut sys::rd_kafka_conf_t {
        let conf = self.0.as_ptr();
        std::mem::forget(self);
        conf
    }
}

impl Drop for Conf {
    fn drop(&mut self) {
        // SAFETY: still ours, since `into_raw` forgets `self`.
        unsafe { sys::rd_kafka_conf_destroy(self.0.as_ptr()) }
    }
}

/// What librdkafka wrote into a text buffer.
pub(crate) fn text_of(buffer: &[c_char; TEXT_BYTES]) -> String {
    // SAFETY: `c_char` and `u8` have one size and every bit pattern is valid.
    let bytes = unsafe { std::slice::from_raw_parts(buffer.as_ptr().cast::<u8>(), buffer.len()) };
    CStr::from_bytes_until_nul(bytes)
        .map_or_else(|_| String::new(), |text| text.to_string_lossy().into_owned())
}
