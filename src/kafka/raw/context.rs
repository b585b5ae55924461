//! What every client has beside its handle: the callbacks for logs, errors, statistics and tokens, and the count of
//! messages held.
//!
//! These callbacks may come on any thread, so they touch only what is shared safely. Logs go to `tracing`; they name
//! brokers and topics, never payloads, and statistics are kept for whoever asks but never logged.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::errors::{c_text, copy};
use super::{conf, sys};
use crate::kafka::faults::{Class, Code, Fault};

/// A token for SASL/OAUTHBEARER.
#[derive(Clone)]
pub struct Token {
    /// The token itself; never shown.
    pub value: String,
    /// When it ends, in milliseconds since the epoch.
    pub lifetime_ms: i64,
    /// The principal that it stands for.
    pub principal: String,
}

/// Where tokens come from: called with `sasl.oauthbearer.config` on a thread of librdkafka; an error is a text
/// without secrets.
pub type TokenSource = Arc<dyn Fn(&str) -> Result<Token, String> + Send + Sync>;

/// Messages that were taken from a consumer and not yet given back.
///
/// Two counters, so that the thread that reads and the one that releases do not fight for one cache line.
#[derive(Default)]
pub(crate) struct Held {
    taken: CacheLine,
    released: CacheLine,
}

#[derive(Default)]
#[repr(align(64))]
struct CacheLine(AtomicU64);

impl Held {
    pub(crate) fn take(&self) {
        self.taken.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn release(&self) {
        self.released.0.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn count(&self) -> u64 {
        // `released` first: what is released was taken before, so the difference is never negative.
        let released = self.released.0.load(Ordering::Acquire);
        self.taken.0.load(Ordering::Relaxed).saturating_sub(released)
    }
}

/// What a client says about its connections, newest first where it matters.
#[derive(Clone, Debug)]
pub(crate) struct Trouble {
    pub(crate) code: Code,
    pub(crate) text: String,
}

/// Counters of clients that are gone, for those that come: as many as were ever alive at once.
static COUNTERS: Mutex<Vec<&'static Held>> = Mutex::new(Vec::new());

/// Shared by a client and its callbacks; lives as long as the handle.
pub(crate) struct Context {
    /// Never freed but used again, so that a message needs no reference count.
    pub(crate) held: &'static Held,
    fatal: AtomicBool,
    statistics: Mutex<Option<String>>,
    commit_fault: Mutex<Option<Fault>>,
    trouble: Mutex<Option<Trouble>>,
    requests: Mutex<BTreeMap<String, (i16, i16)>>,
    tokens: Option<TokenSource>,
}

impl Context {
    pub(crate) fn new(tokens: Option<TokenSource>) -> Self {
        Self {
            held: COUNTERS
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .pop()
                .unwrap_or_else(|| Box::leak(Box::default())),
            fatal: AtomicBool::new(false),
            statistics: Mutex::default(),
            commit_fault: Mutex::default(),
            trouble: Mutex::default(),
            requests: Mutex::default(),
            tokens,
        }
    }

    pub(crate) fn has_tokens(&self) -> bool {
        self.tokens.is_some()
    }

    /// Whether a fatal error was reported.
    pub(crate) fn is_fatal(&self) -> bool {
        self.fatal.load(Ordering::Acquire)
    }

    /// The newest statistics, once.
    pub(crate) fn take_statistics(&self) -> Option<String> {
        self.statistics.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The newest failure of a commit without waiting, once.
    pub(crate) fn take_commit_fault(&self) -> Option<Fault> {
        self.commit_fault.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// What went wrong last with the connections; what a person has to mend stays before what passes.
    pub(crate) fn trouble(&self) -> Option<Trouble> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn keep_trouble(&self, code: Code, text: &str) {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        let lasting = trouble.as_ref().is_some_and(|trouble| trouble.code.class() == Class::Stop);
        // That all brokers are down follows from what was said of each, and says less.
        let says_less = trouble.is_some() && code == Code::ALL_BROKERS_DOWN;
        if (!lasting && !says_less) || code.class() == Class::Stop {
            *trouble = Some(Trouble { code, text: text.to_owned() });
        }
    }

    /// The requests that the brokers said they know, where `debug` has `feature`.
    pub(crate) fn requests(&self) -> BTreeMap<String, (i16, i16)> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A line like `…: ApiKey Produce (0) Versions 3..13`.
    fn keep_request(&self, text: &str) -> Option<()> {
        let (name, rest) = text.split_once("ApiKey ")?.1.split_once(" (")?;
        let (low, high) = rest.split_once("Versions ")?.1.split_once("..")?;
        let versions = (low.parse().ok()?, high.trim().parse().ok()?);
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.insert(name.to_owned(), versions);
        Some(())
    }

    pub(crate) fn keep_commit_fault(&self, fault: Fault) {
        *self.commit_fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault);
    }

    /// Registers the callbacks of this file, with `self` as what they are called with.
    pub(crate) fn register(&self, conf: &conf::Conf) {
        // SAFETY: the configuration is ours; the pointer is used by callbacks only, and the handle that takes the
        // configuration over frees the context after itself.
        unsafe {
            sys::rd_kafka_conf_set_opaque(conf.as_ptr(), std::ptr::from_ref(self).cast_mut().cast());
            sys::rd_kafka_conf_set_log_cb(conf.as_ptr(), Some(on_log));
            sys::rd_kafka_conf_set_error_cb(conf.as_ptr(), Some(on_error));
            sys::rd_kafka_conf_set_stats_cb(conf.as_ptr(), Some(on_statistics));
            if self.has_tokens() {
                sys::rd_kafka_conf_set_oauthbearer_token_refresh_cb(conf.as_ptr(), Some(on_token));
                sys::rd_kafka_conf_enable_sasl_queue(conf.as_ptr(), 1);
            }
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // The client is gone, so none of its messages is left, and the counter stands at zero for its next user.
        COUNTERS.lock().unwrap_or_else(PoisonError::into_inner).push(self.held);
    }
}

/// The context behind a callback's opaque pointer.
///
/// # Safety
/// `opaque` is what `Context::register` set, and the handle is alive.
pub(crate) unsafe fn context<'a>(opaque: *mut c_void) -> &'a Context {
    // SAFETY: see above; a context is only ever shared, and all its fields are `Sync`.
    unsafe { &*opaque.cast::<Context>() }
}

unsafe extern "C" fn on_log(
    rk: *const sys::rd_kafka_t,
    level: c_int,
    facility: *const c_char,
    text: *const c_char,
) {
    let client = if rk.is_null() {
        String::new()
    } else {
        // SAFETY: a callback's handle is alive, and its name is a C text.
        copy(unsafe { sys::rd_kafka_name(rk) })
    };
    let (facility, text) = (copy(facility), copy(text));
    if facility == "APIVERSION" && !rk.is_null() {
        // SAFETY: a callback's handle is alive, and so is the context that was registered with it.
        unsafe { context(sys::rd_kafka_opaque(rk)) }.keep_request(&text);
    }
    // A key that the user passes through goes to consumers and producers alike, and concerns only one of them.
    let is_foreign = facility == "CONFWARN" && text.contains("will be ignored by this");
    // A connection that fails is also an error event, which is told.
    let is_told = facility == "FAIL" && level <= 3;
    let level = if is_foreign || is_told { 7 } else { level };
    // syslog's levels: 0–3 emergency to error, 4 warning, 5 notice, 6 info, 7 debug.
    match level {
        ..=3 => tracing::error!(target: "tollgate::kafka", client, facility, "{text}"),
        4 => tracing::warn!(target: "tollgate::kafka", client, facility, "{text}"),
        5 | 6 => tracing::info!(target: "tollgate::kafka", client, facility, "{text}"),
        _ => tracing::debug!(target: "tollgate::kafka", client, facility, "{text}"),
    }
}

unsafe extern "C" fn on_error(
    _rk: *mut sys::rd_kafka_t,
    code: c_int,
    reason: *const c_char,
    opaque: *mut c_void,
) {
    // SAFETY: called by a living client with its own opaque pointer.
    let context = unsafe { context(opaque) };
    let (code, reason) = (Code(code), copy(reason));
    if code == Code::FATAL {
        context.fatal.store(true, Ordering::Release);
        tracing::error!(target: "tollgate::kafka", code = code.name(), "{reason}");
    } else if code == Code::ALL_BROKERS_DOWN {
        context.keep_trouble(code, &reason);
        tracing::debug!(target: "tollgate::kafka", code = code.name(), "{reason}");
    } else {
        context.keep_trouble(code, &reason);
        tracing::warn!(target: "tollgate::kafka", code = code.name(), "{reason}");
    }
}

unsafe extern "C" fn on_statistics(
    _rk: *mut sys::rd_kafka_t,
    json: *mut c_char,
    _bytes: usize,
    opaque: *mut c_void,
) -> c_int {
    // SAFETY: called by a living client with its own opaque pointer; the text ends with a zero byte.
    let context = unsafe { context(opaque) };
    *context.statistics.lock().unwrap_or_else(PoisonError::into_inner) = Some(copy(json));
    0 // librdkafka frees its text.
}

unsafe extern "C" fn on_token(rk: *mut sys::rd_kafka_t, config: *const c_char, opaque: *mut c_void) {
    // SAFETY: called by a living client with its own opaque pointer.
    let context = unsafe { context(opaque) };
    let Some(tokens) = &context.tokens else { return };
    let failure = match tokens(&copy(config)) {
        Ok(token) => set_token(rk, &token).err(),
        Err(text) => Some(text),
    };
    if let Some(text) = failure {
        let text = c_text(&text);
        // SAFETY: the handle is alive during its callback, and the text outlives the call.
        unsafe { sys::rd_kafka_oauthbearer_set_token_failure(rk, text.as_ptr()) };
    }
}

fn set_token(rk: *mut sys::rd_kafka_t, token: &Token) -> Result<(), String> {
    let (value, principal) = (c_text(&token.value), c_text(&token.principal));
    let mut text: [c_char; conf::TEXT_BYTES] = [0; conf::TEXT_BYTES];
    // SAFETY: the handle is alive during its callback; the texts and the buffer outlive the call; no extensions.
    let code = unsafe {
        sys::rd_kafka_oauthbearer_set_token(
            rk,
            value.as_ptr(),
            token.lifetime_ms,
            principal.as_ptr(),
            std::ptr::null_mut(),
            0,
            text.as_mut_ptr(),
            conf::TEXT_BYTES,
        )
    };
    if code == 0 { Ok(()) } else { Err(conf::text_of(&text)) }
}
