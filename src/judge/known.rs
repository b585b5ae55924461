//! What is known of a document as soon as its outline is recognised: its format, and where its members stand.

use super::Rules;
use crate::formats::{Binding, Fields};
use crate::outline::ByOutline;
use crate::tape::Tape;
use crate::verdict::FormatId;

/// What one document's outline tells of the next.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// The rule set and the binding under which it holds.
    rules: u64,
    binding: Option<Binding>,
    pub(super) format: Option<FormatId>,
    pub(super) fields: Fields,
}

impl Known {
    /// What is known of a tape's document.
    #[inline]
    pub(super) fn of<'k>(
        known: &'k ByOutline<Self>,
        rules: &Rules,
        binding: Binding,
        tape: Tape<'_>,
    ) -> Option<&'k Self> {
        let known = known.get(tape.outline()?)?;
        (known.rules == rules.id() && known.binding == Some(binding)).then_some(known)
    }

    /// Remembers the format and the members of a tape's document, if nothing but names tells the format.
    pub(super) fn learn(
        known: &mut ByOutline<Self>,
        rules: &Rules,
        binding: Binding,
        tape: Tape<'_>,
        format: Option<FormatId>,
        fields: &Fields,
    ) {
        if rules.detector().looks_at_values() {
            return;
        }
        if let Some(known) = tape.outline().and_then(|outline| known.learn(outline)) {
            *known = Self { rules: rules.id(), binding: Some(binding), format, fields: fields.clone() };
        }
    }
}
