//! Which families of sequence rules hold: the configuration's word, or the profile's where it says `auto`.

use crate::config::{self, Config, Correlation, Enforcement, Profile, ReplayGuard};
use crate::formats::Sequences;

/// How a family of rules is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Not at all.
    Off,
    /// What breaks it is counted and accepted.
    Warn,
    /// What breaks it is rejected.
    Enforce,
}

/// The families.
#[derive(Clone, Debug)]
pub struct Settings {
    /// All formats: no message is seen twice.
    pub replay: Mode,
    /// olympus: a parent is a known message of the same work.
    pub olympus_parents: Mode,
    /// olympus: assignments, cycles, the circuit breaker, cancellation.
    pub olympus_sequence: Mode,
    /// olympus: the same v1 signature twice.
    pub olympus_mac: Mode,
    /// agh: the lifecycle of work.
    pub agh_lifecycle: Mode,
    /// agh: work is opened and continued by messages with a target.
    pub agh_target_needed: bool,
    /// alfred: responses fit their requests.
    pub alfred_correlation: Mode,
    /// How long an unanswered request waits.
    pub alfred_keep_s: u32,
    /// bluelabel: retries count up.
    pub bluelabel_retries: Mode,
    /// humaninloop: iterations rise one by one.
    pub humaninloop_sequence: Mode,
    /// The window.
    pub window: config::Window,
    /// LIMIT: entries of the ledger.
    pub ledger_entries_max: usize,
}

impl Settings {
    /// What a configuration says.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        let strict = config.rules.profile == Profile::Strict;
        let page = config.rules.profile == Profile::Page;
        let format = &config.format;
        Self {
            olympus_parents: mode(format.olympus.parents, !page),
            olympus_sequence: mode(format.olympus.sequence, strict),
            replay: guard(config.window.replay),
            olympus_mac: guard(format.olympus.v1_mac_replay_guard),
            agh_lifecycle: mode(format.agh.lifecycle, true),
            agh_target_needed: !page,
            alfred_correlation: match format.alfred.correlation {
                Correlation::Auto if strict => Mode::Enforce,
                Correlation::Auto | Correlation::Off => Mode::Off,
                Correlation::Warn => Mode::Warn,
                Correlation::Enforce => Mode::Enforce,
            },
            alfred_keep_s: format.alfred.dedup_keep_s,
            bluelabel_retries: mode(format.bluelabel.retries, strict),
            humaninloop_sequence: match format.humaninloop.sequence {
                // There is no id of a run, so nothing is refused unless the user says so.
                Enforcement::Auto if strict => Mode::Warn,
                choice => mode(choice, false),
            },
            window: config.window.clone(),
            ledger_entries_max: config.ledger.entries_max as usize,
        }
    }

    /// The families of sequence rules that are looked at.
    #[must_use]
    pub fn sequences(&self) -> Sequences {
        Sequences {
            olympus_parents: self.olympus_parents != Mode::Off,
            olympus_sequence: self.olympus_sequence != Mode::Off,
            olympus_mac: self.olympus_mac != Mode::Off,
            agh: self.agh_lifecycle != Mode::Off,
            alfred: self.alfred_correlation != Mode::Off,
            bluelabel: self.bluelabel_retries != Mode::Off,
            humaninloop: self.humaninloop_sequence != Mode::Off,
        }
    }
}

fn mode(choice: Enforcement, by_profile: bool) -> Mode {
    match choice {
        Enforcement::Auto if by_profile => Mode::Enforce,
        Enforcement::Auto | Enforcement::Off => Mode::Off,
        Enforcement::Warn => Mode::Warn,
        Enforcement::Enforce => Mode::Enforce,
    }
}

fn guard(choice: ReplayGuard) -> Mode {
    match choice {
        ReplayGuard::Off => Mode::Off,
        ReplayGuard::Warn => Mode::Warn,
        ReplayGuard::Enforce => Mode::Enforce,
    }
}
