//! Administration: what topics, the cluster and a group are and what this user may do with them; topics made, records
//! deleted.
//!
//! Any client may ask. Each call has a queue of its own, waits for its one answer and copies it; nothing of C escapes.
//! None of this belongs on the way of a record.

use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_int};
use std::time::Duration;

use super::answers::{
    ClusterDescription, GroupDescription, NewTopic, Rights, Settings, TopicDescription, fault_of, pointers,
    read_settings, read_topics,
};
use super::conf::{TEXT_BYTES, text_of};
use super::errors::{c_text, copy, millis};
use super::handle::Handle;
use super::partitions::{List, PartitionOffset, entries};
use super::sys;
use crate::kafka::faults::{Code, Fault, KafkaError};

use sys::rd_kafka_admin_op_t as Operation;

/// How much longer than its own limit an answer is waited for.
const GRACE: Duration = Duration::from_secs(2);

impl Handle {
    /// The settings of each topic, in the order of the names.
    pub(crate) fn topic_settings(
        &self,
        topics: &[&str],
        wait: Duration,
    ) -> Result<Vec<Result<Settings, Fault>>, KafkaError> {
        let kind = sys::rd_kafka_ResourceType_t::RD_KAFKA_RESOURCE_TOPIC;
        self.settings("read the topic's settings", kind, topics, wait)
    }

    /// The settings of a broker.
    pub(crate) fn broker_settings(&self, broker: i32, wait: Duration) -> Result<Settings, KafkaError> {
        let doing = "read the broker's settings";
        let kind = sys::rd_kafka_ResourceType_t::RD_KAFKA_RESOURCE_BROKER;
        let found = self.settings(doing, kind, &[&broker.to_string()], wait)?;
        Ok(found.into_iter().next().unwrap_or_else(|| Ok(Settings::new()))?)
    }

    fn settings(
        &self,
        doing: &'static str,
        kind: sys::rd_kafka_ResourceType_t,
        names: &[&str],
        wait: Duration,
    ) -> Result<Vec<Result<Settings, Fault>>, KafkaError> {
        let texts: Vec<CString> = names.iter().map(|name| c_text(name)).collect();
        // SAFETY: names outlive the call; resources are destroyed after it was started, which copies them.
        let ask = |call: &Call| unsafe {
            let mut list: Vec<_> =
                texts.iter().map(|name| sys::rd_kafka_ConfigResource_new(kind, name.as_ptr())).collect();
            let (at, count) = (list.as_mut_ptr(), list.len());
            sys::rd_kafka_DescribeConfigs(self.as_ptr(), at, count, call.options, call.queue);
            sys::rd_kafka_ConfigResource_destroy_array(at, count);
        };
        let found = self.ask(doing, Operation::RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, wait, ask, |event| {
            // SAFETY: the event is of the kind that was asked for and lives until it was read.
            unsafe { read_settings(doing, event) }
        })?;
        let mut found: BTreeMap<String, Result<Settings, Fault>> = found.into_iter().collect();
        let missing = || Err(Fault::new(doing, Code::UNKNOWN_TOPIC));
        Ok(names.iter().map(|name| found.remove(*name).unwrap_or_else(missing)).collect())
    }

    /// Topics with what this user may do with them, in the order of the names; a topic that is not there, or not
    /// visible, is a fault of its own.
    pub(crate) fn describe_topics(
        &self,
        topics: &[&str],
        wait: Duration,
    ) -> Result<Vec<Result<TopicDescription, Fault>>, KafkaError> {
        let doing = "describe the topic";
        let texts: Vec<CString> = topics.iter().map(|name| c_text(name)).collect();
        let mut names: Vec<*const c_char> = texts.iter().map(|name| name.as_ptr()).collect();
        // SAFETY: names outlive the call; the collection is destroyed after it was started, which copies it.
        let ask = |call: &Call| unsafe {
            let list = sys::rd_kafka_TopicCollection_of_topic_names(names.as_mut_ptr(), names.len());
            sys::rd_kafka_DescribeTopics(self.as_ptr(), list, call.options, call.queue);
            sys::rd_kafka_TopicCollection_destroy(list);
        };
        let found = self.ask(doing, Operation::RD_KAFKA_ADMIN_OP_DESCRIBETOPICS, wait, ask, |event| {
            // SAFETY: the event is of the kind that was asked for and lives until it was read.
            unsafe { read_topics(doing, event) }
        })?;
        let mut found: BTreeMap<String, Result<TopicDescription, Fault>> = found.into_iter().collect();
        let missing = || Err(Fault::new(doing, Code::UNKNOWN_TOPIC));
        Ok(topics.iter().map(|name| found.remove(*name).unwrap_or_else(missing)).collect())
    }

    /// The cluster, with what this user may do with it.
    pub(crate) fn describe_cluster(&self, wait: Duration) -> Result<ClusterDescription, KafkaError> {
        let doing = "describe the cluster";
        // SAFETY: options and queue live during the call.
        let ask = |call: &Call| unsafe {
            sys::rd_kafka_DescribeCluster(self.as_ptr(), call.options, call.queue);
        };
        self.ask(doing, Operation::RD_KAFKA_ADMIN_OP_DESCRIBECLUSTER, wait, ask, |event| {
            // SAFETY: the event is of the kind that was asked for and lives until it was read; lists have the
            // lengths that are given with them.
            unsafe {
                let result = sys::rd_kafka_event_DescribeCluster_result(event);
                let (mut nodes, mut rights) = (0, 0);
                let list = sys::rd_kafka_DescribeCluster_result_nodes(result, &raw mut nodes);
                let broker = |node: *const sys::rd_kafka_Node_t| {
                    let host = copy(sys::rd_kafka_Node_host(node));
                    (sys::rd_kafka_Node_id(node), format!("{host}:{}", sys::rd_kafka_Node_port(node)))
                };
                let brokers = pointers(list, nodes).iter().map(|node| broker(*node)).collect();
                let allowed =
                    sys::rd_kafka_DescribeCluster_result_authorized_operations(result, &raw mut rights);
                ClusterDescription {
                    id: copy(sys::rd_kafka_DescribeCluster_result_cluster_id(result)),
                    brokers,
                    rights: Rights::read(allowed, rights),
                }
            }
        })
    }

    /// A consumer group, with what this user may do with it. One that never was has no members.
    pub(crate) fn describe_group(&self, group: &str, wait: Duration) -> Result<GroupDescription, KafkaError> {
        let doing = "describe the consumer group";
        let name = c_text(group);
        let mut names = [name.as_ptr()];
        // SAFETY: the name outlives the call, which copies it.
        let ask = |call: &Call| unsafe {
            let at = names.as_mut_ptr();
            sys::rd_kafka_DescribeConsumerGroups(self.as_ptr(), at, 1, call.options, call.queue);
        };
        let operation = Operation::RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS;
        let found = self.ask(doing, operation, wait, ask, |event| {
            // SAFETY: as in `describe_cluster`.
            unsafe {
                let result = sys::rd_kafka_event_DescribeConsumerGroups_result(event);
                let (mut groups, mut rights) = (0, 0);
                let list = sys::rd_kafka_DescribeConsumerGroups_result_groups(result, &raw mut groups);
                let group = pointers(list, groups).first().copied()?;
                let fault = fault_of(doing, sys::rd_kafka_ConsumerGroupDescription_error(group));
                let allowed =
                    sys::rd_kafka_ConsumerGroupDescription_authorized_operations(group, &raw mut rights);
                let members = sys::rd_kafka_ConsumerGroupDescription_member_count(group);
                let described = GroupDescription { members, rights: Rights::read(allowed, rights) };
                Some(fault.map_or(Ok(described), Err))
            }
        })?;
        Ok(found.ok_or_else(|| Fault::new(doing, Code::INVALID_ARGUMENT))??)
    }

    /// Makes a topic; with `try_only` it is only asked whether it could be made.
    pub(crate) fn create_topic(
        &self,
        topic: &NewTopic<'_>,
        try_only: bool,
        wait: Duration,
    ) -> Result<(), KafkaError> {
        let doing = if try_only { "find out whether the topic can be made" } else { "make the topic" };
        let name = c_text(topic.name);
        let mut text: [c_char; TEXT_BYTES] = [0; TEXT_BYTES];
        // SAFETY: the name lives during the call, and the buffer has the size that is passed.
        let new = unsafe {
            let copies = topic.replicas.unwrap_or(-1);
            sys::rd_kafka_NewTopic_new(name.as_ptr(), topic.partitions, copies, text.as_mut_ptr(), TEXT_BYTES)
        };
        if new.is_null() {
            let fault = Fault::new(doing, Code::INVALID_ARGUMENT).at(topic.name, None, None);
            return Err(Fault { text: text_of(&text), ..fault }.into());
        }
        for (key, value) in topic.settings {
            let (key, value) = (c_text(key), c_text(value));
            // SAFETY: the topic is ours; both texts are copied.
            unsafe { sys::rd_kafka_NewTopic_set_config(new, key.as_ptr(), value.as_ptr()) };
        }
        // SAFETY: the topic is ours, destroyed once, after the call was started, which copies it.
        let ask = |call: &Call| unsafe {
            let mut list = [new];
            if try_only {
                call.set(|options, text| {
                    sys::rd_kafka_AdminOptions_set_validate_only(options, 1, text, TEXT_BYTES)
                });
            }
            sys::rd_kafka_CreateTopics(self.as_ptr(), list.as_mut_ptr(), 1, call.options, call.queue);
            sys::rd_kafka_NewTopic_destroy(new);
        };
        let fault = self.ask(doing, Operation::RD_KAFKA_ADMIN_OP_CREATETOPICS, wait, ask, |event| {
            // SAFETY: as in `describe_cluster`.
            unsafe {
                let result = sys::rd_kafka_event_CreateTopics_result(event);
                let mut count = 0;
                let list = sys::rd_kafka_CreateTopics_result_topics(result, &raw mut count);
                let topic = pointers(list, count).first().copied()?;
                let code = Code(sys::rd_kafka_topic_result_error(topic));
                let text = copy(sys::rd_kafka_topic_result_error_string(topic));
                (!code.is_none()).then(|| Fault { text, ..Fault::new(doing, code) })
            }
        })?;
        fault.map_or(Ok(()), |fault| Err(fault.at(topic.name, None, None).into()))
    }

    /// Deletes the records of each partition below its offset; gives each with its own outcome.
    pub(crate) fn delete_records(
        &self,
        below: &[PartitionOffset],
        wait: Duration,
    ) -> Result<Vec<(PartitionOffset, Code)>, KafkaError> {
        if below.is_empty() {
            return Ok(Vec::new());
        }
        let list = List::new(below);
        // SAFETY: the list lives during the call; the request is destroyed after it was started, which copies it.
        let ask = |call: &Call| unsafe {
            let request = sys::rd_kafka_DeleteRecords_new(list.as_ptr());
            let mut requests = [request];
            sys::rd_kafka_DeleteRecords(self.as_ptr(), requests.as_mut_ptr(), 1, call.options, call.queue);
            sys::rd_kafka_DeleteRecords_destroy(request);
        };
        self.ask("delete records", Operation::RD_KAFKA_ADMIN_OP_DELETERECORDS, wait, ask, |event| {
            // SAFETY: the event is of the kind that was asked for; its list lives until it was read.
            unsafe {
                let result = sys::rd_kafka_event_DeleteRecords_result(event);
                entries(sys::rd_kafka_DeleteRecords_result_offsets(result))
            }
        })
    }

    /// Starts a call, waits for its answer and reads it.
    fn ask<R>(
        &self,
        doing: &'static str,
        operation: Operation,
        wait: Duration,
        start: impl FnOnce(&Call),
        read: impl FnOnce(*mut sys::rd_kafka_event_t) -> R,
    ) -> Result<R, KafkaError> {
        let call = Call::new(self, operation, wait);
        start(&call);
        // SAFETY: the queue is alive; the event that comes back is ours, and destroyed after the last look at it.
        unsafe {
            let event = sys::rd_kafka_queue_poll(call.queue, millis(wait + GRACE));
            if event.is_null() {
                return Err(Fault::new(doing, Code::TIMED_OUT).into());
            }
            let code = Code(sys::rd_kafka_event_error(event));
            let answer = if code.is_none() {
                Ok(read(event))
            } else {
                let text = copy(sys::rd_kafka_event_error_string(event));
                Err(Fault { text, ..Fault::new(doing, code) }.into())
            };
            sys::rd_kafka_event_destroy(event);
            answer
        }
    }
}

/// Options and queue of one call.
struct Call {
    options: *mut sys::rd_kafka_AdminOptions_t,
    queue: *mut sys::rd_kafka_queue_t,
}

impl Call {
    fn new(handle: &Handle, operation: Operation, wait: Duration) -> Self {
        // SAFETY: the handle is alive; both objects are ours until `drop`.
        let call = unsafe {
            Self {
                options: sys::rd_kafka_AdminOptions_new(handle.as_ptr(), operation),
                queue: sys::rd_kafka_queue_new(handle.as_ptr()),
            }
        };
        let limit = millis(wait).max(1);
        // SAFETY: the options are ours; the buffer has the size that is passed.
        call.set(|options, text| unsafe {
            sys::rd_kafka_AdminOptions_set_request_timeout(options, limit, text, TEXT_BYTES)
        });
        let describes = matches!(
            operation,
            Operation::RD_KAFKA_ADMIN_OP_DESCRIBETOPICS
                | Operation::RD_KAFKA_ADMIN_OP_DESCRIBECLUSTER
                | Operation::RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS
        );
        if describes {
            // SAFETY: the options are ours; these operations know the option, so no error comes back.
            let error =
                unsafe { sys::rd_kafka_AdminOptions_set_include_authorized_operations(call.options, 1) };
            debug_assert!(error.is_null(), "describing calls take this option");
        }
        call
    }

    /// Sets an option; librdkafka refuses none of those used here.
    fn set(&self, option: impl FnOnce(*mut sys::rd_kafka_AdminOptions_t, *mut c_char) -> c_int) {
        let mut text: [c_char; TEXT_BYTES] = [0; TEXT_BYTES];
        let code = option(self.options, text.as_mut_ptr());
        debug_assert_eq!(code, 0, "{}", text_of(&text));
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        // SAFETY: ours alone; an answer that comes later finds no queue and is thrown away by librdkafka.
        unsafe {
            sys::rd_kafka_AdminOptions_destroy(self.options);
            sys::rd_kafka_queue_destroy(self.queue);
        }
    }
}
