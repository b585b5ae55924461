//! Operating a run: the ops port with metrics, probes, the live page, reload, rejects and candidate rules.
//!
//! ```text
//!  pipeline ──counts, histograms, samples──► hub ──► /metrics /healthz /readyz /config /rejects /shadow / /reload
//!  Kafka ends ──status──────────────────────► │
//! ```
//!
//! The port has a runtime of its own on one thread; tokio and axum are named nowhere else. A run goes on whatever
//! happens here, and nothing here runs on the way of a record.

pub mod client;
mod connections;
pub mod dashboard;
mod exposition;
mod http;
mod hub;
mod latency;
mod mask;
#[cfg(feature = "otlp")]
pub mod otlp;
mod places;
mod process;
mod rejects;
pub mod reload;
mod shadow;
mod view;

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::thread;

pub use hub::{Hub, Parts};
pub use places::Places;
pub use shadow::ShadowGroups;

use crate::config::{OPS_LISTEN, Ops, Secret};

/// Why the port cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpsError {
    /// Anybody on the network could read it.
    #[error(
        "`ops.listen`: found `{listen}`, which is beyond loopback; allowed with `ops.token` or `ops.token_file` only"
    )]
    TokenNeeded {
        /// The address.
        listen: String,
    },
    /// The token's file cannot be read, or is empty.
    #[error("`ops.token_file`: {file}: {message}")]
    TokenFile {
        /// The file.
        file: String,
        /// What is wrong.
        message: String,
    },
    /// The address cannot be had.
    #[error("`ops.listen`: {listen}: {source}; another address or \"off\" would do")]
    Bind {
        /// The address.
        listen: String,
        /// The system's words.
        source: std::io::Error,
    },
}

/// The port, bound and not served yet.
pub struct Port {
    listener: TcpListener,
    token: Secret,
}

/// Binds the port before the run starts; `None` if it is off, or if the default address is taken by another process.
pub fn bind(ops: &Ops) -> Result<Option<Port>, OpsError> {
    let Ok(address) = ops.listen.parse::<SocketAddr>() else { return Ok(None) };
    let token = read_token(ops)?;
    if !address.ip().is_loopback() && token.is_empty() {
        return Err(OpsError::TokenNeeded { listen: ops.listen.clone() });
    }
    match TcpListener::bind(address) {
        Ok(listener) => Ok(Some(Port { listener, token })),
        // Nobody asked for this address by name, so a second process on a machine is no failure.
        Err(error) if ops.listen == OPS_LISTEN => {
            tracing::warn!(
                "no ops port: {OPS_LISTEN}: {error}; set `ops.listen` to another address or \"off\""
            );
            Ok(None)
        }
        Err(source) => Err(OpsError::Bind { listen: ops.listen.clone(), source }),
    }
}

fn read_token(ops: &Ops) -> Result<Secret, OpsError> {
    if ops.token_file.is_empty() {
        return Ok(ops.token.clone());
    }
    let failed = |message: String| OpsError::TokenFile { file: ops.token_file.clone(), message };
    let text =
        std::fs::read_to_string(Path::new(&ops.token_file)).map_err(|error| failed(error.to_string()))?;
    let token = text.trim_end_matches(['\r', '\n']);
    if token.is_empty() { Err(failed("the file is empty".into())) } else { Ok(Secret::new(token.to_owned())) }
}

impl Port {
    /// The address that was bound.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.listener.local_addr().ok()
    }

    /// Serves on a thread of its own, as long as the process lives.
    pub fn serve(self, hub: &Arc<Hub>) -> std::io::Result<()> {
        if let Some(address) = self.address() {
            tracing::info!("ops port: http://{address}/");
        }
        self.listener.set_nonblocking(true)?;
        let shared = Arc::new(http::Shared::new(hub, self.token));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let listener = self.listener;
        thread::Builder::new().name("ops".into()).spawn(move || {
            let served = runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener)?;
                axum::serve(connections::Limited::new(listener), http::router(shared)).await
            });
            if let Err(error) = served {
                tracing::error!("the ops port has ended: {error}");
            }
        })?;
        Ok(())
    }
}
