//! The table of metrics: the only place where one is defined.
//!
//! `/metrics`, the Grafana dashboard, the list in `configs/METRICS.md` and the test that holds the names all derive from
//! here. Names are stable: never renamed, never used again for something else. This is a leaf: it knows names, not values.

/// What a metric does over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only ever rises, from the start of the process.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts of values below bounds.
    Histogram,
    /// Always 1; its labels tell something.
    Info,
}

/// What a metric counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things.
    Count,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
}

/// One metric.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Which one.
    pub id: Id,
    /// Its name, as Prometheus stores it; a histogram has `_bucket`, `_sum` and `_count` behind it.
    pub name: &'static str,
    /// What it does over time.
    pub kind: Kind,
    /// What it counts.
    pub unit: Unit,
    /// The names of its labels.
    pub labels: &'static [&'static str],
    /// What it means; a clause without a full stop.
    pub help: &'static str,
    /// The row of the dashboard that shows it.
    pub row: &'static str,
}

macro_rules! metrics {
    ($($row:literal { $($id:ident $kind:ident $unit:ident $name:literal [$($label:literal)*] $help:literal;)* })*) => {
        /// Names a metric in code, so that the compiler knows whether each is fed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Id { $($(#[doc = concat!("`", $name, "`: ", $help, ".")] $id,)*)* }

        /// Every metric, in the order of the dashboard.
        pub const METRICS: &[Metric] = &[$($(
            Metric {
                id: Id::$id, name: $name, kind: Kind::$kind, unit: Unit::$unit,
                labels: &[$($label),*], help: $help, row: $row,
            },
        )*)*];
    };
}

metrics! {
    "Verdicts" {
        Envelopes Counter Count "tollgate_envelopes_total" ["format" "result"]
            "Records that passed the gate, by format and result (accepted, rejected)";
        Rejects Counter Count "tollgate_rejects_total" ["format" "reason"]
            "Rejected records, by format and reason";
        PayloadBytes Counter Bytes "tollgate_payload_bytes_total" []
            "Payload bytes of the records that passed the gate";
        Unchecked Counter Count "tollgate_unchecked_total" []
            "Accepted records to which a rule applied that could not be checked";
        Warned Counter Count "tollgate_warned_total" []
            "Records that broke a rule which only warns";
        Ignored Counter Count "tollgate_ignored_total" []
            "Records that were accepted and changed nothing";
    }
    "Latency and load" {
        EndToEndSeconds Histogram Seconds "tollgate_end_to_end_seconds" []
            "Time of a record from the source until its position is committed";
        StageSeconds Histogram Seconds "tollgate_stage_seconds" ["stage"]
            "Time of a record in one stage; inside the judge one record in 16 is timed for all";
        GateBusySeconds Counter Seconds "tollgate_gate_busy_seconds_total" []
            "Time that the gate worked; near one second per second, it bounds the throughput";
        InflightRecords Gauge Count "tollgate_inflight_records" []
            "Records between reader and commit";
        InflightBytes Gauge Bytes "tollgate_inflight_bytes" []
            "Bytes between reader and commit";
        InflightRecordsMax Gauge Count "tollgate_inflight_records_max" []
            "Records between reader and commit at most; the reader waits when they are reached";
    }
    "Kafka" {
        PartitionLagRecords Gauge Count "tollgate_partition_lag_records" ["topic" "partition"]
            "Records of an assigned partition that are not committed";
        PartitionLagSeconds Gauge Seconds "tollgate_partition_lag_seconds" ["topic" "partition"]
            "Age of the newest record that was read of a partition while more are waiting, otherwise 0";
        PartitionCommitted Gauge Count "tollgate_partition_committed_offset" ["topic" "partition"]
            "Committed offset of an assigned partition";
        PartitionReady Gauge Count "tollgate_partition_ready" ["topic" "partition"]
            "1 when an assigned partition is restored and being read, otherwise 0";
        Rebalances Counter Count "tollgate_rebalances_total" ["event"]
            "Changes of the assignment (assigned, revoked, lost)";
        Transactions Counter Count "tollgate_transactions_total" ["result"]
            "Kafka transactions that ended (committed, aborted)";
        CommitFailures Counter Count "tollgate_commit_failures_total" []
            "Commits that failed and were tried again";
        ProducerRebuilds Counter Count "tollgate_producer_rebuilds_total" []
            "Producers that took the place of a broken one";
        ConsumerRebuilds Counter Count "tollgate_consumer_rebuilds_total" []
            "Consumers that took the place of one that failed or left";
        PartitionsStuck Gauge Count "tollgate_partitions_stuck" []
            "Partitions that make no progress while their lag grows";
        JournalRestored Counter Count "tollgate_journal_restored_records_total" []
            "Records of the journal that were read back into window and ledger";
        JournalRestoreSeconds Gauge Seconds "tollgate_journal_restore_seconds" []
            "How long the last restore from the journal took";
    }
    "What was seen before" {
        WindowIds Gauge Count "tollgate_window_ids" []
            "Identities that the replay window remembers";
        WindowBytes Gauge Bytes "tollgate_window_bytes" []
            "Memory that the replay window uses";
        WindowBytesMax Gauge Bytes "tollgate_window_max_bytes" []
            "Memory that the replay window may use";
        WindowEvicted Counter Count "tollgate_window_evicted_total" []
            "Identities that the full window gave up: copies of them pass";
        WindowCapped Counter Count "tollgate_window_capped_total" []
            "Records that asked to be remembered for longer than anything is";
        LedgerEntries Gauge Count "tollgate_ledger_entries" []
            "Entries of the ledger";
        LedgerEvicted Counter Count "tollgate_ledger_evicted_total" []
            "Entries that the full ledger gave up";
    }
    "Rules" {
        RulesInfo Info Count "tollgate_rules_info" ["hash"]
            "The rule set that new batches are judged by";
        Reloads Counter Count "tollgate_reloads_total" ["result"]
            "Reloads of the configuration (applied, unchanged, refused)";
        RulesChanged Gauge Seconds "tollgate_rules_changed_timestamp_seconds" []
            "When the rule set was taken into use, in seconds since 1970";
        ShadowRecords Counter Count "tollgate_shadow_records_total" []
            "Records that the candidate rules judged";
        ShadowChanges Counter Count "tollgate_shadow_changes_total" ["live" "candidate"]
            "Records that the candidate rules would give another verdict, by both reasons (ok if accepted)";
    }
    "Process" {
        BuildInfo Info Count "tollgate_build_info" ["version"]
            "The version of Tollgate";
        Ready Gauge Count "tollgate_ready" []
            "1 when /readyz says yes, otherwise 0";
        StartTime Gauge Seconds "tollgate_start_timestamp_seconds" []
            "When the process started, in seconds since 1970";
        CpuSeconds Counter Seconds "process_cpu_seconds_total" []
            "Processor time of the process, user and system";
        ResidentBytes Gauge Bytes "process_resident_memory_bytes" []
            "Memory of the process that is in RAM";
        LogSuppressed Counter Count "tollgate_log_suppressed_total" []
            "Log lines that the rate limit kept back";
    }
}

impl Metric {
    /// The name without the endings that an exposition format puts behind it by itself.
    #[must_use]
    pub fn stem(&self) -> &'static str {
        let name = self.name;
        let name =
            if self.kind == Kind::Counter { name.strip_suffix("_total").unwrap_or(name) } else { name };
        let name = if self.kind == Kind::Info { name.strip_suffix("_info").unwrap_or(name) } else { name };
        match self.unit {
            Unit::Count => name,
            Unit::Seconds => name.strip_suffix("_seconds").unwrap_or(name),
            Unit::Bytes => name.strip_suffix("_bytes").unwrap_or(name),
        }
    }
}

/// The table as Markdown: the text of `configs/METRICS.md`.
#[must_use]
pub fn markdown() -> String {
    let mut text = String::from(
        "# Metrics\n\nMade by `tollgate config --metrics`; a test keeps it true. Names are stable. Counters begin at 0 when the process\n\
         starts. Series of partitions that are not assigned any more disappear.\n",
    );
    let mut row = "";
    for metric in METRICS {
        if metric.row != row {
            row = metric.row;
            text.push_str(&format!(
                "\n## {row}\n\n| metric | kind | labels | meaning |\n|---|---|---|---|\n"
            ));
        }
        let labels: Vec<_> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
        let kind = format!("{:?}", metric.kind).to_lowercase();
        text.push_str(&format!("| `{}` | {kind} | {} | {} |\n", metric.name, labels.join(", "), metric.help));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Dashboards and alerts of others hold these names: a line may be added here, and none may change.
    #[test]
    fn names_are_stable() {
        let names: Vec<_> = METRICS.iter().map(|metric| metric.name).collect();
        let expected = include_str!("../tests/golden/metric-names.txt");
        assert_eq!(names, expected.lines().collect::<Vec<_>>());
    }

    #[test]
    fn names_follow_the_conventions() {
        for metric in METRICS {
            let Metric { name, kind, unit, .. } = metric;
            assert_eq!(*kind == Kind::Counter, name.ends_with("_total"), "{name}");
            assert_eq!(*kind == Kind::Info, name.ends_with("_info"), "{name}");
            let base = name.trim_end_matches("_total");
            match unit {
                Unit::Count => assert!(!base.ends_with("_seconds") && !base.ends_with("_bytes"), "{name}"),
                Unit::Seconds => assert!(base.ends_with("_seconds"), "{name}"),
                Unit::Bytes => assert!(base.ends_with("_bytes"), "{name}"),
            }
            assert!(!metric.help.ends_with('.'), "{name}");
        }
    }
}
