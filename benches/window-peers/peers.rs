//! The replay window beside what others would take for it: `moka` (a cache with expiry) and `fjall` (a store on disk), and a
//! `HashMap` with a queue; one run, one table. `TOLLGATE_BENCH_IDS` says how many ids;
//! with `TOLLGATE_BENCH_ALONE` the window runs alone.
//!
//! Each peer is used as its own documents advise for this task: moka's synchronous cache with a time to live and room for
//! all ids; fjall with its defaults, not flushed to the disk after each write, since the window is not either.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a bench that cannot go on should panic, and prints its results"
)]

#[path = "../window/measure.rs"]
mod measure;

use std::time::Duration;

use measure::{KEEP_S, MapAndQueue, Memory, compare, fill, ids, window};
use tollgate::credentials::digest::Identity;

/// A concurrent cache whose entries expire.
struct Moka(moka::sync::Cache<Identity, u32>);

impl Memory for Moka {
    fn see(&mut self, id: Identity, _: u32) -> bool {
        let new = self.0.get(&id).is_none();
        if new {
            self.0.insert(id, 1);
        }
        new
    }
}

/// A log-structured store on disk; the value is tag and expiry.
struct Fjall {
    ids: fjall::PartitionHandle,
    keyspace: fjall::Keyspace,
    _dir: Dir,
}

/// A directory that goes with the bench.
struct Dir(std::path::PathBuf);

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Fjall {
    fn open() -> Self {
        let dir = std::env::temp_dir().join(format!("tollgate-window-peers-{}", std::process::id()));
        let keyspace = fjall::Config::new(&dir).open().unwrap();
        let ids = keyspace.open_partition("ids", fjall::PartitionCreateOptions::default()).unwrap();
        Self { ids, keyspace, _dir: Dir(dir) }
    }
}

impl Memory for Fjall {
    fn see(&mut self, id: Identity, now: u32) -> bool {
        let until = |kept: fjall::Slice| u32::from_le_bytes(kept[4..8].try_into().unwrap());
        let new = self.ids.get(id).unwrap().map(until).is_none_or(|expiry| expiry <= now);
        if new {
            let mut kept = [0; 8];
            kept[4..].copy_from_slice(&(now + KEEP_S).to_le_bytes());
            self.ids.insert(id.as_slice(), kept.as_slice()).unwrap();
        }
        new
    }

    fn note(&self) -> String {
        format!("and {:.0} MB on disk", self.keyspace.disk_space() as f64 / 1e6)
    }
}

fn main() {
    let ids = ids();
    let moka = moka::sync::Cache::builder()
        .max_capacity(ids * 2)
        .time_to_live(Duration::from_secs(KEEP_S.into()))
        .build();
    let mut all = vec![fill("window, one id after the other", ids, window(ids))];
    if std::env::var_os("TOLLGATE_BENCH_ALONE").is_none() {
        all.push(fill("HashMap and queue", ids, Box::<MapAndQueue>::default()));
        all.push(fill("moka", ids, Box::new(Moka(moka))));
        all.push(fill("fjall", ids, Box::new(Fjall::open())));
    }
    compare(ids, all);
}
