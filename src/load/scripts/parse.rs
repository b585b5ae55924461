//! What is no envelope, or not one of the expected format: faults that every format shares.

use super::{Family, Script, Step, Where};
use crate::load::template::{Edit, Node, Spoiling};
use crate::verdict::Reason;

/// LIMIT: deeper than any configuration's default.
const DEEP: usize = 70;

/// The shared faults, made from an envelope that holds.
pub(super) fn scripts(family: Family, plain: &Step) -> Vec<Script> {
    let script = |reason, place, step: Step| Script {
        family,
        reason: Some(reason),
        steps: vec![Step { reason: Some(reason), ..step }],
        place,
    };
    let spoilt = |spoiling| plain.clone().with(&[Edit::Spoil(spoiling)]);
    let mut scripts = vec![
        script(Reason::JsonSyntax, Where::Anywhere, spoilt(Spoiling::Cut)),
        script(Reason::JsonSyntax, Where::Anywhere, spoilt(Spoiling::Mark)),
        script(Reason::TooBig, Where::Anywhere, spoilt(Spoiling::Swell)),
        script(Reason::EmptyPayload, Where::Topics, spoilt(Spoiling::Blank)),
        script(Reason::Tombstone, Where::Topics, spoilt(Spoiling::Nothing)),
        script(Reason::NotObject, Where::Anywhere, changed(plain, |tree| Node::Array(vec![tree]))),
        script(Reason::TooDeep, Where::Anywhere, changed(plain, deep)),
        script(
            Reason::UnknownFormat,
            Where::Mixed,
            changed(plain, |tree| Node::Object(vec![("data".to_owned(), tree)])),
        ),
        script(Reason::AmbiguousFormat, Where::Anywhere, changed(plain, |tree| ambiguous(family, tree))),
        script(Reason::WrongFormat, Where::Pinned, changed(plain, |_| foreign(family))),
    ];
    // Where agh is expected, its protocol tells three ways apart in which bytes are no JSON.
    let surrogate = changed(plain, |mut tree| {
        tree.set("/lone", Node::Text("<raw:\\ud800>".to_owned()));
        tree
    });
    let (utf8, lone) = match family {
        Family::Agh => (Reason::InvalidUtf8, Reason::LoneSurrogate),
        _ => (Reason::JsonSyntax, Reason::JsonSyntax),
    };
    scripts.push(script(utf8, Where::Pinned, spoilt(Spoiling::NotUtf8)));
    scripts.push(script(lone, Where::Pinned, surrogate.clone()));
    scripts.push(script(Reason::JsonSyntax, Where::Mixed, spoilt(Spoiling::NotUtf8)));
    scripts.push(script(Reason::JsonSyntax, Where::Mixed, surrogate));
    scripts
}

fn changed(plain: &Step, change: impl FnOnce(Node) -> Node) -> Step {
    Step { tree: change(plain.tree.clone()), ..plain.clone() }
}

fn deep(mut tree: Node) -> Node {
    tree.set("/deep", Node::Raw(format!("{}{}", "[".repeat(DEEP), "]".repeat(DEEP))));
    tree
}

/// Adds a member that claims another format.
fn ambiguous(family: Family, mut tree: Node) -> Node {
    let claim = if family == Family::Bluelabel { "/persona" } else { "/sender_id" };
    tree.set(claim, Node::Text("CA".to_owned()));
    tree
}

/// Members of another format alone.
fn foreign(family: Family) -> Node {
    Node::parse(if family == Family::Bluelabel {
        r#"{"persona":"governance/personas/agentic/coder.md","protocol_message":{},"context_attachments":[]}"#
    } else {
        r#"{"type":"error","protocol_version":"1.0","sender_id":"CA","recipient_id":"ARCH","payload":{}}"#
    })
}
