//! How a callback finds the Rust state it works on: a pointer that is put up on this thread for the length of one call.
//!
//! librdkafka serves rebalance and delivery callbacks on the thread that polls, inside the call that polls. So the
//! caller lends its state here, makes the C call, and takes the loan back; a callback that comes at another time, or
//! on another thread, finds nothing and does the harmless thing. No state is shared, and no lock is needed.

use std::cell::Cell;
use std::ptr::NonNull;
use std::thread::LocalKey;

/// A place on this thread for one borrowed `T`.
pub(crate) type Slot<T> = LocalKey<Cell<Option<NonNull<T>>>>;

/// Lends `state` to callbacks while `call` runs; loans may nest (a listener that polls another client).
pub(crate) fn lend<T: 'static, R>(slot: &'static Slot<T>, state: &mut T, call: impl FnOnce() -> R) -> R {
    struct Restore<T: 'static>(&'static Slot<T>, Option<NonNull<T>>);
    impl<T> Drop for Restore<T> {
        fn drop(&mut self) {
            self.0.set(self.1);
        }
    }
    let _restore = Restore(slot, slot.replace(Some(NonNull::from(state))));
    call()
}

/// Inside a callback: works on what was lent. While `work` runs the slot is empty, so a nested callback can't alias it.
pub(crate) fn with<T: 'static, R>(slot: &'static Slot<T>, work: impl FnOnce(&mut T) -> R) -> Option<R> {
    let mut lent = slot.take()?;
    // SAFETY: `lend` put the pointer there from an exclusive borrow that is still running, since it clears the slot
    // before it returns, and nobody else uses that borrow meanwhile. The slot is empty now, so this is the only user.
    let result = work(unsafe { lent.as_mut() });
    slot.set(Some(lent));
    Some(result)
}
