//! Where and with what a measurement was made: the head of every report.

use std::fs;

use serde_json::{Value, json};

/// The machine and the build.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The processor's name.
    pub processor: String,
    /// Cores that this process may use.
    pub cores: usize,
    /// The kernel.
    pub kernel: String,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Work of all processes in the last minute: above 0 at the start, somebody else is measured, too.
    pub load_average: String,
    /// Tollgate's version.
    pub version: &'static str,
    /// How it was built.
    pub build: &'static str,
}

impl Machine {
    /// Asks the system; what it does not say is `?`.
    #[must_use]
    pub fn here() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let field = |text: &str, name: &str| {
            let line = text.lines().find(|line| line.starts_with(name));
            line.and_then(|line| line.split_once(':'))
                .map_or("?".to_owned(), |(_, value)| value.trim().to_owned())
        };
        let memory = field(&read("/proc/meminfo"), "MemTotal");
        let kibibytes = memory.split(' ').next().and_then(|number| number.parse::<u64>().ok());
        Self {
            processor: field(&read("/proc/cpuinfo"), "model name"),
            cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            memory_bytes: kibibytes.unwrap_or_default() * 1024,
            load_average: read("/proc/loadavg").split(' ').next().unwrap_or("?").to_owned(),
            version: env!("CARGO_PKG_VERSION"),
            build: if cfg!(debug_assertions) { "debug" } else { "release" },
        }
    }

    /// As JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "processor": self.processor, "cores": self.cores, "kernel": self.kernel,
            "memory_bytes": self.memory_bytes, "load_average": self.load_average,
            "tollgate": self.version, "build": self.build,
        })
    }

    /// As one line.
    #[must_use]
    pub fn to_text(&self) -> String {
        format!(
            "tollgate {} ({}), {} cores of {}, Linux {}, load average {}",
            self.version, self.build, self.cores, self.processor, self.kernel, self.load_average
        )
    }
}
