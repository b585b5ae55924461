//! The claims of a token in the small form in which they are remembered, and the checks on them.

use super::{JwtError, TokenRules, numbered_members};
use crate::clock::Timestamp;
use crate::tape::{Node, StaticNode, Tape};

/// A stretch of [`StoredClaims::text`].
type Stretch = (u32, u32);

/// Claims of a verified token: one text, and where what matters stands in it.
#[derive(Debug, Default)]
pub(super) struct StoredClaims {
    text: Box<str>,
    subject: Option<Stretch>,
    tenant: Option<Stretch>,
    tenants_differ: bool,
    is_admin: bool,
    rights: Box<[Stretch]>,
    expires: Time,
    not_before: Time,
    issued: Time,
    names: NamesFit,
}

/// Whether the names are the ones of the rules, where those name one.
#[derive(Clone, Copy, Debug, Default)]
struct NamesFit {
    issuer: bool,
    audience: bool,
}

/// A claim that should be a number of seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Time {
    #[default]
    Absent,
    NotANumber,
    At(Timestamp),
}

/// A claim about times that can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeClaim {
    /// `exp` is there, and a number.
    Expires,
    /// `nbf` has come.
    NotBefore,
    /// `iat` is there and has come, where that is asked for.
    Issued,
    /// `exp` is near enough to `iat`, where that is asked for.
    Lifetime,
}

impl TimeClaim {
    /// In the order in which they are checked.
    pub const ALL: [Self; 4] = [Self::Expires, Self::NotBefore, Self::Issued, Self::Lifetime];
}

/// What the token says of its bearer.
#[derive(Clone, Copy, Debug)]
pub struct Claims<'a>(pub(super) &'a StoredClaims);

/// Two claims name two tenants, or one of them is no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TenantsDiffer;

impl<'a> Claims<'a> {
    /// Who the token is for: `sub`, or `agent_id` where there is no `sub`.
    #[must_use]
    pub fn subject(self) -> Option<&'a str> {
        self.0.subject.and_then(|stretch| self.0.stretch(stretch))
    }

    /// The tenant: `tenant_id` or `tenant`, which must agree.
    pub fn tenant(self) -> Result<Option<&'a str>, TenantsDiffer> {
        if self.0.tenants_differ {
            return Err(TenantsDiffer);
        }
        Ok(self.0.tenant.and_then(|stretch| self.0.stretch(stretch)))
    }

    /// Whether `permissions` or `scope` grant the right that the joined parts spell, as a whole.
    #[must_use]
    pub fn has_right(self, parts: &[&str]) -> bool {
        self.0.rights.iter().filter_map(|stretch| self.0.stretch(*stretch)).any(|right| {
            let rest = parts.iter().try_fold(right, |rest, part| rest.strip_prefix(part));
            rest.is_some_and(str::is_empty)
        })
    }

    /// Whether the issuer is the one of the rules, where they name one.
    #[must_use]
    pub fn issuer_fits(self) -> bool {
        self.0.names.issuer
    }

    /// Whether the audience is or holds the one of the rules, where they name one.
    #[must_use]
    pub fn audience_fits(self) -> bool {
        self.0.names.audience
    }

    /// Whether `role` is exactly `admin`.
    #[must_use]
    pub fn is_admin(self) -> bool {
        self.0.is_admin
    }
}

impl StoredClaims {
    /// Takes what matters from the claims; nothing here depends on the time.
    pub(super) fn read(tape: Tape<'_>, rules: &TokenRules) -> Self {
        let mut notes = Notes::default();
        let mut claims = Self::default();
        let (mut issuer_fits, mut audience_fits) = (rules.issuer.is_none(), rules.audience.is_none());
        let (mut sub, mut agent_id, mut tenant_id, mut tenant) = (None, None, None, None);
        let (mut odd_subject, mut odd_tenant) = (false, false);
        for (name, value, at) in numbered_members(tape) {
            match (name, value) {
                ("exp", value) => claims.expires = Time::of(value),
                ("nbf", value) => claims.not_before = Time::of(value),
                ("iat", value) => claims.issued = Time::of(value),
                ("iss", Node::String(text)) => issuer_fits |= rules.issuer.as_deref() == Some(text),
                ("aud", _) => {
                    let wanted = rules.audience.as_deref();
                    audience_fits |= texts(tape, at).any(|text| wanted == Some(text));
                }
                ("role", Node::String(text)) => claims.is_admin = *text == "admin",
                ("sub", Node::String(text)) => sub = Some(notes.add(text)),
                ("agent_id", Node::String(text)) => agent_id = Some(notes.add(text)),
                ("tenant_id", Node::String(text)) => tenant_id = Some(notes.add(text)),
                ("tenant", Node::String(text)) => tenant = Some(notes.add(text)),
                ("permissions", Node::Array { .. }) => texts(tape, at).for_each(|text| notes.add_right(text)),
                ("scope", Node::String(text)) => {
                    text.split(' ')
                        .filter(|right| !right.is_empty())
                        .for_each(|right| notes.add_right(right));
                }
                // What is there and no text names nobody, and must not give way to another spelling that does.
                (_, Node::Static(StaticNode::Null)) => {}
                ("sub", _) => odd_subject = true,
                ("tenant_id" | "tenant", _) => odd_tenant = true,
                _ => {}
            }
        }
        claims.names = NamesFit { issuer: issuer_fits, audience: audience_fits };
        claims.text = notes.text.into();
        claims.rights = notes.rights.into();
        claims.subject = sub.or(agent_id).filter(|_| !odd_subject);
        claims.tenant = tenant_id.or(tenant);
        let differ = matches!(
            (tenant_id, tenant), (Some(one), Some(other)) if claims.stretch(one) != claims.stretch(other)
        );
        claims.tenants_differ = differ || odd_tenant;
        claims
    }

    /// All checks, in their order.
    pub(super) fn check(&self, rules: &TokenRules, now: Timestamp) -> Result<(), JwtError> {
        if self.has_expired(rules, now) {
            return Err(JwtError::Expired);
        }
        let times_fit = TimeClaim::ALL.into_iter().all(|claim| self.time_fits(rules, claim, now));
        let fits = times_fit && self.names.issuer && self.names.audience;
        if fits { Ok(()) } else { Err(JwtError::Claims) }
    }

    /// Whether `exp` has passed; one that is absent or no number has not, and does not fit either.
    pub(super) fn has_expired(&self, rules: &TokenRules, now: Timestamp) -> bool {
        matches!(self.expires, Time::At(expires) if now >= later(expires, rules.leeway_s))
    }

    /// The other checks that depend on the time, one by one.
    pub(super) fn time_fits(&self, rules: &TokenRules, claim: TimeClaim, now: Timestamp) -> bool {
        let latest = later(now, rules.leeway_s);
        match claim {
            TimeClaim::Expires => matches!(self.expires, Time::At(_)),
            TimeClaim::NotBefore => match self.not_before {
                Time::Absent => true,
                Time::NotANumber => false,
                Time::At(start) => start <= latest,
            },
            TimeClaim::Issued => {
                !rules.iat_required || matches!(self.issued, Time::At(issued) if issued <= latest)
            }
            // Where one of the two is no time, that is the other claims' matter.
            TimeClaim::Lifetime => match (self.expires, self.issued) {
                (Time::At(expires), Time::At(issued)) if rules.iat_required => {
                    expires <= later(issued, rules.lifetime_s_max)
                }
                _ => true,
            },
        }
    }

    /// When the token ends; `None` comes before every time.
    pub(super) fn expires(&self) -> Option<Timestamp> {
        if let Time::At(expires) = self.expires { Some(expires) } else { None }
    }

    /// About how much memory the claims take.
    pub(super) fn bytes(&self) -> usize {
        self.text.len() + self.rights.len() * size_of::<Stretch>()
    }

    fn stretch(&self, (start, end): Stretch) -> Option<&str> {
        self.text.get(start as usize..end as usize)
    }
}

/// Texts as they are collected.
#[derive(Default)]
struct Notes {
    text: String,
    rights: Vec<Stretch>,
}

impl Notes {
    fn add(&mut self, text: &str) -> Stretch {
        let start = self.text.len() as u32;
        self.text.push_str(text);
        (start, self.text.len() as u32)
    }

    fn add_right(&mut self, right: &str) {
        let stretch = self.add(right);
        self.rights.push(stretch);
    }
}

impl Time {
    /// Seconds since the epoch, possibly with a fraction; what no instant can hold is the nearest that can.
    fn of(value: &Node<'_>) -> Self {
        match value {
            Node::Static(StaticNode::I64(seconds)) => Self::At(Timestamp::from_secs(*seconds)),
            Node::Static(StaticNode::U64(seconds)) => {
                Self::At(Timestamp::from_secs(i64::try_from(*seconds).unwrap_or(i64::MAX)))
            }
            Node::Static(StaticNode::F64(seconds)) if seconds.is_finite() => {
                Self::At(Timestamp::from_micros((seconds * 1e6) as i64))
            }
            _ => Self::NotANumber,
        }
    }
}

fn later(time: Timestamp, seconds: u32) -> Timestamp {
    Timestamp::from_micros(time.micros().saturating_add(i64::from(seconds) * 1_000_000))
}

/// A text, or the texts of an array.
fn texts(tape: Tape<'_>, at: usize) -> impl Iterator<Item = &str> {
    let nodes = tape.nodes();
    let (mut next, end) = match nodes.get(at) {
        Some(Node::Array { count, .. }) => (at + 1, at + 1 + count),
        _ => (at, at + 1),
    };
    std::iter::from_fn(move || {
        while next < end {
            let node = nodes.get(next)?;
            next += 1;
            match node {
                Node::String(text) => return Some(*text),
                Node::Object { count, .. } | Node::Array { count, .. } => next += count,
                Node::Static(_) => {}
            }
        }
        None
    })
}
