//! What can be wrong with a configuration, said so that a person can mend it: file, key, found, allowed.

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{file}{}: {problem}", line_suffix(problem))]
pub struct ConfigError {
    file: String,
    problem: Problem,
}

/// The ways in which a configuration can be wrong.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The file cannot be read.
    #[error("cannot be read: {message}")]
    Unreadable {
        /// The operating system's words.
        message: String,
    },
    /// Not TOML.
    #[error("not valid TOML: {message}")]
    Syntax {
        /// Where.
        line: Option<usize>,
        /// What the parser says.
        message: String,
    },
    /// A key or section that does not exist.
    #[error("unknown {what} `{key}`; {advice}")]
    Unknown {
        /// "key" or "section".
        what: &'static str,
        /// As written.
        key: String,
        /// Where.
        line: Option<usize>,
        /// The nearest one that exists, or all of them where none is near.
        advice: String,
    },
    /// A value that is not allowed.
    #[error("`{key}`: found {found}, allowed: {allowed}")]
    Value {
        /// Section and key.
        key: String,
        /// Where.
        line: Option<usize>,
        /// What stands there.
        found: String,
        /// What may stand there.
        allowed: String,
    },
    /// A text that names an environment variable which is not set.
    #[error("`{key}`: the environment variable `{name}` is not set; set it, or write ${{{name}:-default}}")]
    Environment {
        /// Section and key.
        key: String,
        /// Where.
        line: Option<usize>,
        /// The variable.
        name: String,
    },
}

impl ConfigError {
    /// A problem in a file.
    #[must_use]
    pub fn new(file: &str, problem: Problem) -> Self {
        Self { file: file.to_owned(), problem }
    }

    /// What is wrong.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.problem
    }
}

fn line_suffix(problem: &Problem) -> String {
    let line = match problem {
        Problem::Unreadable { .. } => None,
        Problem::Syntax { line, .. }
        | Problem::Unknown { line, .. }
        | Problem::Value { line, .. }
        | Problem::Environment { line, .. } => *line,
    };
    line.map(|line| format!(":{line}")).unwrap_or_default()
}
