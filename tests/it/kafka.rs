//! Against a real Apache Kafka.
