//! Standard input that a stop interrupts: a system call that waits for a person or a pipe cannot be ended from outside.
//!
//! A thread of its own makes that call, and may stay in it for ever; whoever reads here waits for its chunks, and
//! looks from time to time whether the run is being stopped.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use crossbeam::channel::{Receiver, RecvTimeoutError, Sender, bounded};

use super::stop::Stop;

/// How often a waiting reader looks whether the run is being stopped.
const STOP_CHECK: Duration = Duration::from_millis(20);
/// LIMIT: bytes of one chunk, and chunks that are read ahead.
const CHUNK_BYTES: usize = 256 * 1024;
const CHUNKS_AHEAD: usize = 2;

/// The input; its thread starts with the first read.
pub(super) struct StoppableInput {
    input: Option<Box<dyn Read + Send>>,
    chunks: Option<Receiver<io::Result<Vec<u8>>>>,
    chunk: io::Cursor<Vec<u8>>,
    stop: Arc<Stop>,
}

impl StoppableInput {
    pub(super) fn new(input: Box<dyn Read + Send>, stop: Arc<Stop>) -> Self {
        Self { input: Some(input), chunks: None, chunk: io::Cursor::default(), stop }
    }

    /// The next chunk; `None` at the end, an error if the run is being stopped.
    fn next_chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        if let Some(input) = self.input.take() {
            let (to_reader, chunks) = bounded(CHUNKS_AHEAD);
            std::thread::Builder::new().name("stdin".into()).spawn(move || pump(input, &to_reader))?;
            self.chunks = Some(chunks);
        }
        let Some(chunks) = &self.chunks else { return Ok(None) };
        loop {
            match chunks.recv_timeout(STOP_CHECK) {
                Ok(chunk) => return chunk.map(Some),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                // Not the end: what came of an unfinished record must not be taken for a whole one.
                Err(RecvTimeoutError::Timeout) if self.stop.is_asked() => {
                    return Err(io::Error::other("stopped"));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

impl Read for StoppableInput {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut count = self.chunk.read(into)?;
        while count == 0 && !into.is_empty() {
            let Some(chunk) = self.next_chunk()? else { break };
            self.chunk = io::Cursor::new(chunk);
            count = self.chunk.read(into)?;
        }
        Ok(count)
    }
}

/// Reads until the end, an error, or nobody wants more.
fn pump(mut input: Box<dyn Read + Send>, to_reader: &Sender<io::Result<Vec<u8>>>) {
    loop {
        let mut chunk = vec![0; CHUNK_BYTES];
        let read = match input.read(&mut chunk) {
            Ok(0) => return,
            Ok(count) => {
                chunk.truncate(count);
                Ok(chunk)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let failed = read.is_err();
        if to_reader.send(read).is_err() || failed {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one chunk, then waits for ever.
    struct Silent(Option<&'static [u8]>);

    impl Read for Silent {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            match self.0.take() {
                Some(mut text) => text.read(into),
                None => loop {
                    std::thread::park();
                },
            }
        }
    }

    #[test]
    fn a_stop_ends_the_wait_with_an_error_and_not_with_an_end() {
        let stop = Arc::new(Stop::default());
        let mut input = StoppableInput::new(Box::new(Silent(Some(b"half a rec"))), Arc::clone(&stop));
        let mut text = [0; 64];
        assert_eq!(input.read(&mut text[..4]).unwrap(), 4);
        assert_eq!(input.read(&mut text[4..]).unwrap(), 6);
        stop.ask();
        assert_eq!(input.read(&mut text).unwrap_err().to_string(), "stopped");
    }

    #[test]
    fn everything_comes_through() {
        let text: Vec<u8> = (0..3_000_000_u32).map(|index| (index % 251) as u8).collect();
        let input = Box::new(io::Cursor::new(text.clone()));
        let mut read = Vec::new();
        StoppableInput::new(input, Arc::default()).read_to_end(&mut read).unwrap();
        assert!(read == text);
    }
}
