//! The one table of what to do about each error code of librdkafka and of the broker.
//!
//! Every code has exactly one class (a test compares the lists with librdkafka's own). A code that is unknown here,
//! because the broker is newer, counts as [`Class::Stop`]: better to stop than to guess. Names are librdkafka's;
//! a leading underscore marks its own codes, the others come from brokers.

use super::faults::Class;

/// The class of the code with this name.
pub(super) fn class_of(name: &str) -> Class {
    TABLE.iter().find(|(_, names)| names.contains(&name)).map_or(Class::Stop, |(class, _)| *class)
}

pub(super) const TABLE: [(Class, &[&str]); 5] = [
    (Class::Retry, RETRY),
    (Class::Pause, PAUSE),
    (Class::Reject, REJECT),
    (Class::Rebuild, REBUILD),
    (Class::Stop, STOP),
];

/// A matter of a moment: outdated knowledge of leaders and coordinators, rebalances, epochs, calls that took too long.
const RETRY: &[&str] = &[
    "NO_ERROR",
    "_TIMED_OUT",
    "_NODE_UPDATE",
    "_IN_PROGRESS",
    "_PREV_IN_PROGRESS",
    "_ASSIGN_PARTITIONS",
    "_REVOKE_PARTITIONS",
    "_CONFLICT",
    "_STATE",
    "_OUTDATED",
    "_WAIT_CACHE",
    "_INTR",
    "_PARTIAL",
    "_NOENT",
    "_UNDERFLOW",
    "_RETRY",
    "_MAX_POLL_EXCEEDED",
    "_NOOP",
    "_PARTITION_EOF",
    "_NO_OFFSET",
    "UNKNOWN_TOPIC_OR_PART",
    "NOT_LEADER_FOR_PARTITION",
    "REQUEST_TIMED_OUT",
    "STALE_CTRL_EPOCH",
    "NOT_COORDINATOR",
    "ILLEGAL_GENERATION",
    "UNKNOWN_MEMBER_ID",
    "REBALANCE_IN_PROGRESS",
    "NOT_CONTROLLER",
    "CONCURRENT_TRANSACTIONS",
    "OPERATION_NOT_ATTEMPTED",
    "REASSIGNMENT_IN_PROGRESS",
    "FETCH_SESSION_ID_NOT_FOUND",
    "INVALID_FETCH_SESSION_EPOCH",
    "FENCED_LEADER_EPOCH",
    "UNKNOWN_LEADER_EPOCH",
    "STALE_BROKER_EPOCH",
    "OFFSET_NOT_AVAILABLE",
    "MEMBER_ID_REQUIRED",
    "ELECTION_NOT_NEEDED",
    "NO_REASSIGNMENT_IN_PROGRESS",
    "UNSTABLE_OFFSET_COMMIT",
    "DUPLICATE_SEQUENCE_NUMBER",
    "UNKNOWN_TOPIC_ID",
    "FENCED_MEMBER_EPOCH",
    "UNRELEASED_INSTANCE_ID",
    "STALE_MEMBER_EPOCH",
    "UNKNOWN_SUBSCRIPTION_ID",
    "REBOOTSTRAP_REQUIRED",
    "TELEMETRY_TOO_LARGE",
];

/// The cluster takes nothing, or we may not give more: connections, elections, copies, quotas, full queues. It passes by
/// itself, but not at once.
const PAUSE: &[&str] = &[
    "_TRANSPORT",
    "_RESOLVE",
    "_ALL_BROKERS_DOWN",
    "_QUEUE_FULL",
    "_ISR_INSUFF",
    "_WAIT_COORD",
    "_TIMED_OUT_QUEUE",
    "_DESTROY_BROKER",
    "_UNKNOWN_BROKER",
    "LEADER_NOT_AVAILABLE",
    "BROKER_NOT_AVAILABLE",
    "REPLICA_NOT_AVAILABLE",
    "NETWORK_EXCEPTION",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "COORDINATOR_NOT_AVAILABLE",
    "NOT_ENOUGH_REPLICAS",
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    "KAFKA_STORAGE_ERROR",
    "LISTENER_NOT_FOUND",
    "PREFERRED_LEADER_NOT_AVAILABLE",
    "ELIGIBLE_LEADERS_NOT_AVAILABLE",
    "THROTTLING_QUOTA_EXCEEDED",
];

/// One record is at fault: its size, its timestamp, its missing key.
const REJECT: &[&str] = &[
    "_INVALID_DIFFERENT_RECORD",
    "MSG_SIZE_TOO_LARGE",
    "INVALID_MSG_SIZE",
    "RECORD_LIST_TOO_LARGE",
    "INVALID_TIMESTAMP",
    "INVALID_RECORD",
    "_KEY_SERIALIZATION",
    "_VALUE_SERIALIZATION",
];

/// The client has come to its end, or records of it were given up: a new one goes on from the committed offsets. A member
/// whose name was given away first asks whether a namesake lives (`pipeline/kafka_ends/renewal.rs`).
const REBUILD: &[&str] = &[
    "_DESTROY",
    "_MSG_TIMED_OUT",
    "_PURGE_QUEUE",
    "_PURGE_INFLIGHT",
    "_FATAL",
    "_INCONSISTENT",
    "_GAPLESS_GUARANTEE",
    "_ASSIGNMENT_LOST",
    "OUT_OF_ORDER_SEQUENCE_NUMBER",
    "INVALID_PRODUCER_EPOCH",
    "INVALID_TXN_STATE",
    "INVALID_PRODUCER_ID_MAPPING",
    "TRANSACTION_COORDINATOR_FENCED",
    "UNKNOWN_PRODUCER_ID",
    "FENCED_INSTANCE_ID",
];

/// Rights, configuration, versions, fencing by a namesake, data that is gone or unreadable: a person has to look.
const STOP: &[&str] = &[
    "_BAD_MSG",
    "_BAD_COMPRESSION",
    "_FAIL",
    "_CRIT_SYS_RESOURCE",
    "_UNKNOWN_PARTITION",
    "_FS",
    "_UNKNOWN_TOPIC",
    "_INVALID_ARG",
    "_SSL",
    "_UNKNOWN_GROUP",
    "_EXISTING_SUBSCRIPTION",
    "_UNKNOWN_PROTOCOL",
    "_NOT_IMPLEMENTED",
    "_AUTHENTICATION",
    "_UNSUPPORTED_FEATURE",
    "_KEY_DESERIALIZATION",
    "_VALUE_DESERIALIZATION",
    "_READ_ONLY",
    "_INVALID_TYPE",
    "_NOT_CONFIGURED",
    "_FENCED",
    "_APPLICATION",
    "_AUTO_OFFSET_RESET",
    "_LOG_TRUNCATION",
    "UNKNOWN",
    "OFFSET_OUT_OF_RANGE",
    "INVALID_MSG",
    "OFFSET_METADATA_TOO_LARGE",
    "TOPIC_EXCEPTION",
    "INVALID_REQUIRED_ACKS",
    "INCONSISTENT_GROUP_PROTOCOL",
    "INVALID_GROUP_ID",
    "INVALID_SESSION_TIMEOUT",
    "INVALID_COMMIT_OFFSET_SIZE",
    "TOPIC_AUTHORIZATION_FAILED",
    "GROUP_AUTHORIZATION_FAILED",
    "CLUSTER_AUTHORIZATION_FAILED",
    "UNSUPPORTED_SASL_MECHANISM",
    "ILLEGAL_SASL_STATE",
    "UNSUPPORTED_VERSION",
    "TOPIC_ALREADY_EXISTS",
    "INVALID_PARTITIONS",
    "INVALID_REPLICATION_FACTOR",
    "INVALID_REPLICA_ASSIGNMENT",
    "INVALID_CONFIG",
    "INVALID_REQUEST",
    "UNSUPPORTED_FOR_MESSAGE_FORMAT",
    "POLICY_VIOLATION",
    "INVALID_TRANSACTION_TIMEOUT",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
    "SECURITY_DISABLED",
    "LOG_DIR_NOT_FOUND",
    "SASL_AUTHENTICATION_FAILED",
    "DELEGATION_TOKEN_AUTH_DISABLED",
    "DELEGATION_TOKEN_NOT_FOUND",
    "DELEGATION_TOKEN_OWNER_MISMATCH",
    "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED",
    "DELEGATION_TOKEN_AUTHORIZATION_FAILED",
    "DELEGATION_TOKEN_EXPIRED",
    "INVALID_PRINCIPAL_TYPE",
    "NON_EMPTY_GROUP",
    "GROUP_ID_NOT_FOUND",
    "TOPIC_DELETION_DISABLED",
    "UNSUPPORTED_COMPRESSION_TYPE",
    "GROUP_MAX_SIZE_REACHED",
    "GROUP_SUBSCRIBED_TO_TOPIC",
    "PRODUCER_FENCED",
    "RESOURCE_NOT_FOUND",
    "DUPLICATE_RESOURCE",
    "UNACCEPTABLE_CREDENTIAL",
    "INCONSISTENT_VOTER_SET",
    "INVALID_UPDATE_VERSION",
    "FEATURE_UPDATE_FAILED",
    "PRINCIPAL_DESERIALIZATION_FAILURE",
    "UNSUPPORTED_ASSIGNOR",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::kafka::faults::Code;
    use crate::kafka::raw;

    #[test]
    fn every_code_of_librdkafka_has_exactly_one_class() {
        let mut classes: BTreeMap<&str, u32> = BTreeMap::new();
        for (_, names) in TABLE {
            for name in names {
                *classes.entry(name).or_default() += 1;
            }
        }
        let known = raw::errors::all_names();
        assert!(known.len() > 150, "librdkafka lists its codes");
        let missing: Vec<_> = known.iter().filter(|name| !classes.contains_key(name.as_str())).collect();
        assert!(missing.is_empty(), "without a class: {missing:?}");
        let unknown: Vec<_> =
            classes.keys().filter(|name| !known.iter().any(|other| other == *name)).collect();
        assert!(unknown.is_empty(), "not a code of librdkafka: {unknown:?}");
        assert!(classes.values().all(|count| *count == 1), "a code stands twice");
    }

    #[test]
    fn a_code_of_a_newer_broker_stops() {
        assert_eq!(Code(31_999).class(), Class::Stop);
        assert_eq!(Code::QUEUE_FULL.class(), Class::Pause);
        assert_eq!(Code::TIMED_OUT.class(), Class::Retry);
    }
}
