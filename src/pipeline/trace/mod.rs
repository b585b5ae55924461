//! What a batch tells about its own way: when each stage had it, and what was decided, for a span of a trace.
//!
//! Only with the feature `otlp`. Without it a trace is empty, each call is nothing, and nobody can ask for spans. A batch
//! is told of when it is committed, by a queue that drops: whoever gathers spans never holds up a record.

#[cfg(feature = "otlp")]
mod marks;
#[cfg(not(feature = "otlp"))]
mod nothing;

#[cfg(feature = "otlp")]
pub use marks::{BatchSpan, Spans, Trace};
#[cfg(not(feature = "otlp"))]
pub use nothing::{Spans, Trace};
