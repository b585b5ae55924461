//! The sink on Kafka, in either mode of delivery.

use std::time::Duration;

use crossbeam::channel::Sender;

use super::super::batch::Batch;
use super::super::news::News;
use super::super::stop::Stop;
use super::super::{Receipt, Sink, SinkError};
use super::at_least_once::AtLeastOnce;
use super::exactly_once::ExactlyOnce;

/// The sink.
pub struct KafkaSink(pub(super) Mode);

/// How records are delivered.
pub(super) enum Mode {
    ExactlyOnce(Box<ExactlyOnce>),
    AtLeastOnce(Box<AtLeastOnce>),
}

impl KafkaSink {
    fn sink(&self) -> &dyn Sink {
        match &self.0 {
            Mode::ExactlyOnce(sink) => &**sink,
            Mode::AtLeastOnce(sink) => &**sink,
        }
    }

    fn sink_mut(&mut self) -> &mut dyn Sink {
        match &mut self.0 {
            Mode::ExactlyOnce(sink) => &mut **sink,
            Mode::AtLeastOnce(sink) => &mut **sink,
        }
    }
}

impl Sink for KafkaSink {
    fn attach(&mut self, news: &Sender<News>) {
        self.sink_mut().attach(news);
    }

    fn keeps_journal(&self) -> bool {
        self.sink().keeps_journal()
    }

    fn write(&mut self, batch: Batch, stop: &Stop, receipts: &mut Vec<Receipt>) -> Result<(), SinkError> {
        self.sink_mut().write(batch, stop, receipts)
    }

    fn tend(&mut self, stop: &Stop, receipts: &mut Vec<Receipt>) -> Result<(), SinkError> {
        self.sink_mut().tend(stop, receipts)
    }

    fn tend_every(&self) -> Duration {
        self.sink().tend_every()
    }

    fn finish(&mut self, stop: &Stop, receipts: &mut Vec<Receipt>) -> Result<(), SinkError> {
        self.sink_mut().finish(stop, receipts)
    }
}
