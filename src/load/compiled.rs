//! Scripts made ready: each step as pieces to write, in every layout that the style asks for, with what is signed.

use super::Random;
use super::keys::KeyChain;
use super::mix::Style;
use super::places::{Spelling, Values};
use super::scripts::alfred::AGENTS;
use super::scripts::olympus::PERSONAS;
use super::scripts::{Family, Script, Sign, Step};
use super::template::{Layout, Node, Order, Piece, Place, Spoiling};
use crate::verdict::Reason;

/// Layouts of one envelope in the mixed style.
const LAYOUTS: u64 = 16;

/// A script, ready to be played.
pub(super) struct Ready {
    pub(super) family: Family,
    pub(super) steps: Vec<ReadyStep>,
}

/// A step, ready to be written.
pub(super) struct ReadyStep {
    pub(super) variants: Vec<Variant>,
    /// What is signed by each scheme: v1, or v2 and all others.
    pub(super) signed: [Vec<Piece>; 2],
    pub(super) sign: Sign,
    /// The place of the signer among personas or agents.
    pub(super) who: usize,
    pub(super) reason: Option<Reason>,
    pub(super) copy_of: Option<u8>,
    pub(super) drawn_as: Option<u8>,
    pub(super) later: i64,
    pub(super) wrong_key: bool,
    pub(super) spoiling: Option<Spoiling>,
}

/// One layout of a step.
pub(super) struct Variant {
    pub(super) wire: Vec<Piece>,
    /// The wire without its signature is what is signed.
    pub(super) is_canonical: bool,
    /// Bytes without padding.
    pub(super) bytes: usize,
}

/// Prepares a script.
pub(super) fn prepare(script: &Script, style: Style, chain: &KeyChain) -> Ready {
    let steps = script.steps.iter().map(|step| prepare_step(step, style, chain)).collect();
    Ready { family: script.family, steps }
}

fn prepare_step(step: &Step, style: Style, chain: &KeyChain) -> ReadyStep {
    let layouts = match style {
        Style::Canonical => vec![Layout { order: Order::Sorted, spaced: false }],
        Style::Uniform => vec![Layout { order: Order::AsWritten, spaced: false }],
        Style::Mixed => (0..LAYOUTS)
            .map(|number| Layout { order: Order::Shuffled(number), spaced: number % 4 == 0 })
            .collect(),
    };
    let canonical = Layout { order: Order::Sorted, spaced: false };
    let signed = match step.sign {
        Sign::No => [Vec::new(), Vec::new()],
        Sign::Olympus => [
            v1_tree(&step.tree).compile(canonical),
            without(&step.tree, "/authentication/signature").compile(canonical),
        ],
        Sign::Alfred => [Vec::new(), without(&step.tree, "/envelope/security/signature").compile(canonical)],
    };
    let variants = layouts.into_iter().map(|layout| {
        let wire = step.tree.compile(layout);
        let bytes = length(&wire, step.sign, chain);
        Variant { is_canonical: style == Style::Canonical && can_cut(&wire), wire, bytes }
    });
    ReadyStep {
        variants: variants.collect(),
        signed,
        sign: step.sign,
        who: who(step),
        reason: step.reason,
        copy_of: step.copy_of,
        drawn_as: step.drawn_as,
        later: step.later_s * 1_000_000,
        wrong_key: step.wrong_key,
        spoiling: step.spoiling,
    }
}

/// What scheme v1 signs: five members of two objects.
fn v1_tree(tree: &Node) -> Node {
    let members = [
        ("correlation_id", "/envelope/correlation_id"),
        ("message_type", "/protocol_message/message_type"),
        ("payload", "/protocol_message/payload"),
        ("source_agent", "/envelope/source_agent"),
        ("target_agent", "/envelope/target_agent"),
    ];
    let found = members.map(|(name, pointer)| {
        let value = tree.at(pointer).cloned().unwrap_or_else(|| Node::Raw("null".to_owned()));
        (name.to_owned(), value)
    });
    Node::Object(found.into())
}

fn without(tree: &Node, pointer: &str) -> Node {
    let mut tree = tree.clone();
    if tree.at(pointer).is_some() {
        tree.remove(pointer);
    }
    tree
}

/// Who signs, by the tree.
fn who(step: &Step) -> usize {
    let text = |pointer| match step.tree.at(pointer) {
        Some(Node::Text(text)) => text.as_str(),
        _ => "",
    };
    let place = match step.sign {
        Sign::Olympus => PERSONAS.iter().position(|name| *name == text("/authentication/sender_persona")),
        Sign::Alfred => {
            AGENTS.iter().position(|(name, ..)| *name == text("/envelope/routing/source/agent_id"))
        }
        Sign::No => None,
    };
    place.unwrap_or_default()
}

/// What stands before a signature that is the last of several members.
pub(super) const BEFORE_SIGNATURE: &[u8] = b",\"signature\":\"";

/// Whether the signature can be cut out of the wire with the comma before it.
fn can_cut(wire: &[Piece]) -> bool {
    let at = wire.iter().position(|piece| matches!(piece, Piece::Place(Place::Signature)));
    let before = at.and_then(|at| wire.get(at.checked_sub(1)?));
    matches!(before, Some(Piece::Literal(text)) if text.ends_with(BEFORE_SIGNATURE))
}

/// Bytes that a signature's text takes.
pub(super) fn signature_bytes(sign: Sign, v2: bool) -> usize {
    match sign {
        Sign::No => 0,
        Sign::Olympus if v2 => 67,
        Sign::Olympus => 64,
        Sign::Alfred => 44,
    }
}

/// About how long a record is without padding.
fn length(wire: &[Piece], sign: Sign, chain: &KeyChain) -> usize {
    let values = Values {
        scene_seed: Random::new(0).next(),
        scene: 1_000_000,
        step: 0,
        time: 1_772_539_200_000_000,
        session: chain.sessions.first().map_or("", String::as_str),
        tenant: chain.tenants.first().map_or("", String::as_str),
        tokens: chain.tokens.first().map_or(&[], Vec::as_slice),
        pad: 0,
    };
    let mut out = Vec::new();
    for piece in wire {
        match piece {
            Piece::Literal(text) => out.extend_from_slice(text),
            Piece::Place(Place::Signature) => out.resize(out.len() + signature_bytes(sign, true), b'0'),
            Piece::Place(Place::Pad) => {}
            Piece::Place(place) => values.write(*place, Spelling::Wire { plain: true }, &mut out),
        }
    }
    out.len()
}
