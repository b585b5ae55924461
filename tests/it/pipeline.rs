//! The pipeline on files: order, backpressure, stops, panics, and odd inputs.
