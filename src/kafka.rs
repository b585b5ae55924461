//! stub
pub struct Message; impl Message{pub fn payload(&self)->Option<&[u8]>{None}}
#[derive(Debug,thiserror::Error)] #[error("x")] pub struct KafkaError;
