//! The sequence rules next to their limits: what just passes, what just does not, in every mode of every family.

use super::*;
use crate::config::Config;
use crate::credentials::names::Names;
use crate::formats::{
    AghMessage, AlfredMessage, Evaluator, Exchange, Lineage, OlympusMessage, OlympusType, WorkStep,
    WrittenFile,
};
use crate::state::{Ruling, State};

const NOW: i64 = 1_000_000;
const LEAD: u8 = 1;
const CODER: u8 = 2;
const TESTER: u8 = 3;

fn id(name: &str) -> Identity {
    crate::credentials::digest::identity(&[name.as_bytes()])
}

fn enforcing() -> Settings {
    let mut config = Config::default();
    config.rules.profile = crate::config::Profile::Strict;
    let mut settings = Settings::of(&config);
    settings.humaninloop_sequence = Mode::Enforce;
    settings
}

/// Decides about records one after the other; each is a message of its own.
struct Sequence {
    state: State,
    number: u64,
}

impl Sequence {
    fn new(settings: Settings) -> Self {
        Self { state: State::new(settings).unwrap(), number: 0 }
    }

    fn ruling(&mut self, lifecycle: Lifecycle) -> Ruling {
        self.number += 1;
        let facts = Facts {
            identity: Some(id(&format!("record {}", self.number))),
            content: 0,
            now: Some(Timestamp::from_secs(NOW)),
            keep_until: Timestamp::from_secs(NOW + 900),
            capped: false,
            burns: false,
            lifecycle,
        };
        self.state.decide(&facts).unwrap()
    }

    fn take(&mut self, lifecycle: Lifecycle) -> Option<Reason> {
        self.ruling(lifecycle).reason
    }

    fn olympus(&mut self, message: OlympusMessage) -> Option<Reason> {
        self.take(Lifecycle::Olympus(message))
    }
}

fn message(message_type: OlympusType, source: u8, target: u8) -> OlympusMessage {
    OlympusMessage {
        work: id("work"),
        lineage: Some(Lineage { message: id("message"), parent: None }),
        source,
        target,
        evaluator: (source == TESTER).then_some(Evaluator::Tests),
        by_tech_lead: source == LEAD,
        message_type,
        cycle: None,
        partial: false,
        mac: None,
    }
}

fn feedback(cycle: u8) -> OlympusMessage {
    OlympusMessage { cycle: Some(cycle), ..message(OlympusType::Feedback, TESTER, LEAD) }
}

#[test]
fn whoever_reports_was_assigned() {
    let mut sequence = Sequence::new(enforcing());
    let reports = [OlympusType::Status, OlympusType::Result, OlympusType::Escalate];
    for report in reports {
        assert_eq!(sequence.olympus(message(report, CODER, LEAD)), Some(Reason::NoAssignment), "{report:?}");
    }
    assert_eq!(sequence.olympus(message(OlympusType::Watch, LEAD, CODER)), None);
    assert_eq!(sequence.olympus(message(OlympusType::Feedback, LEAD, CODER)), Some(Reason::NoAssignment));
    assert_eq!(sequence.olympus(message(OlympusType::Assign, LEAD, CODER)), None);
    for report in reports {
        assert_eq!(sequence.olympus(message(report, CODER, LEAD)), None, "{report:?}");
        let elsewhere = OlympusMessage { work: id("other"), ..message(report, CODER, LEAD) };
        assert_eq!(sequence.olympus(elsewhere), Some(Reason::NoAssignment), "work of another conversation");
        assert_eq!(sequence.olympus(message(report, TESTER, LEAD)), Some(Reason::NoAssignment));
    }
    // Relayed feedback is for somebody who was assigned; the lead itself was not.
    assert_eq!(sequence.olympus(message(OlympusType::Feedback, LEAD, CODER)), None);
}

#[test]
fn parents_are_messages_of_the_same_work_and_come_from_an_assignment() {
    let mut sequence = Sequence::new(enforcing());
    let named = |name: &str, parent: Option<&str>, message: OlympusMessage| {
        let within = |name| OlympusMessage::name(&Names::Lasting, message.work, id(name));
        let lineage = Lineage { message: within(name), parent: parent.map(within) };
        OlympusMessage { lineage: Some(lineage), ..message }
    };
    let status = message(OlympusType::Status, CODER, LEAD);
    let watch = message(OlympusType::Watch, LEAD, CODER);
    let mut take = |name: &str, parent: Option<&str>, message| sequence.olympus(named(name, parent, message));
    assert_eq!(take("root", None, watch), None);
    assert_eq!(take("a0", None, message(OlympusType::Assign, LEAD, CODER)), None);
    let bad = Some(Reason::BadParent);
    assert_eq!(take("self", Some("self"), status), bad);
    assert_eq!(take("lost", Some("nowhere"), status), bad);
    assert_eq!(take("astray", Some("root"), status), bad, "it comes from no assignment");
    let elsewhere = |message: OlympusMessage| OlympusMessage { work: id("other"), ..message };
    assert_eq!(take("b0", None, elsewhere(message(OlympusType::Assign, LEAD, CODER))), None);
    assert_eq!(take("b1", Some("a0"), elsewhere(status)), bad, "a message of other work");
    assert_eq!(take("b2", Some("b0"), elsewhere(status)), None);
    for hop in 1..=64 {
        let (name, parent) = (format!("a{hop}"), format!("a{}", hop - 1));
        assert_eq!(take(&name, Some(&parent), status), None, "{hop} parents");
    }
    assert_eq!(take("a65", Some("a64"), status), bad, "65 parents");
    // A refused message is nobody's parent.
    assert_eq!(take("a66", Some("a65"), status), bad);
}

#[test]
fn the_third_feedback_of_an_evaluator_is_one_too_many() {
    let mut sequence = Sequence::new(enforcing());
    for persona in [CODER, TESTER] {
        assert_eq!(sequence.olympus(message(OlympusType::Assign, LEAD, persona)), None);
    }
    assert_eq!(sequence.olympus(feedback(2)), Some(Reason::PayloadContract), "the first is number 1");
    assert_eq!(sequence.olympus(feedback(1)), None);
    assert_eq!(sequence.olympus(feedback(1)), Some(Reason::PayloadContract));
    // What the lead relays does not count.
    assert_eq!(sequence.olympus(message(OlympusType::Feedback, LEAD, CODER)), None);
    assert_eq!(sequence.olympus(feedback(2)), None);
    assert_eq!(sequence.olympus(feedback(3)), Some(Reason::CycleLimit));
    let documents = OlympusMessage { evaluator: Some(Evaluator::Documents), ..feedback(1) };
    assert_eq!(sequence.olympus(documents), None, "the other evaluator has a count of its own");
}

#[test]
fn the_fifth_round_trips_the_breaker_for_good() {
    let mut sequence = Sequence::new(enforcing());
    let assign = message(OlympusType::Assign, LEAD, CODER);
    assert_eq!(sequence.olympus(assign), None);
    for round in 1..=4 {
        assert_eq!(sequence.olympus(message(OlympusType::Block, CODER, LEAD)), None);
        assert_eq!(sequence.olympus(assign), None, "round {round}");
        assert_eq!(sequence.olympus(assign), None, "not after a block, so no round");
    }
    assert_eq!(sequence.olympus(message(OlympusType::Block, CODER, LEAD)), None);
    assert_eq!(sequence.olympus(assign), Some(Reason::CircuitOpen));
    assert_eq!(sequence.olympus(message(OlympusType::Status, CODER, LEAD)), None);
    assert_eq!(sequence.olympus(assign), Some(Reason::CircuitOpen), "until a person decides");
    let elsewhere = OlympusMessage { work: id("other"), ..assign };
    assert_eq!(sequence.olympus(elsewhere), None);
}

#[test]
fn after_a_cancellation_only_what_is_partial_comes() {
    let mut sequence = Sequence::new(enforcing());
    let of = |message_type| message(message_type, CODER, LEAD);
    for persona in [CODER, TESTER] {
        assert_eq!(sequence.olympus(message(OlympusType::Assign, LEAD, persona)), None);
    }
    assert_eq!(sequence.olympus(message(OlympusType::Cancel, LEAD, CODER)), None);
    let again = sequence.ruling(Lifecycle::Olympus(message(OlympusType::Cancel, LEAD, CODER)));
    assert!(again.reason.is_none() && again.ignored, "a second cancellation has no effect");
    let cancelled = Some(Reason::Cancelled);
    assert_eq!(sequence.olympus(message(OlympusType::Assign, LEAD, CODER)), cancelled);
    assert_eq!(sequence.olympus(message(OlympusType::Assign, LEAD, TESTER)), None, "others go on");
    for message_type in [OlympusType::Result, OlympusType::Approve, OlympusType::Block] {
        assert_eq!(sequence.olympus(of(message_type)), cancelled, "{message_type:?}");
        assert_eq!(sequence.olympus(OlympusMessage { partial: true, ..of(message_type) }), None);
    }
    assert_eq!(sequence.olympus(message(OlympusType::Feedback, LEAD, CODER)), cancelled);
    assert_eq!(sequence.olympus(of(OlympusType::Status)), None);
    assert_eq!(sequence.olympus(of(OlympusType::Escalate)), None);
}

#[test]
fn an_answer_fits_its_request_in_every_member() {
    let request = AlfredMessage {
        side: Exchange::Request,
        request: id("request"),
        source: id("asker"),
        destination: id("server"),
        intent: id("intent"),
        trace: Some(id("trace")),
        sent: Timestamp::from_secs(NOW),
    };
    let answer =
        AlfredMessage { side: Exchange::Response, source: id("server"), destination: id("asker"), ..request };
    let mut sequence = Sequence::new(enforcing());
    let mut take = |message| sequence.take(Lifecycle::Alfred(message));
    let refused = Some(Reason::Correlation);
    assert_eq!(take(answer), refused, "no request yet");
    assert_eq!(take(request), None);
    let misfits = [
        AlfredMessage { request: id("other"), ..answer },
        AlfredMessage { source: id("other"), ..answer },
        AlfredMessage { destination: id("other"), ..answer },
        AlfredMessage { source: id("asker"), destination: id("server"), ..answer },
        AlfredMessage { intent: id("other"), ..answer },
        AlfredMessage { trace: None, ..answer },
        AlfredMessage { trace: Some(id("other")), ..answer },
        AlfredMessage { sent: Timestamp::from_micros(NOW * 1_000_000 - 1), ..answer },
    ];
    for (number, misfit) in misfits.into_iter().enumerate() {
        assert_eq!(take(misfit), refused, "misfit {number}");
    }
    assert_eq!(take(answer), None, "sent in the same instant");
    assert_eq!(take(answer), refused, "a second answer");
    assert_eq!(take(AlfredMessage { request: id("untraced"), trace: None, ..request }), None);
    assert_eq!(take(AlfredMessage { request: id("untraced"), ..answer }), None, "a trace may be added");
}

#[test]
fn retries_count_up_and_iterations_neither_go_back_nor_leave_one_out() {
    let mut sequence = Sequence::new(enforcing());
    let mut retry = |logical: &str, retry_count| {
        sequence.take(Lifecycle::Bluelabel { logical: id(logical), retry_count })
    };
    let stale = Some(Reason::StaleRetry);
    assert_eq!([retry("a", 0), retry("a", 0), retry("a", 1), retry("a", 5)], [None, stale, None, None]);
    assert_eq!(
        [retry("a", 5), retry("a", 4), retry("b", 4), retry("a", u64::MAX)],
        [stale, stale, None, None]
    );
    assert_eq!(retry("a", u64::MAX), stale);
    let mut input = |run: &str, iteration| sequence.take(Lifecycle::Humaninloop { run: id(run), iteration });
    let out = Some(Reason::Inconsistent);
    assert_eq!([input("a", 3), input("a", 3), input("a", 4), input("b", 1)], [None; 4]);
    assert_eq!([input("a", 6), input("a", 3), input("a", 5), input("a", u32::MAX)], [out, out, None, out]);
}

/// A file may change, stay, and change again; what it was before is a late output's content.
#[test]
fn a_file_of_humaninloop_does_not_go_back_to_an_older_content() {
    let mut sequence = Sequence::new(enforcing());
    let mut write = |files: &[(&str, u32)]| {
        let mut written =
            files.iter().map(|(file, content)| WrittenFile { file: id(file), content: *content });
        sequence.take(Lifecycle::HumaninloopFiles(std::array::from_fn(|_| written.next())))
    };
    let back = Some(Reason::Inconsistent);
    assert_eq!([write(&[("a", 1)]), write(&[("a", 1)]), write(&[("a", 2)]), write(&[("b", 1)])], [None; 4]);
    assert_eq!([write(&[("a", 1)]), write(&[("b", 2), ("a", 1)]), write(&[("a", 2)])], [back, back, None]);
    // What is refused writes nothing; four contents are looked back on.
    assert_eq!([write(&[("b", 2)]), write(&[("a", 3)]), write(&[("a", 4)]), write(&[("a", 5)])], [None; 4]);
    assert_eq!([write(&[("a", 2)]), write(&[("a", 1)])], [back, None]);
}

/// Where the mode of a family stands.
type ModeOf = fn(&mut Settings) -> &mut Mode;

/// One record of each family that breaks its rule on an empty ledger, or after the first of two.
fn breaking() -> Vec<(Reason, ModeOf, Vec<Lifecycle>)> {
    let alfred = AlfredMessage {
        side: Exchange::Response,
        request: id("request"),
        source: id("a"),
        destination: id("b"),
        intent: id("c"),
        trace: None,
        sent: Timestamp::from_secs(NOW),
    };
    let talk = AghMessage {
        work: id("work"),
        container: id("one"),
        from: id("a"),
        to: Some(id("b")),
        step: WorkStep::Talk,
    };
    let retry = Lifecycle::Bluelabel { logical: id("message"), retry_count: 1 };
    let input = |iteration| Lifecycle::Humaninloop { run: id("run"), iteration };
    let lineage = Some(Lineage { message: id("message"), parent: Some(id("nowhere")) });
    let orphan = OlympusMessage { lineage, ..message(OlympusType::Watch, LEAD, CODER) };
    vec![
        (Reason::BadParent, |settings| &mut settings.olympus_parents, vec![Lifecycle::Olympus(orphan)]),
        (
            Reason::NoAssignment,
            |settings| &mut settings.olympus_sequence,
            vec![Lifecycle::Olympus(message(OlympusType::Status, CODER, LEAD))],
        ),
        (
            Reason::WorkContainerMismatch,
            |settings| &mut settings.agh_lifecycle,
            vec![Lifecycle::Agh(talk), Lifecycle::Agh(AghMessage { container: id("other"), ..talk })],
        ),
        (Reason::Correlation, |settings| &mut settings.alfred_correlation, vec![Lifecycle::Alfred(alfred)]),
        (Reason::StaleRetry, |settings| &mut settings.bluelabel_retries, vec![retry, retry]),
        (Reason::Inconsistent, |settings| &mut settings.humaninloop_sequence, vec![input(4), input(1)]),
    ]
}

#[test]
fn every_family_is_off_or_warns_or_decides() {
    for (reason, mode_of, records) in breaking() {
        for mode in [Mode::Off, Mode::Warn, Mode::Enforce] {
            let mut settings = enforcing();
            *mode_of(&mut settings) = mode;
            let mut sequence = Sequence::new(settings);
            let last = records.iter().map(|record| sequence.ruling(*record)).last().unwrap();
            let told = (last.reason, last.warned);
            let expected = match mode {
                Mode::Off => (None, None),
                Mode::Warn => (None, Some(reason)),
                Mode::Enforce => (Some(reason), None),
            };
            assert_eq!(told, expected, "{reason:?} {mode:?}");
            assert_eq!(sequence.state.notes().warned, u64::from(mode == Mode::Warn), "{reason:?} {mode:?}");
        }
    }
}

#[test]
fn a_flood_of_one_kind_costs_that_kind_and_is_counted() {
    let mut settings = enforcing();
    settings.ledger_entries_max = 1000;
    let mut sequence = Sequence::new(settings);
    let talk = |work: &str, from: &str, step| AghMessage {
        work: id(work),
        container: id("one"),
        from: id(from),
        to: Some(id(if from == "a" { "b" } else { "a" })),
        step,
    };
    for number in 0..50 {
        assert_eq!(sequence.take(Lifecycle::Agh(talk(&format!("w{number}"), "a", WorkStep::Talk))), None);
    }
    for number in 0..20_000_u64 {
        let logical = id(&format!("flood {number}"));
        assert_eq!(sequence.take(Lifecycle::Bluelabel { logical, retry_count: 0 }), None);
    }
    let shelf = sequence.state.ledger().shelf();
    assert_eq!((shelf.len(), sequence.state.notes().entries_evicted), (1000, 19_050));
    for number in 0..50 {
        let wrong = AghMessage { container: id("other"), ..talk(&format!("w{number}"), "a", WorkStep::Talk) };
        assert_eq!(sequence.take(Lifecycle::Agh(wrong)), Some(Reason::WorkContainerMismatch), "still known");
    }
}

#[test]
fn what_is_expected_is_decided_as_what_is_not() {
    let mut random = crate::state::tests::Random::seeded("what_is_expected_is_decided_as_what_is_not");
    let mut record = || {
        let mut pick = |kinds: &str, below: u64| id(&format!("{kinds} {}", random.below(below)));
        let (identity, work, message, parent) =
            (pick("record", 900), pick("work", 6), pick("message", 60), pick("message", 60));
        let (has_parent, kind) = (random.below(4) > 0, random.below(5));
        let types = [OlympusType::Assign, OlympusType::Status, OlympusType::Watch];
        let message_type = types[kind as usize % types.len()];
        let parent = has_parent.then_some(parent);
        let mac = (kind == 4).then_some(identity);
        let (source, target) = if kind % 3 == 1 { (CODER, LEAD) } else { (LEAD, CODER) };
        let lineage = Some(Lineage { message, parent });
        let message = OlympusMessage { work, lineage, mac, ..self::message(message_type, source, target) };
        let file = WrittenFile { file: work, content: 1 + random.below(3) as u32 };
        let lifecycle = match kind {
            3 => Lifecycle::HumaninloopFiles([Some(file), None, None, None]),
            _ => Lifecycle::Olympus(message),
        };
        let (now, keep_until) = (Some(Timestamp::from_secs(NOW)), Timestamp::from_secs(NOW + 900));
        Facts {
            identity: Some(identity),
            content: 0,
            now,
            keep_until,
            capped: false,
            burns: false,
            lifecycle,
        }
    };
    let records: Vec<Facts> = (0..4000).map(|_| record()).collect();
    let new = || State::new(enforcing()).unwrap();
    // Where the order is fixed nothing is kept to be taken back, and nothing else is different.
    let (mut plain, mut expecting, mut ordered) = (new(), new(), new().following_order());
    let mut refused = 0;
    for (number, facts) in records.iter().enumerate() {
        if number % 50 == 0 {
            expecting.expect(&records[number..number + 50]);
            ordered.expect(&records[number..number + 50]);
        }
        let ruling = plain.decide(facts).unwrap();
        refused += u32::from(ruling.reason.is_some());
        assert_eq!(expecting.decide(facts), Ok(ruling), "{number}");
        assert_eq!(ordered.decide(facts), Ok(ruling), "{number}");
    }
    assert!((400..3990).contains(&refused), "{refused}");
}

#[test]
fn kinds_stand_where_they_say() {
    assert!(Kind::ALL.iter().enumerate().all(|(place, kind)| kind.place() == place));
}
