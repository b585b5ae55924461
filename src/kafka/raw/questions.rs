//! What topics, the cluster and a group are, and what this user may do with them.
//!
//! Any client may ask; none of this belongs on the way of a record. The answers are `answers.rs`, how a request is made
//! `requests.rs`.

use std::collections::BTreeMap;
use std::ffi::{CString, c_char};
use std::time::Duration;

use super::answers::{
    ClusterDescription, GroupDescription, GroupMember, Rights, Settings, TopicDescription, fault_of,
    pointers, read_settings, read_topics,
};
use super::errors::{c_text, copy};
use super::handle::Handle;
use super::partitions::entries;
use super::requests::{Call, Operation};
use super::sys;
use crate::kafka::faults::{Code, Fault, KafkaError};

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
                let member = |index| {
                    let member = sys::rd_kafka_ConsumerGroupDescription_member(group, index);
                    let assignment = sys::rd_kafka_MemberDescription_assignment(member);
                    let partitions = entries(sys::rd_kafka_MemberAssignment_partitions(assignment));
                    GroupMember {
                        instance: copy(sys::rd_kafka_MemberDescription_group_instance_id(member)),
                        partitions: partitions.into_iter().map(|(at, _)| (at.topic, at.partition)).collect(),
                    }
                };
                let count = sys::rd_kafka_ConsumerGroupDescription_member_count(group);
                let described = GroupDescription {
                    members: (0..count).map(member).collect(),
                    is_stable: sys::rd_kafka_ConsumerGroupDescription_state(group) == sys::GROUP_IS_STABLE,
                    rights: Rights::read(allowed, rights),
                };
                Some(fault.map_or(Ok(described), Err))
            }
        })?;
        Ok(found.ok_or_else(|| Fault::new(doing, Code::INVALID_ARGUMENT))??)
    }
}
