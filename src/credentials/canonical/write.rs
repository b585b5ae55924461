//! Writes a canonical form from the tape, token by token, whatever the payload looks like.

use super::forms::Form;
use super::numbers::{self, Text};
use super::order::Ordered;
use super::walk::{Emit, Lists, walk};
use super::{Unfit, is_integer, wide_text};
use crate::tape::StaticNode;

/// Writes what it is told.
struct Writer<'a, F> {
    ordered: Ordered<'a>,
    out: &'a mut Vec<u8>,
    form: std::marker::PhantomData<F>,
}

/// Appends the form of the value at `node` to `out`.
pub(super) fn append<F: Form>(
    ordered: Ordered<'_>,
    node: usize,
    lists: &mut Lists,
    out: &mut Vec<u8>,
) -> Result<(), Unfit> {
    // PERF: one reserve; only numbers and, in ASCII, other letters can be longer than they came.
    out.reserve(ordered.payload.len() + 64);
    let mut writer = Writer::<F> { ordered, out, form: std::marker::PhantomData };
    walk::<F, _>(ordered, node, lists, &mut writer)
}

impl<F: Form> Emit for Writer<'_, F> {
    #[inline]
    fn open(&mut self, bracket: u8) {
        self.out.push(bracket);
    }

    #[inline]
    fn close(&mut self, bracket: u8) {
        self.out.push(bracket);
    }

    #[inline]
    fn comma(&mut self) {
        self.out.push(b',');
    }

    #[inline]
    fn name(&mut self, at: usize, name: &str) {
        self.string(at, name);
        self.out.push(b':');
    }

    #[inline]
    fn string(&mut self, _: usize, text: &str) {
        self.out.push(b'"');
        if self.ordered.plain {
            self.out.extend_from_slice(text.as_bytes());
        } else {
            F::write_escaped(text, self.out);
        }
        self.out.push(b'"');
    }

    #[inline]
    fn scalar(&mut self, at: usize, scalar: StaticNode) -> Result<(), Unfit> {
        let text: Text = match scalar {
            StaticNode::Null => {
                self.out.extend_from_slice(b"null");
                return Ok(());
            }
            StaticNode::Bool(value) => {
                self.out.extend_from_slice(if value { b"true" } else { b"false" });
                return Ok(());
            }
            StaticNode::I64(value) => integer::<F>(value.unsigned_abs(), value < 0)?,
            StaticNode::U64(value) => integer::<F>(value, false)?,
            StaticNode::F64(value) => {
                if let Some(text) = wide_text(self.ordered.tape, self.ordered.payload, at) {
                    if !F::CARRIES_WIDE_INTEGERS || !is_integer(text) {
                        return Err(Unfit::NumberRange);
                    }
                    self.out.extend_from_slice(text);
                    return Ok(());
                }
                if !value.is_finite() {
                    return Err(Unfit::NumberRange);
                }
                F::double(value)
            }
        };
        self.out.extend_from_slice(text.as_bytes());
        Ok(())
    }

    #[inline]
    fn empty(&mut self, _: usize, brackets: [u8; 2]) {
        self.out.extend_from_slice(&brackets);
    }
}

#[inline]
fn integer<F: Form>(magnitude: u64, negative: bool) -> Result<Text, Unfit> {
    if magnitude > F::INTEGER_MAX {
        Err(Unfit::NumberRange)
    } else {
        Ok(numbers::integer(magnitude, negative))
    }
}
