//! The C functions that this client calls, with error codes as plain integers.
//!
//! The generated bindings declare an error code as a Rust enum. A broker may send a code that this librdkafka does not
//! know, and such a value in an enum would be undefined behaviour. So every function that returns or takes a code
//! is declared here again with `c_int` (the same ABI), and codes inside structs are read as integers. No other file
//! may use the enum as a value that came from C.

pub(crate) use rdkafka::bindings::{
    RD_KAFKA_OFFSET_INVALID, RD_KAFKA_PURGE_F_INFLIGHT, RD_KAFKA_PURGE_F_QUEUE, rd_kafka_AclOperation_t,
    rd_kafka_AdminOptions_destroy, rd_kafka_AdminOptions_new,
    rd_kafka_AdminOptions_set_include_authorized_operations, rd_kafka_AdminOptions_t,
    rd_kafka_ConfigEntry_name, rd_kafka_ConfigEntry_t, rd_kafka_ConfigEntry_value,
    rd_kafka_ConfigResource_configs, rd_kafka_ConfigResource_destroy_array,
    rd_kafka_ConfigResource_error_string, rd_kafka_ConfigResource_name, rd_kafka_ConfigResource_new,
    rd_kafka_ConfigResource_t, rd_kafka_ConsumerGroupDescription_authorized_operations,
    rd_kafka_ConsumerGroupDescription_error, rd_kafka_ConsumerGroupDescription_member,
    rd_kafka_ConsumerGroupDescription_member_count, rd_kafka_ConsumerGroupDescription_t,
    rd_kafka_CreatePartitions, rd_kafka_CreatePartitions_result_topics, rd_kafka_CreateTopics,
    rd_kafka_CreateTopics_result_topics, rd_kafka_DeleteRecords, rd_kafka_DeleteRecords_destroy,
    rd_kafka_DeleteRecords_new, rd_kafka_DeleteRecords_result_offsets, rd_kafka_DescribeCluster,
    rd_kafka_DescribeCluster_result_authorized_operations, rd_kafka_DescribeCluster_result_cluster_id,
    rd_kafka_DescribeCluster_result_nodes, rd_kafka_DescribeConfigs,
    rd_kafka_DescribeConfigs_result_resources, rd_kafka_DescribeConsumerGroups,
    rd_kafka_DescribeConsumerGroups_result_groups, rd_kafka_DescribeTopics,
    rd_kafka_DescribeTopics_result_topics, rd_kafka_MemberAssignment_partitions,
    rd_kafka_MemberDescription_assignment, rd_kafka_MemberDescription_group_instance_id,
    rd_kafka_NewPartitions_destroy, rd_kafka_NewPartitions_new, rd_kafka_NewTopic_destroy,
    rd_kafka_NewTopic_new, rd_kafka_NewTopic_t, rd_kafka_Node_host, rd_kafka_Node_id, rd_kafka_Node_port,
    rd_kafka_Node_t, rd_kafka_ResourceType_t, rd_kafka_TopicCollection_destroy,
    rd_kafka_TopicCollection_of_topic_names, rd_kafka_TopicDescription_authorized_operations,
    rd_kafka_TopicDescription_error, rd_kafka_TopicDescription_name, rd_kafka_TopicDescription_partitions,
    rd_kafka_TopicDescription_t, rd_kafka_TopicPartitionInfo_isr, rd_kafka_TopicPartitionInfo_replicas,
    rd_kafka_abort_transaction, rd_kafka_admin_op_t, rd_kafka_assignment_lost, rd_kafka_begin_transaction,
    rd_kafka_commit_transaction, rd_kafka_conf_destroy, rd_kafka_conf_enable_sasl_queue, rd_kafka_conf_get,
    rd_kafka_conf_new, rd_kafka_conf_res_t, rd_kafka_conf_set, rd_kafka_conf_set_dr_msg_cb,
    rd_kafka_conf_set_error_cb, rd_kafka_conf_set_log_cb, rd_kafka_conf_set_oauthbearer_token_refresh_cb,
    rd_kafka_conf_set_opaque, rd_kafka_conf_set_stats_cb, rd_kafka_conf_t, rd_kafka_consume_batch_queue,
    rd_kafka_consumer_group_metadata, rd_kafka_consumer_group_metadata_destroy,
    rd_kafka_consumer_group_metadata_generation_id, rd_kafka_consumer_group_metadata_member_id,
    rd_kafka_consumer_group_metadata_new, rd_kafka_consumer_group_metadata_t, rd_kafka_consumer_poll,
    rd_kafka_destroy, rd_kafka_error_destroy, rd_kafka_error_is_fatal, rd_kafka_error_is_retriable,
    rd_kafka_error_string, rd_kafka_error_t, rd_kafka_error_txn_requires_abort,
    rd_kafka_event_CreatePartitions_result, rd_kafka_event_CreateTopics_result,
    rd_kafka_event_DeleteRecords_result, rd_kafka_event_DescribeCluster_result,
    rd_kafka_event_DescribeConfigs_result, rd_kafka_event_DescribeConsumerGroups_result,
    rd_kafka_event_DescribeTopics_result, rd_kafka_event_destroy, rd_kafka_event_error_string,
    rd_kafka_event_t, rd_kafka_header_cnt, rd_kafka_headers_destroy, rd_kafka_headers_new,
    rd_kafka_headers_t, rd_kafka_incremental_assign, rd_kafka_incremental_unassign,
    rd_kafka_init_transactions, rd_kafka_mem_malloc, rd_kafka_message_destroy, rd_kafka_message_t,
    rd_kafka_message_timestamp, rd_kafka_metadata_destroy, rd_kafka_metadata_t, rd_kafka_name, rd_kafka_new,
    rd_kafka_opaque, rd_kafka_poll, rd_kafka_produceva, rd_kafka_queue_destroy, rd_kafka_queue_get_consumer,
    rd_kafka_queue_new, rd_kafka_queue_poll, rd_kafka_queue_poll_callback, rd_kafka_queue_t,
    rd_kafka_resp_err_t, rd_kafka_sasl_background_callbacks_enable, rd_kafka_seek_partitions,
    rd_kafka_send_offsets_to_transaction, rd_kafka_t, rd_kafka_timestamp_type_t, rd_kafka_topic_destroy,
    rd_kafka_topic_name, rd_kafka_topic_new, rd_kafka_topic_partition_list_add,
    rd_kafka_topic_partition_list_destroy, rd_kafka_topic_partition_list_new,
    rd_kafka_topic_partition_list_t, rd_kafka_topic_result_error_string, rd_kafka_topic_result_t,
    rd_kafka_topic_t, rd_kafka_type_t, rd_kafka_vtype_t, rd_kafka_vu_t,
};
use std::ffi::{c_char, c_int, c_void};

/// A state of a group, which is read as an integer, too.
pub(crate) const GROUP_IS_STABLE: c_int = 3;

/// The offset-commit and rebalance callbacks have one shape.
pub(crate) type PartitionsCallback =
    unsafe extern "C" fn(*mut rd_kafka_t, c_int, *mut rd_kafka_topic_partition_list_t, *mut c_void);

#[cfg(test)]
/// One entry of librdkafka's list of error codes.
#[repr(C)]
pub(crate) struct ErrorDescription {
    pub(crate) code: c_int,
    pub(crate) name: *const c_char,
    pub(crate) text: *const c_char,
}

unsafe extern "C" {
    #[cfg(test)]
    pub(crate) fn rd_kafka_get_err_descs(list: *mut *const ErrorDescription, count: *mut usize);
    pub(crate) fn rd_kafka_event_error(event: *mut rd_kafka_event_t) -> c_int;
    pub(crate) fn rd_kafka_ConfigResource_error(resource: *const rd_kafka_ConfigResource_t) -> c_int;
    pub(crate) fn rd_kafka_ConsumerGroupDescription_state(
        group: *const rd_kafka_ConsumerGroupDescription_t,
    ) -> c_int;
    pub(crate) fn rd_kafka_topic_result_error(result: *const rd_kafka_topic_result_t) -> c_int;
    pub(crate) fn rd_kafka_AdminOptions_set_request_timeout(
        options: *mut rd_kafka_AdminOptions_t,
        timeout_ms: c_int,
        text: *mut c_char,
        text_size: usize,
    ) -> c_int;
    pub(crate) fn rd_kafka_AdminOptions_set_validate_only(
        options: *mut rd_kafka_AdminOptions_t,
        is_on: c_int,
        text: *mut c_char,
        text_size: usize,
    ) -> c_int;
    pub(crate) fn rd_kafka_NewTopic_set_config(
        topic: *mut rd_kafka_NewTopic_t,
        key: *const c_char,
        value: *const c_char,
    ) -> c_int;
    pub(crate) fn rd_kafka_err2str(code: c_int) -> *const c_char;
    pub(crate) fn rd_kafka_err2name(code: c_int) -> *const c_char;
    pub(crate) fn rd_kafka_error_code(error: *const rd_kafka_error_t) -> c_int;
    pub(crate) fn rd_kafka_fatal_error(rk: *mut rd_kafka_t, text: *mut c_char, size: usize) -> c_int;
    pub(crate) fn rd_kafka_message_errstr(message: *const rd_kafka_message_t) -> *const c_char;
    pub(crate) fn rd_kafka_message_headers(
        message: *const rd_kafka_message_t,
        headers: *mut *mut rd_kafka_headers_t,
    ) -> c_int;
    pub(crate) fn rd_kafka_message_detach_headers(
        message: *mut rd_kafka_message_t,
        headers: *mut *mut rd_kafka_headers_t,
    ) -> c_int;
    pub(crate) fn rd_kafka_header_add(
        headers: *mut rd_kafka_headers_t,
        name: *const c_char,
        name_size: isize,
        value: *const c_void,
        value_size: isize,
    ) -> c_int;
    pub(crate) fn rd_kafka_header_get_all(
        headers: *const rd_kafka_headers_t,
        index: usize,
        name: *mut *const c_char,
        value: *mut *const c_void,
        size: *mut usize,
    ) -> c_int;
    pub(crate) fn rd_kafka_conf_set_rebalance_cb(
        conf: *mut rd_kafka_conf_t,
        callback: Option<PartitionsCallback>,
    );
    pub(crate) fn rd_kafka_conf_set_offset_commit_cb(
        conf: *mut rd_kafka_conf_t,
        callback: Option<PartitionsCallback>,
    );
    pub(crate) fn rd_kafka_poll_set_consumer(rk: *mut rd_kafka_t) -> c_int;
    pub(crate) fn rd_kafka_subscribe(
        rk: *mut rd_kafka_t,
        topics: *const rd_kafka_topic_partition_list_t,
    ) -> c_int;
    pub(crate) fn rd_kafka_assign(rk: *mut rd_kafka_t, list: *const rd_kafka_topic_partition_list_t)
    -> c_int;
    pub(crate) fn rd_kafka_consumer_close(rk: *mut rd_kafka_t) -> c_int;
    pub(crate) fn rd_kafka_pause_partitions(
        rk: *mut rd_kafka_t,
        list: *mut rd_kafka_topic_partition_list_t,
    ) -> c_int;
    pub(crate) fn rd_kafka_resume_partitions(
        rk: *mut rd_kafka_t,
        list: *mut rd_kafka_topic_partition_list_t,
    ) -> c_int;
    pub(crate) fn rd_kafka_commit(
        rk: *mut rd_kafka_t,
        list: *const rd_kafka_topic_partition_list_t,
        is_async: c_int,
    ) -> c_int;
    pub(crate) fn rd_kafka_commit_queue(
        rk: *mut rd_kafka_t,
        list: *const rd_kafka_topic_partition_list_t,
        queue: *mut rd_kafka_queue_t,
        callback: Option<PartitionsCallback>,
        opaque: *mut c_void,
    ) -> c_int;
    pub(crate) fn rd_kafka_committed(
        rk: *mut rd_kafka_t,
        list: *mut rd_kafka_topic_partition_list_t,
        timeout_ms: c_int,
    ) -> c_int;
    pub(crate) fn rd_kafka_query_watermark_offsets(
        rk: *mut rd_kafka_t,
        topic: *const c_char,
        partition: i32,
        low: *mut i64,
        high: *mut i64,
        timeout_ms: c_int,
    ) -> c_int;
    pub(crate) fn rd_kafka_get_watermark_offsets(
        rk: *mut rd_kafka_t,
        topic: *const c_char,
        partition: i32,
        low: *mut i64,
        high: *mut i64,
    ) -> c_int;
    pub(crate) fn rd_kafka_offsets_for_times(
        rk: *mut rd_kafka_t,
        list: *mut rd_kafka_topic_partition_list_t,
        timeout_ms: c_int,
    ) -> c_int;
    pub(crate) fn rd_kafka_metadata(
        rk: *mut rd_kafka_t,
        all_topics: c_int,
        only: *mut rd_kafka_topic_t,
        metadata: *mut *const rd_kafka_metadata_t,
        timeout_ms: c_int,
    ) -> c_int;
    pub(crate) fn rd_kafka_last_error() -> c_int;
    pub(crate) fn rd_kafka_flush(rk: *mut rd_kafka_t, timeout_ms: c_int) -> c_int;
    pub(crate) fn rd_kafka_purge(rk: *mut rd_kafka_t, flags: c_int) -> c_int;
    pub(crate) fn rd_kafka_oauthbearer_set_token(
        rk: *mut rd_kafka_t,
        token: *const c_char,
        lifetime_ms: i64,
        principal: *const c_char,
        extensions: *mut *const c_char,
        extension_count: usize,
        text: *mut c_char,
        text_size: usize,
    ) -> c_int;
    pub(crate) fn rd_kafka_oauthbearer_set_token_failure(rk: *mut rd_kafka_t, text: *const c_char) -> c_int;
}
