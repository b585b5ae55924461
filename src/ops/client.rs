//! The other end of the ops port, for `top` and `tap`: one request, lines or events back.
//!
//! It asks by HTTP/1.0, so that the answer comes plain and ends with the connection; a whole client for that would be
//! more code than this.

use std::io::{BufRead, BufReader, Lines, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use crate::config::Secret;

/// How long a connection may take, and how long an answer may be silent; streams show life more often.
const CONNECT_WAIT: Duration = Duration::from_secs(5);
const SILENCE_MAX: Duration = Duration::from_secs(40);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address means nothing.
    #[error("`{address}`: allowed: host:port of an ops port")]
    Address {
        /// What was given.
        address: String,
    },
    /// Nobody answers.
    #[error("{address}: {source}; is `tollgate run` there, and its `ops.listen`?")]
    Io {
        /// The address.
        address: String,
        /// The system's words.
        source: std::io::Error,
    },
    /// The port refuses.
    #[error("{address}: {status}{}", if status.contains("401") { "; give the token with --token-file" } else { "" })]
    Refused {
        /// The address.
        address: String,
        /// Its words.
        status: String,
    },
}

/// An ops port.
#[derive(Clone, Debug)]
pub struct Client {
    address: String,
    token: Option<Secret>,
}

/// Events of a stream, one JSON text each.
pub struct Events(Lines<BufReader<TcpStream>>);

impl Client {
    /// An ops port by `host:port` or `http://host:port/`.
    #[must_use]
    pub fn new(address: &str, token: Option<Secret>) -> Self {
        let address = address.trim_start_matches("http://").trim_end_matches('/').to_owned();
        Self { address, token }
    }

    /// The address.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The answer to a GET.
    pub fn get(&self, path: &str) -> Result<String, ClientError> {
        let mut body = String::new();
        for line in self.open(path)? {
            body.push_str(&line.map_err(|source| self.failed(source))?);
            body.push('\n');
        }
        Ok(body)
    }

    /// The events of a stream.
    pub fn events(&self, path: &str) -> Result<Events, ClientError> {
        self.open(path).map(Events)
    }

    fn failed(&self, source: std::io::Error) -> ClientError {
        ClientError::Io { address: self.address.clone(), source }
    }

    /// Asks, and reads up to the body.
    fn open(&self, path: &str) -> Result<Lines<BufReader<TcpStream>>, ClientError> {
        let unknown = || ClientError::Address { address: self.address.clone() };
        let to = self.address.to_socket_addrs().ok().and_then(|mut all| all.next()).ok_or_else(unknown)?;
        let ask = || -> std::io::Result<(String, Lines<BufReader<TcpStream>>)> {
            let mut stream = TcpStream::connect_timeout(&to, CONNECT_WAIT)?;
            stream.set_read_timeout(Some(SILENCE_MAX))?;
            let token = self
                .token
                .as_ref()
                .map_or_else(String::new, |token| format!("Authorization: Bearer {}\r\n", token.reveal()));
            write!(stream, "GET {path} HTTP/1.0\r\nHost: {}\r\n{token}\r\n", self.address)?;
            let mut lines = BufReader::new(stream).lines();
            let status = lines.next().transpose()?.unwrap_or_default();
            for header in lines.by_ref() {
                if header?.is_empty() {
                    break;
                }
            }
            Ok((status, lines))
        };
        let (status, lines) = ask().map_err(|source| self.failed(source))?;
        if status.split(' ').nth(1) == Some("200") {
            Ok(lines)
        } else {
            Err(ClientError::Refused { address: self.address.clone(), status })
        }
    }
}

/// The data of events; comments and names are passed over, since whoever listens knows by the content.
impl Iterator for Events {
    type Item = std::io::Result<String>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.0.next()? {
                Ok(line) => {
                    if let Some(data) = line.strip_prefix("data: ") {
                        return Some(Ok(data.to_owned()));
                    }
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
