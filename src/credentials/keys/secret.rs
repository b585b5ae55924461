//! A secret and where it comes from: a text, a file, the environment; as it stands or in hexadecimal.
//!
//! Errors name the file or variable and what was wrong with its length or form, never what it holds.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

/// A secret is never longer than this; whoever names a log file by mistake hears of it.
pub(crate) const SECRET_BYTES_MAX: usize = 4096;

/// How a secret is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// The bytes of the text are the secret.
    #[default]
    Text,
    /// Pairs of hexadecimal digits.
    Hex,
}

/// A secret: wiped when dropped, never shown.
pub struct Secret(Zeroizing<Vec<u8>>);

/// Why a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// A file that cannot be read.
    #[error("key file {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A variable that is not set, or not UTF-8.
    #[error("environment variable {0}: found nothing, allowed: a key")]
    Variable(String),
    /// Nothing, or only a line break.
    #[error("{from}: found an empty key, allowed: at least one byte")]
    Empty {
        /// Where it was found.
        from: String,
    },
    /// More than a key should have.
    #[error("{from}: found more than {SECRET_BYTES_MAX} bytes, allowed: a key")]
    TooLong {
        /// Where it was found.
        from: String,
    },
    /// A key in hexadecimal that is none.
    #[error("{from}: found {found}, allowed: an even number of hexadecimal digits")]
    NotHex {
        /// Where it was found.
        from: String,
        /// What is wrong; never the key.
        found: String,
    },
    /// A key of another length than the scheme needs.
    #[error("{from}: found {found} bytes, allowed: {allowed} bytes")]
    Length {
        /// Where it was found.
        from: String,
        /// Its length.
        found: usize,
        /// The length that it must have.
        allowed: usize,
    },
    /// A ring that is full.
    #[error("found more than {} keys for one purpose, allowed: at most that many", super::KeyRing::KEYS_MAX)]
    TooMany,
}

impl Secret {
    /// From a text that was read already; `from` says where, for errors.
    pub fn from_text(text: &str, encoding: Encoding, from: &str) -> Result<Self, KeyError> {
        Self::decode(text.as_bytes(), encoding, from)
    }

    /// From a file; a line break at its end does not belong to the secret.
    pub fn from_file(path: &Path, encoding: Encoding) -> Result<Self, KeyError> {
        let failed = |source| KeyError::File { path: path.to_owned(), source };
        let mut bytes = Zeroizing::new(Vec::with_capacity(SECRET_BYTES_MAX * 2 + 3));
        let limit = SECRET_BYTES_MAX as u64 * 2 + 3;
        File::open(path).map_err(failed)?.take(limit).read_to_end(&mut bytes).map_err(failed)?;
        let text = bytes
            .strip_suffix(b"\n")
            .map_or(bytes.as_slice(), |line| line.strip_suffix(b"\r").unwrap_or(line));
        Self::decode(text, encoding, &format!("key file {}", path.display()))
    }

    /// From an environment variable.
    pub fn from_env(name: &str, encoding: Encoding) -> Result<Self, KeyError> {
        let text =
            std::env::var(name).map(Zeroizing::new).map_err(|_| KeyError::Variable(name.to_owned()))?;
        Self::decode(text.as_bytes(), encoding, &format!("environment variable {name}"))
    }

    /// The same secret, if it has so many bytes.
    pub fn of_length(self, bytes: usize, from: &str) -> Result<Self, KeyError> {
        let found = self.0.len();
        if found == bytes {
            Ok(self)
        } else {
            Err(KeyError::Length { from: from.to_owned(), found, allowed: bytes })
        }
    }

    /// The secret bytes; for keys, never for output.
    pub(in crate::credentials) fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn decode(text: &[u8], encoding: Encoding, from: &str) -> Result<Self, KeyError> {
        let from = || from.to_owned();
        let bytes = match encoding {
            Encoding::Text => Zeroizing::new(text.to_vec()),
            Encoding::Hex => from_hex(text).map_err(|found| KeyError::NotHex { from: from(), found })?,
        };
        match bytes.len() {
            0 => Err(KeyError::Empty { from: from() }),
            1..=SECRET_BYTES_MAX => Ok(Self(bytes)),
            _ => Err(KeyError::TooLong { from: from() }),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

fn from_hex(text: &[u8]) -> Result<Zeroizing<Vec<u8>>, String> {
    if text.len() % 2 == 1 {
        return Err(format!("{} digits", text.len()));
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(text.len() / 2));
    for (number, pair) in text.as_chunks::<2>().0.iter().enumerate() {
        let [high, low] = pair.map(|digit| char::from(digit).to_digit(16));
        let (Some(high), Some(low)) = (high, low) else {
            return Err(format!("something else at digit {} or {}", number * 2 + 1, number * 2 + 2));
        };
        bytes.push((high * 16 + low) as u8);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::{Encoding, Secret};

    #[test]
    fn secrets_are_read_and_never_shown() {
        let secret = Secret::from_text("0aFF", Encoding::Hex, "key").unwrap();
        assert_eq!(secret.bytes(), [0x0A, 0xFF]);
        assert_eq!(format!("{secret:?}"), "Secret(hidden)");
        assert_eq!(Secret::from_text("0aFF", Encoding::Text, "key").unwrap().bytes(), b"0aFF");
        for (text, encoding, expected) in [
            ("", Encoding::Text, "key: found an empty key, allowed: at least one byte"),
            ("abc", Encoding::Hex, "key: found 3 digits, allowed: an even number of hexadecimal digits"),
            (
                "abxx",
                Encoding::Hex,
                "key: found something else at digit 3 or 4, allowed: an even number of hexadecimal digits",
            ),
        ] {
            assert_eq!(Secret::from_text(text, encoding, "key").unwrap_err().to_string(), expected);
        }
        let long = "secret".repeat(1000);
        let error = Secret::from_text(&long, Encoding::Text, "key").unwrap_err().to_string();
        assert!(error.contains("4096") && !error.contains("secret"), "{error}");
        let error = secret.of_length(32, "key").unwrap_err().to_string();
        assert_eq!(error, "key: found 2 bytes, allowed: 32 bytes");
    }

    #[test]
    fn a_files_last_line_break_is_no_part_of_its_secret() {
        let path = std::env::temp_dir().join(format!("tollgate-secret-{}", std::process::id()));
        for (content, expected) in [("a b\n", "a b"), ("a b\r\n", "a b"), ("a b", "a b"), ("a\n\n", "a\n")] {
            std::fs::write(&path, content).unwrap();
            assert_eq!(Secret::from_file(&path, Encoding::Text).unwrap().bytes(), expected.as_bytes());
        }
        std::fs::remove_file(&path).unwrap();
        let error = Secret::from_file(&path, Encoding::Text).unwrap_err().to_string();
        assert!(error.contains(path.to_str().unwrap()), "{error}");
        let error = Secret::from_env("TOLLGATE_NO_SUCH_KEY", Encoding::Text).unwrap_err().to_string();
        assert_eq!(error, "environment variable TOLLGATE_NO_SUCH_KEY: found nothing, allowed: a key");
    }
}
