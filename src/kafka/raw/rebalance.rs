//! The rebalance callback: the group gives partitions, or takes them back, and librdkafka must always get its answer.
//!
//! The decision is the hook's, which runs inside the poll on the reader's thread. The answer is given here, whatever
//! the hook does: after a panic the partitions are let go and the panic goes on when the C call has returned.

use std::any::Any;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use super::partitions::{List, PartitionOffset, entries};
use super::{errors, scope, sys};
use crate::kafka::faults::Code;

/// What decides about partitions that come and go.
pub(crate) trait Rebalance {
    /// These partitions are ours now; sets where to start with each.
    fn assigned(&mut self, partitions: &mut [PartitionOffset]);
    /// These are to be given back; where `lost`, another member may own them already.
    fn revoked(&mut self, partitions: &[PartitionOffset], lost: bool);
}

struct Loan {
    hook: NonNull<dyn Rebalance>,
    panic: Option<Box<dyn Any + Send>>,
}

thread_local! {
    static LOAN: Cell<Option<NonNull<Loan>>> = const { Cell::new(None) };
}

/// What `call` returned, and the panic of the hook, if there was one.
pub(crate) struct Served<R> {
    pub(crate) result: R,
    pub(crate) panic: Option<Box<dyn Any + Send>>,
}

/// Makes a call that may serve rebalances, with `hook` to decide about them.
pub(crate) fn serve<R>(hook: &mut dyn Rebalance, call: impl FnOnce() -> R) -> Served<R> {
    let hook: NonNull<dyn Rebalance + '_> = NonNull::from(hook);
    // SAFETY: only the lifetime changes; the loan ends before this function returns, and with it the last use.
    let hook = unsafe { std::mem::transmute::<NonNull<dyn Rebalance + '_>, NonNull<dyn Rebalance>>(hook) };
    let mut loan = Loan { hook, panic: None };
    let result = scope::lend(&LOAN, &mut loan, call);
    Served { result, panic: loan.panic }
}

pub(crate) unsafe extern "C" fn on_rebalance(
    rk: *mut sys::rd_kafka_t,
    code: c_int,
    native: *mut sys::rd_kafka_topic_partition_list_t,
    _opaque: *mut c_void,
) {
    // SAFETY: librdkafka passes a valid list that nobody changes during the callback.
    let mut partitions: Vec<_> = unsafe { entries(native) }.into_iter().map(|(entry, _)| entry).collect();
    if Code(code) == Code::ASSIGN {
        let decided = scope::with(&LOAN, |loan| {
            // SAFETY: the hook was lent for the length of the poll that this callback runs in.
            decide(loan, |hook| unsafe { hook.as_mut() }.assigned(&mut partitions))
        });
        // Without a hook (the client is closing) or after its panic, the group still needs an answer: nothing.
        // SAFETY: the handle is alive in its callback; the list outlives the call, which copies it.
        unsafe {
            if decided == Some(true) {
                answer(
                    "assign partitions",
                    sys::rd_kafka_incremental_assign(rk, List::new(&partitions).as_ptr()),
                );
            } else {
                sys::rd_kafka_assign(rk, std::ptr::null());
            }
        }
    } else {
        // SAFETY: the handle is alive in its callback.
        let lost = unsafe { sys::rd_kafka_assignment_lost(rk) } != 0 || Code(code) != Code::REVOKE;
        scope::with(&LOAN, |loan| {
            // SAFETY: as above.
            decide(loan, |hook| unsafe { hook.as_mut() }.revoked(&partitions, lost))
        });
        // SAFETY: the handle is alive and the list is librdkafka's own.
        unsafe {
            if Code(code) == Code::REVOKE {
                answer("give partitions back", sys::rd_kafka_incremental_unassign(rk, native));
            } else {
                tracing::error!(target: "tollgate::kafka", code = Code(code).name(), "the rebalance failed");
                sys::rd_kafka_assign(rk, std::ptr::null());
            }
        }
    }
}

/// Runs the hook and keeps its panic, which must not unwind through C.
fn decide(loan: &mut Loan, work: impl FnOnce(&mut NonNull<dyn Rebalance>)) -> bool {
    let hook = &mut loan.hook;
    match catch_unwind(AssertUnwindSafe(|| work(hook))) {
        Ok(()) => true,
        Err(panic) => {
            loan.panic = Some(panic);
            false
        }
    }
}

fn answer(doing: &'static str, error: *mut sys::rd_kafka_error_t) {
    if let Err(fault) = errors::take(doing, error) {
        tracing::error!(target: "tollgate::kafka", "{fault}");
    }
}
