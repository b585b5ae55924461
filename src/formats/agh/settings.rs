//! The settings of agh, as the rules read them.

/// How `thread_id` is spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ThreadGrammar {
    Any,
    Reference,
}

/// Whether the trust profile is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VerifyProof {
    Off,
    WhenPresent,
    Required,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Whether the rules that come from the reference alone hold (all profiles but `page`).
    pub(crate) reference: bool,
    pub(crate) max_replay_age_s: i64,
    pub(crate) max_skew_s: i64,
    pub(crate) thread_grammar: ThreadGrammar,
    pub(crate) ignore_unknown: bool,
    pub(crate) null_as_absent: bool,
    pub(crate) trim: bool,
    pub(crate) secret_scan: bool,
    pub(crate) task_write_needs_proof: bool,
    pub(crate) verify_proof: VerifyProof,
    pub(crate) reject_unbound_direct: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            reference: true,
            max_replay_age_s: 300,
            max_skew_s: 300,
            thread_grammar: ThreadGrammar::Any,
            ignore_unknown: false,
            null_as_absent: false,
            trim: false,
            secret_scan: false,
            task_write_needs_proof: false,
            verify_proof: VerifyProof::Off,
            reject_unbound_direct: false,
        }
    }
}
