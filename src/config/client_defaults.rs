//! What Tollgate sets in librdkafka where the user says nothing, with the reason; clients and `default.toml` derive from it.
//!
//! Figures are CPU seconds of Tollgate's process per million records, as the head of that section says; one run each of
//! 600,000 records in four partitions, with the key in `[librdkafka]`.

/// Which clients a default is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientKind {
    /// Those that read.
    Consumer,
    /// Those that write.
    Producer,
}

/// One default.
#[derive(Clone, Copy, Debug)]
pub struct ClientDefault {
    /// Where it holds.
    pub kind: ClientKind,
    /// The key, as librdkafka names it.
    pub key: &'static str,
    /// Its value.
    pub value: &'static str,
    /// Why, for people: lines of a comment.
    pub reason: &'static [&'static str],
}

const fn consumer(key: &'static str, value: &'static str, reason: &'static [&'static str]) -> ClientDefault {
    ClientDefault { kind: ClientKind::Consumer, key, value, reason }
}

const fn producer(key: &'static str, value: &'static str, reason: &'static [&'static str]) -> ClientDefault {
    ClientDefault { kind: ClientKind::Producer, key, value, reason }
}

/// All defaults, in the order of `default.toml`.
pub const CLIENT_DEFAULTS: &[ClientDefault] = &[
    consumer(
        "heartbeat.interval.ms",
        "3000",
        &[
            "Three heartbeats fit into the shortest usual session timeout of 10 s (`kafka.session_timeout_ms`).",
        ],
    ),
    consumer(
        "queued.max.messages.kbytes",
        "16384",
        &[
            "Read ahead, per partition, so smaller than librdkafka's 64 MB: 64 partitions take 1 GB at most, not 4, and a held",
            "record pins the whole response it came in. CPU with 64 MB: 7.7 and 7.2, with 16 MB 7.8 and 7.9.",
        ],
    ),
    consumer(
        "fetch.message.max.bytes",
        "1048576",
        &[
            "librdkafka's own: what one partition adds to a response, and so what a single held record can pin.",
            "CPU with 4 MB: 7.6 and 7.5, with 1 MB 7.8 and 7.9.",
        ],
    ),
    consumer(
        "fetch.min.bytes",
        "1",
        &[
            "librdkafka's own: a broker that waits for more adds to the latency of a slow topic. CPU with",
            "64 KB: 7.0 and 8.1, with 1 byte 7.8 and 7.9.",
        ],
    ),
    consumer(
        "fetch.queue.backoff.ms",
        "20",
        &[
            "librdkafka waits a full second when its queue was full, which starves a fast reader of small queues.",
        ],
    ),
    producer(
        "linger.ms",
        "5",
        &[
            "Long enough to fill batches under load, and a small part of `kafka.latency_goal_ms`.",
            "CPU with 20 ms: 7.6 and 7.6, with 50 ms 7.7 and 7.7, with 5 ms 7.8 and 7.9.",
        ],
    ),
    producer(
        "message.copy.max.bytes",
        "65535",
        &[
            "librdkafka's own: smaller payloads are copied once into the request, larger ones sent from where they are.",
            "CPU with 0 (never copied): 7.9 and 8.2, with 512 bytes 8.3 and 7.9, with 65535 7.8 and 7.9.",
            "A list of small pieces costs the system what the copy saves.",
        ],
    ),
    producer(
        "compression.type",
        "none",
        &[
            "Set what the output topics need; compressing takes CPU of this process. CPU with",
            "lz4: 10.4 and 9.2, without 7.8 and 7.9.",
        ],
    ),
    producer(
        "partitioner",
        "murmur2_random",
        &[
            "The Java client's, so that keys meet in the same partition whoever writes (`kafka.partition = \"key\"`).",
        ],
    ),
    producer(
        "message.max.bytes",
        "1000000000",
        &[
            "librdkafka's own limit, 1 MB, is below the brokers': a record that was read could not be written, for ever. The",
            "output topic's limit decides; batches of several records stay bounded by `batch.size` (1 MB).",
        ],
    ),
];
