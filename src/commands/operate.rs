//! What a run carries for whoever operates it: the ops port, reload by signal, candidate rules.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::thread::{self, JoinHandle};

use anyhow::{Context as _, anyhow};

use super::{Failure, log, usage};
use crate::cli::Run;
use crate::config::Config;
use crate::histograms::Histograms;
use crate::ops::reload::{self, Reloader};
use crate::ops::{self, Hub, Parts, Places, Port, ShadowGroups};
use crate::pipeline::sample::Sampler;
use crate::pipeline::stop::Stop;
use crate::pipeline::{Editions, Meters};
use crate::state::Settings;
use crate::status::Status;

/// The rules of a run, and the way to replace them.
pub(super) struct Rulebook {
    pub(super) editions: Arc<Editions>,
    pub(super) reloader: Arc<Reloader>,
}

impl Rulebook {
    /// Compiles the rules, and the candidate's if there is one; a hang-up reads the configuration again.
    pub(super) fn open(args: &Run, config: &Config) -> Result<Self, Failure> {
        // A format of the command line does not stand in the file.
        let file = args.config.as_deref().filter(|_| args.format.is_none());
        let (rules, candidate) = reload::compile(config, file.or(args.config.as_deref())).map_err(usage)?;
        let editions = Arc::new(Editions::new(rules, Settings::of(config), candidate));
        let reloader = Arc::new(Reloader::new(
            args.config.as_deref(),
            args.format.as_deref(),
            config.clone(),
            Arc::clone(&editions),
        ));
        reload_on_hangup(&reloader)?;
        Ok(Self { editions, reloader })
    }
}

/// SIGHUP reads the configuration again; without this, it would end the process.
fn reload_on_hangup(reloader: &Arc<Reloader>) -> Result<(), Failure> {
    let mut signals = signal_hook::iterator::Signals::new([signal_hook::consts::SIGHUP])?;
    let reloader = Arc::clone(reloader);
    thread::Builder::new().name("reload".into()).spawn(move || {
        for _ in signals.forever() {
            // The reloader itself says how it went.
            let _ = reloader.reload();
        }
    })?;
    Ok(())
}

/// Opens the ops port: where the configuration says with Kafka, only by `--ops` with files.
pub(super) fn bind(args: &Run, config: &mut Config) -> Result<Option<Port>, Failure> {
    if let Some(listen) = &args.ops {
        if listen != "off" && listen.parse::<SocketAddr>().is_err() {
            return Err(usage(anyhow!("--ops: found `{listen}`, allowed: address:port or `off`")));
        }
        config.ops.listen.clone_from(listen);
    } else if !args.paths.is_empty() {
        return Ok(None);
    }
    ops::bind(&config.ops).map_err(usage)
}

/// A run that is being watched.
pub(super) struct Operated {
    pub(super) meters: Arc<Meters>,
    hub: Arc<Hub>,
    report: JoinHandle<std::io::Result<()>>,
    /// Sends spans of batches.
    spans: Option<JoinHandle<std::io::Result<()>>>,
}

impl Operated {
    /// Starts everything around a run.
    pub(super) fn start(
        port: Option<Port>,
        rulebook: &Rulebook,
        places: Places,
        status: Option<&Arc<Status>>,
        stop: &Arc<Stop>,
    ) -> Result<Self, Failure> {
        let config = rulebook.reloader.config();
        let tapped_per_s = Arc::new(AtomicU32::new(0));
        let mut meters = Meters::default();
        let samples = port.is_some().then(|| {
            let (sampler, copies) = Sampler::new(config.ops.rejects_per_s, Arc::clone(&tapped_per_s));
            meters.sampler = Some(sampler);
            copies
        });
        // Also without a candidate: a reload can bring one.
        let (to, changes) = ShadowGroups::channel();
        meters.shadow = Some(to);
        #[cfg(feature = "otlp")]
        let export = ops::otlp::Export::open(&config.traces.endpoint, &mut meters)
            .context("`traces.endpoint`")
            .map_err(usage)?;
        let meters = Arc::new(meters);
        let hub = Arc::new(Hub::new(Parts {
            meters: Arc::clone(&meters),
            status: status.cloned(),
            places,
            editions: Arc::clone(&rulebook.editions),
            reloader: Arc::clone(&rulebook.reloader),
            stop: Arc::clone(stop),
            tapped_per_s,
            log_suppressed: &log::SUPPRESSED,
        }));
        let gathering = Arc::clone(&hub);
        // The run goes on without the report, and fails because of it when it ends.
        let gather = move || gathering.gather_shadow(&changes);
        let report = thread::Builder::new().name("shadow".into()).spawn(gather)?;
        if let (Some(port), Some(samples)) = (port, samples) {
            let (gathering, asking) = (Arc::clone(&hub), Arc::clone(&hub));
            thread::Builder::new().name("samples".into()).spawn(move || gathering.gather(&samples))?;
            thread::Builder::new().name("ends".into()).spawn(move || asking.ask_ends())?;
            port.serve(&hub)?;
        }
        #[cfg(feature = "otlp")]
        let spans = export
            .map(|export| {
                let asking = Arc::clone(&hub);
                thread::Builder::new().name("spans".into()).spawn(move || export.run(&asking))
            })
            .transpose()?;
        #[cfg(not(feature = "otlp"))]
        let spans = None;
        Ok(Self { meters, hub, report, spans })
    }

    /// A second is over.
    pub(super) fn interval(&self, interval: &Histograms) {
        self.hub.interval(interval);
    }

    /// The run has ended: closes the report of candidate rules.
    pub(super) fn finish(self) -> Result<(), Failure> {
        self.hub.end();
        if let Some(spans) = self.spans {
            spans.join().map_err(|_| anyhow!("the thread of the spans panicked"))??;
        }
        let ended =
            self.report.join().map_err(|_| anyhow!("the thread of the candidate's report panicked"))?;
        Ok(ended.context("`shadow.report`")?)
    }
}
