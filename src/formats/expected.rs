//! What would have been right where a rule about a body or payload is broken, in a few words, for explanations.
//!
//! The rules' own texts say what they demand of the whole; here stands what one member must be, by its name.

use super::rule::Rule;
use crate::verdict::Reason;

/// What a rule expects at a place. `at` is the JSON pointer of what is wrong, and `kind` the envelope's own kind.
#[must_use]
pub(super) fn expected(rule: &Rule, at: &str, kind: Option<&str>) -> Option<&'static str> {
    let name = at.rsplit('/').next().unwrap_or_default();
    let of_member = match (rule.name, rule.reason) {
        ("approval", _) => approval(name),
        ("feedback", _) => feedback(name),
        (_, Reason::PayloadContract) => contract(name),
        (_, Reason::BodyType) => body_type(name),
        (_, Reason::BodyMissingField) => body_member(at, kind),
        ("signature-form", _) | (_, Reason::JwtClaims) => None,
        _ => return None,
    };
    of_member.or(Some(rule.text))
}

/// What an approval attests (olympus).
fn approval(name: &str) -> Option<&'static str> {
    match name {
        "test_gate_passed" | "met" => Some("true"),
        "coverage_percentage" => Some("at least `coverage_percent_min`"),
        _ => None,
    }
}

/// Feedback of an evaluator (olympus).
fn feedback(name: &str) -> Option<&'static str> {
    match name {
        "cycle" => Some("a whole number from 1 to 3"),
        "items" => Some("an array"),
        "priority" => Some("must-fix, should-fix or nice-to-have"),
        "description" | "file" => Some("a text"),
        "line" => Some("a whole number of at least 0"),
        _ if is_index(name) => Some("an object with `priority` and `description`"),
        _ => None,
    }
}

/// Other members of payloads (olympus, bluelabel).
fn contract(name: &str) -> Option<&'static str> {
    match name {
        "priority" => Some("P0, P1, P2, P3, P4 or urgent"),
        "test_gate_passed" | "met" | "staleness_check_passed" | "graceful" => Some("true or false"),
        "files_reviewed" => Some("an array of texts"),
        "acceptance_criteria_met" => Some("an array of objects with `criterion` and `met`"),
        "documentation_categories_checked" | "counts_verified" => Some("an array"),
        "criterion" | "reason" => Some("a text"),
        "coverage_percentage" => Some("a number from 0 to 100"),
        "default" => Some("a value of the input's type, or one of its options"),
        "options" => Some("at least one option"),
        _ => None,
    }
}

/// The type of a body's member (agh).
fn body_type(name: &str) -> Option<&'static str> {
    match name {
        "peer_card" | "capability" | "ext" => Some("an object"),
        "artifacts" | "artifact_refs" => Some("an array"),
        "profiles_supported"
        | "capabilities"
        | "artifacts_supported"
        | "trust_modes_supported"
        | "context_needed"
        | "artifacts_expected"
        | "execution_outline"
        | "constraints"
        | "examples"
        | "requirements" => Some("an array of texts"),
        "" => None,
        _ => Some("a text"),
    }
}

/// What a body lacks (agh).
fn body_member(at: &str, kind: Option<&str>) -> Option<&'static str> {
    match (at, kind) {
        ("/body", Some("greet" | "whois")) => Some("the object `peer_card`"),
        ("/body", Some("say")) => Some("`text` that is not blank"),
        ("/body", Some("receipt")) => Some("`for_id` that is not blank"),
        ("/body", Some("capability")) => Some("the object `capability`"),
        ("/body/capability", _) => Some("`id`, `summary`, `outcome` and `digest` that are not blank"),
        ("/body/peer_card", _) => Some(
            "`peer_id`, and the lists `profiles_supported`, `capabilities`, `artifacts_supported` and \
             `trust_modes_supported`",
        ),
        ("/body", _) => None,
        _ => Some("a text that is not blank"),
    }
}

fn is_index(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
}
