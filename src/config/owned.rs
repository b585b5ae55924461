//! The keys of librdkafka that belong to Tollgate: a user's value would lose or double records.

/// Keys that Tollgate sets itself, with the reason that is shown to whoever tries.
pub const OWNED: &[(&str, &str)] = &[
    ("bootstrap.servers", "set the brokers in Tollgate's own key"),
    ("metadata.broker.list", "set the brokers in Tollgate's own key"),
    ("group.id", "set the group in Tollgate's own key"),
    ("group.instance.id", "derived from `instance`"),
    ("group.protocol", "the newer protocol stalls in this librdkafka"),
    ("partition.assignment.strategy", "state moves with its partition, which needs cooperative-sticky"),
    ("enable.auto.commit", "offsets are committed when the output is acknowledged"),
    ("enable.auto.offset.store", "offsets are committed when the output is acknowledged"),
    ("auto.offset.reset", "set `start`; librdkafka's own reset loses records silently"),
    ("isolation.level", "only committed records are read"),
    ("enable.partition.eof", "its events move the position in this librdkafka"),
    ("transactional.id", "derived from `instance`"),
    (
        "transaction.timeout.ms",
        "always 15000: what was open for longer was ended by the brokers, not by a namesake",
    ),
    ("enable.idempotence", "always on"),
    ("acks", "always all"),
    ("request.required.acks", "always all"),
    ("enable.gapless.guarantee", "not compatible with rebuilding a producer"),
    ("statistics.interval.ms", "set the interval in Tollgate's own key"),
    ("log.queue", "logs are taken directly"),
    ("delivery.report.only.error", "every record needs its report"),
    ("opaque", "used by the client itself"),
];
