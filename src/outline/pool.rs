//! Lists of any length in one piece of memory, written one behind the other.
//!
//! The memory is reserved at once and never grows; pages that were never written take none. A list cannot be given back alone:
//! when a pool is full, its owner clears it and starts over. Nothing here knows what the lists are of.

/// Lists that share one memory.
#[derive(Debug)]
pub(crate) struct Pool<T> {
    items: Vec<T>,
    items_max: usize,
}

/// Where a list stands in its pool.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Span {
    start: u32,
    len: u32,
}

impl<T> Pool<T> {
    /// A pool with room for so many items.
    pub(crate) fn new(items_max: usize) -> Self {
        Self { items: Vec::with_capacity(items_max), items_max }
    }

    /// Forgets all lists.
    pub(crate) fn clear(&mut self) {
        self.items.clear();
    }

    /// How many items still fit.
    pub(crate) fn room(&self) -> usize {
        self.items_max - self.items.len()
    }

    /// Adds an item to the list that is being written; `None` if there is no room.
    pub(crate) fn push(&mut self, item: T) -> Option<()> {
        if self.items.len() == self.items_max {
            return None;
        }
        self.items.push(item);
        Some(())
    }

    /// A list of some items; `None` if there is no room for all.
    pub(crate) fn add(&mut self, mut items: impl Iterator<Item = T>) -> Option<Span> {
        let begun = self.begin();
        if items.try_for_each(|item| self.push(item)).is_none() {
            self.undo(begun);
            return None;
        }
        Some(self.end(begun))
    }

    /// A list without items, to be written next.
    pub(crate) fn begin(&self) -> Span {
        Span { start: self.items.len() as u32, len: 0 }
    }

    /// The list with all that was added since it began.
    pub(crate) fn end(&self, begun: Span) -> Span {
        Span { len: self.items.len() as u32 - begun.start, ..begun }
    }

    /// Takes back what was added since a list began.
    pub(crate) fn undo(&mut self, begun: Span) {
        self.items.truncate(begun.start as usize);
    }

    /// The items of a list; `None` if it is none of this pool.
    #[inline]
    pub(crate) fn list(&self, span: Span) -> Option<&[T]> {
        let (start, len) = (span.start as usize, span.len as usize);
        self.items.get(start..start + len)
    }

    /// The items of a list, and all that were written behind it.
    #[inline]
    pub(crate) fn from(&self, span: Span) -> &[T] {
        self.items.get(span.start as usize..).unwrap_or_default()
    }
}

impl Span {
    /// How many items it has.
    pub(crate) fn len(self) -> usize {
        self.len as usize
    }
}
