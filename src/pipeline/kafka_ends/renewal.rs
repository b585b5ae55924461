//! A consumer that has failed is made anew, unless a process with its name lives; so is one that leaves for a while, since
//! its group has come to rest with partitions that nobody has (`orphans.rs`).
//!
//! ```text
//! failed ─► given up ─► fenced? ─no──► a pause ──────────────────────────► a new member
//!                          └─yes─► is the name in the group? ─no, or dead─┘
//!                                           └─for longer than a dead member can be there: exit 3
//! ```
//!
//! The brokers fence a member whose name another one has taken, and also one whose answer they lost in a restart: then the
//! name belongs to nobody, and leaves the group with its session. So the group is asked, and nobody who lives is ever
//! fenced by us: two processes with one name cannot take turns. It reads no records.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::config::Config;
use crate::kafka::{
    Admin, Class, ClientSettings, Consumer, ConsumerSettings, GroupDescription, KafkaError,
    KafkaSettingsError,
};

use super::progress::Progress;
use super::vitals::Vitals;

/// How long an assignment waits for its offsets, inside the reader's call; a new member has more patience than that, and hears
/// when the run is to stop.
const ASSIGN_WAIT: Duration = Duration::from_secs(10);
/// How long a client that failed may take to end before it is left to itself.
const GIVE_UP_WAIT: Duration = Duration::from_secs(2);
/// The pause before a new member joins.
const PAUSE: Duration = Duration::from_secs(1);
/// How often the group is asked, and how long an answer may take.
const ASK_EVERY: Duration = Duration::from_secs(1);
const ASK_WAIT: Duration = Duration::from_secs(2);
/// How long the reader rests between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A member that is gone leaves the group after one session, counted anew when its coordinator changes.
const SESSIONS: u32 = 3;
/// Where the group cannot be asked: who is fenced again so soon has a namesake.
const AGAIN: Duration = Duration::from_mins(2);

/// Makes consumers anew, one at a time.
pub(super) struct Renewal {
    config: Arc<Config>,
    name: String,
    progress: Arc<Progress>,
    step: Step,
    known: Known,
}

enum Step {
    /// There is nothing to renew.
    None,
    /// A new member joins then.
    Due(Instant),
    Doubt(Doubt),
}

/// Whether a namesake lives.
struct Doubt {
    admin: Admin,
    /// What the brokers said.
    text: String,
    ask_at: Instant,
}

/// What is known about our name.
#[derive(Default)]
struct Known {
    /// Since when the group has had a member with it, without a gap in its answers.
    taken: Option<Instant>,
    /// When we last went on without an answer.
    unasked: Option<Instant>,
}

/// What the group says about our name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Free,
    Taken,
    /// The brokers are away, or busy.
    NotNow,
    /// It is not told.
    Never,
}

/// What follows from it.
#[derive(Debug, PartialEq, Eq)]
enum Finding {
    NotYet,
    Nobody,
    Namesake,
}

impl Renewal {
    pub(super) fn new(config: Arc<Config>, name: String, progress: Arc<Progress>) -> Self {
        Self { config, name, progress, step: Step::None, known: Known::default() }
    }

    /// What a member is made with.
    pub(super) fn settings(&self) -> Result<ConsumerSettings, KafkaSettingsError> {
        let settings = ConsumerSettings::from_config(&self.config)?;
        Ok(ConsumerSettings { instance: Some(self.name.clone()), assign_wait: ASSIGN_WAIT, ..settings })
    }

    /// Whether the consumer is being made anew, and cannot be read.
    pub(super) fn is_under_way(&self) -> bool {
        !matches!(self.step, Step::None)
    }

    /// The consumer has failed: gives it up, if a new one can do better. All its messages that can be dropped must be.
    pub(super) fn begin(&mut self, consumer: &mut Consumer, error: KafkaError) -> Result<(), KafkaError> {
        // What passes was waited for already, or left something half done.
        if !matches!(error.class(), Class::Retry | Class::Pause | Class::Rebuild) {
            return Err(error);
        }
        self.tell();
        let Some(text) = consumer.fenced() else {
            tracing::warn!("{error}; the consumer is made anew, and goes on from the committed offsets");
            consumer.give_up(GIVE_UP_WAIT);
            self.step = Step::Due(Instant::now() + PAUSE);
            return Ok(());
        };
        tracing::warn!("{text}; the group is asked whether another process has the name `{}`", self.name);
        // Before the writer is asked for anything: it makes no producer while a namesake may live.
        self.progress.set_doubt(true);
        consumer.give_up(GIVE_UP_WAIT);
        self.wait_for_name(text)
    }

    /// Leaves the group, and comes back once it has noticed, so that partitions are given out anew.
    pub(super) fn leave(&mut self, consumer: &mut Consumer) -> Result<(), KafkaError> {
        self.tell();
        consumer.give_up(GIVE_UP_WAIT);
        self.wait_for_name("it was left by this process, and the name did not become free".to_owned())
    }

    /// A new member joins as soon as the group has none with our name.
    fn wait_for_name(&mut self, text: String) -> Result<(), KafkaError> {
        let client = ClientSettings::from_config(&self.config).map_err(|error| refused(&error))?;
        self.known.taken = None;
        self.step = Step::Doubt(Doubt { admin: Admin::connect(&client)?, text, ask_at: Instant::now() });
        Ok(())
    }

    fn tell(&self) {
        Vitals::count(&self.progress.vitals.rejoins);
        Vitals::count(&self.progress.status.rejoins);
        self.progress.status.left();
    }

    /// Goes on with it; returns soon.
    pub(super) fn go_on(&mut self, consumer: &mut Consumer) -> Result<(), KafkaError> {
        std::thread::sleep(LOOK_EVERY);
        let now = Instant::now();
        match &mut self.step {
            Step::Due(at) if *at <= now => self.rejoin(consumer),
            Step::Doubt(doubt) if doubt.ask_at <= now => {
                doubt.ask_at = now + ASK_EVERY;
                let answer = answer(doubt.admin.group(&self.config.kafka.group, ASK_WAIT), &self.name);
                match self.known.weigh(answer, now, session(&self.config) * SESSIONS) {
                    Finding::NotYet => Ok(()),
                    Finding::Namesake => {
                        Err(KafkaError::Fenced { name: self.name.clone(), text: doubt.text.clone() })
                    }
                    Finding::Nobody => {
                        tracing::info!(
                            "no other process has the name `{}`: the consumer is made anew",
                            self.name
                        );
                        self.rejoin(consumer)
                    }
                }
            }
            Step::None | Step::Due(_) | Step::Doubt(_) => Ok(()),
        }
    }

    fn rejoin(&mut self, consumer: &mut Consumer) -> Result<(), KafkaError> {
        consumer.rejoin(self.settings().map_err(|error| refused(&error))?)?;
        self.step = Step::None;
        self.progress.set_doubt(false);
        self.progress.set_leaving(false);
        Ok(())
    }
}

impl Known {
    /// What an answer of the group means; a member that is dead is there for `dead_max` at most.
    fn weigh(&mut self, answer: Answer, now: Instant, dead_max: Duration) -> Finding {
        let is_over = |since: Option<Instant>, most: Duration| since.is_none_or(|since| now - since >= most);
        let taken = std::mem::take(&mut self.taken);
        match answer {
            Answer::NotNow => Finding::NotYet,
            Answer::Taken => {
                self.taken = taken.or(Some(now));
                if is_over(self.taken, dead_max) { Finding::Namesake } else { Finding::NotYet }
            }
            Answer::Never if !is_over(self.unasked.replace(now), AGAIN) => Finding::Namesake,
            Answer::Never | Answer::Free => Finding::Nobody,
        }
    }
}

/// How long a dead member is there, also where that was passed through.
pub(super) fn session(config: &Config) -> Duration {
    let passed = config.librdkafka.get("session.timeout.ms").and_then(|ms| ms.parse().ok());
    Duration::from_millis(passed.unwrap_or(u64::from(config.kafka.session_timeout_ms)))
}

fn answer(asked: Result<GroupDescription, KafkaError>, name: &str) -> Answer {
    match asked {
        Ok(group) if group.members.iter().any(|member| member.instance == name) => Answer::Taken,
        Ok(_) => Answer::Free,
        Err(error) if error.is_retriable() => {
            tracing::debug!("{error}; the group is asked again");
            Answer::NotNow
        }
        Err(error) => {
            tracing::warn!("{error}; so a namesake shows only if it takes the name again");
            Answer::Never
        }
    }
}

fn refused(error: &KafkaSettingsError) -> KafkaError {
    KafkaError::Create { kind: "consumer", text: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_name_that_stays_taken_is_a_namesakes() {
        let (mut known, start) = (Known::default(), Instant::now());
        let mut weigh = |answer, seconds| known.weigh(answer, start + SECOND * seconds, SECOND * 30);
        assert_eq!(weigh(Answer::Taken, 0), Finding::NotYet);
        assert_eq!(weigh(Answer::Taken, 29), Finding::NotYet, "the dead may be there for so long");
        // Another broker has the group now, and counts the session anew.
        assert_eq!(weigh(Answer::NotNow, 30), Finding::NotYet);
        assert_eq!(weigh(Answer::Taken, 31), Finding::NotYet);
        assert_eq!(weigh(Answer::Taken, 60), Finding::NotYet);
        assert_eq!(weigh(Answer::Taken, 61), Finding::Namesake);
        assert_eq!(weigh(Answer::Free, 62), Finding::Nobody);
    }

    #[test]
    fn a_session_that_was_passed_through_counts() {
        let mut config = Config::default();
        assert_eq!(session(&config), SECOND * 10);
        config.librdkafka.insert("session.timeout.ms".into(), "45000".into());
        assert_eq!(session(&config), SECOND * 45);
    }

    #[test]
    fn where_the_group_is_silent_the_second_time_tells() {
        let (mut known, start) = (Known::default(), Instant::now());
        let mut weigh = |seconds| known.weigh(Answer::Never, start + SECOND * seconds, SECOND * 30);
        assert_eq!(weigh(0), Finding::Nobody);
        assert_eq!(weigh(121), Finding::Nobody, "long ago");
        assert_eq!(weigh(140), Finding::Namesake);
    }
}
