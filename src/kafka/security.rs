//! How to reach the brokers: the configuration's security keys as settings of librdkafka, checked before anything runs.
//!
//! What cannot work is an error here that names the key, what was found and what is allowed; librdkafka would say it
//! late, or only in its log. Secrets are read here and never shown.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::raw::conf::features;
use super::settings::{ClientSettings, ConsumerSettings};
use super::tokens::Tokens;
use crate::config::{Config, Kafka, SaslMechanism, SecurityProtocol};

/// Settings of Kafka that cannot work.
#[derive(Debug, thiserror::Error)]
pub enum KafkaSettingsError {
    /// A key that has to be set.
    #[error("`{key}` is not set; Tollgate needs {needs}")]
    Missing {
        /// The key.
        key: &'static str,
        /// What it is for.
        needs: &'static str,
    },
    /// Keys that do not go together.
    #[error("`{key}`: found {found}, allowed: {allowed}")]
    Mismatch {
        /// The key.
        key: &'static str,
        /// What stands there.
        found: String,
        /// What would go.
        allowed: &'static str,
    },
    /// A file that cannot be read.
    #[error("`{key}`: {file}: {message}")]
    File {
        /// The key.
        key: &'static str,
        /// The file.
        file: String,
        /// The system's words.
        message: String,
    },
    /// librdkafka was built without what the configuration needs.
    #[error("`{key}` needs librdkafka's feature `{feature}`; this build has {built}")]
    Feature {
        /// The key.
        key: &'static str,
        /// The feature.
        feature: &'static str,
        /// What there is.
        built: String,
    },
}

impl Kafka {
    fn has_tls(&self) -> bool {
        matches!(self.security_protocol, SecurityProtocol::Ssl | SecurityProtocol::SaslSsl)
    }

    fn has_sasl(&self) -> bool {
        matches!(self.security_protocol, SecurityProtocol::SaslPlaintext | SecurityProtocol::SaslSsl)
    }

    fn files(&self) -> [(&'static str, &str); 5] {
        [
            ("kafka.ssl_ca_file", &self.ssl_ca_file),
            ("kafka.ssl_certificate_file", &self.ssl_certificate_file),
            ("kafka.ssl_key_file", &self.ssl_key_file),
            ("kafka.sasl_password_file", &self.sasl_password_file),
            ("kafka.sasl_token_file", &self.sasl_token_file),
        ]
    }
}

impl ClientSettings {
    /// What every client of this configuration needs; `name` stands in the brokers' logs.
    pub fn from_config(config: &Config) -> Result<Self, KafkaSettingsError> {
        let kafka = &config.kafka;
        if kafka.brokers.is_empty() {
            let needs = "the bootstrap servers, or paths of files on the command line";
            return Err(KafkaSettingsError::Missing { key: "kafka.brokers", needs });
        }
        check(kafka)?;
        let mut client = Self { brokers: kafka.brokers.clone(), ..Self::default() };
        client.client_id.push_str("tollgate");
        client.pass_through = pairs(kafka)?;
        client.pass_through.extend(config.librdkafka.iter().map(|(key, value)| (key.clone(), value.clone())));
        client.tokens = Tokens::from_config(kafka).map(|tokens| {
            let tokens: super::TokenSource = Arc::new(move |_| tokens.next());
            tokens
        });
        Ok(client)
    }
}

impl ConsumerSettings {
    /// A consumer of the configuration's input topics.
    pub fn from_config(config: &Config) -> Result<Self, KafkaSettingsError> {
        let kafka = &config.kafka;
        let topics: Vec<_> = kafka.topics.iter().map(String::as_str).collect();
        let mut settings = Self::new(&kafka.brokers, &kafka.group, &topics);
        settings.client = ClientSettings::from_config(config)?;
        settings.session_timeout = Duration::from_millis(u64::from(kafka.session_timeout_ms));
        settings.start = kafka.start;
        settings.assign_wait = Duration::from_secs(30);
        Ok(settings)
    }
}

/// Keys that need one another, files that must be there, features that must be built in.
fn check(kafka: &Kafka) -> Result<(), KafkaSettingsError> {
    let protocol = kafka.security_protocol.name();
    let wrong = |key, allowed| {
        Err(KafkaSettingsError::Mismatch {
            key,
            found: format!("`security_protocol = \"{protocol}\"`"),
            allowed,
        })
    };
    let tls = [&kafka.ssl_ca_file, &kafka.ssl_certificate_file, &kafka.ssl_key_file];
    if !kafka.has_tls() && tls.iter().any(|file| !file.is_empty()) {
        return wrong("kafka.ssl_…", "`ssl` or `sasl_ssl`, since certificates are set");
    }
    let token = !kafka.sasl_token_file.is_empty() || !kafka.sasl_token_command.is_empty();
    let password = !kafka.sasl_password.is_empty() || !kafka.sasl_password_file.is_empty();
    let named = kafka.sasl_mechanism != Kafka::default().sasl_mechanism;
    if !kafka.has_sasl() && (named || token || password || !kafka.sasl_username.is_empty()) {
        return wrong("kafka.sasl_…", "`sasl_ssl` or `sasl_plaintext`, since a log-in is set");
    }
    let missing = |key, needs| Err(KafkaSettingsError::Missing { key, needs });
    match (kafka.ssl_certificate_file.is_empty(), kafka.ssl_key_file.is_empty()) {
        (true, false) => {
            return missing("kafka.ssl_certificate_file", "the certificate that `ssl_key_file` belongs to");
        }
        (false, true) => {
            return missing("kafka.ssl_key_file", "the key that `ssl_certificate_file` belongs to");
        }
        _ => {}
    }
    if kafka.has_sasl() {
        check_log_in(kafka, password, token)?;
    }
    for (key, file) in kafka.files().into_iter().filter(|(_, file)| !file.is_empty()) {
        if let Err(error) = std::fs::File::open(Path::new(file)) {
            return Err(KafkaSettingsError::File { key, file: file.to_owned(), message: error.to_string() });
        }
    }
    let built = features();
    let needed = [
        (kafka.has_tls(), "kafka.security_protocol", "ssl"),
        (kafka.has_sasl(), "kafka.sasl_mechanism", kafka.sasl_mechanism.feature()),
    ];
    match needed
        .into_iter()
        .find(|(needed, _, feature)| *needed && !built.split(',').any(|has| has == *feature))
    {
        Some((_, key, feature)) => Err(KafkaSettingsError::Feature { key, feature, built }),
        None => Ok(()),
    }
}

fn check_log_in(kafka: &Kafka, password: bool, token: bool) -> Result<(), KafkaSettingsError> {
    let missing = |key, needs| Err(KafkaSettingsError::Missing { key, needs });
    let mechanism = kafka.sasl_mechanism;
    let found = |what: &str| format!("{what} with `sasl_mechanism = \"{}\"`", mechanism.name());
    if mechanism == SaslMechanism::Oauthbearer {
        if password {
            let (key, allowed) =
                ("kafka.sasl_password", "a token: `sasl_token_file` or `sasl_token_command`");
            return Err(KafkaSettingsError::Mismatch { key, found: found("a password"), allowed });
        }
        if !token {
            return missing(
                "kafka.sasl_token_file",
                "a file with a token, or `sasl_token_command` that prints one",
            );
        }
        if !kafka.sasl_token_file.is_empty() && !kafka.sasl_token_command.is_empty() {
            let (key, allowed) =
                ("kafka.sasl_token_command", "one of `sasl_token_file` and `sasl_token_command`");
            return Err(KafkaSettingsError::Mismatch { key, found: "both are set".into(), allowed });
        }
        return Ok(());
    }
    if token {
        let (key, allowed) = ("kafka.sasl_mechanism", "\"OAUTHBEARER\", or no token");
        return Err(KafkaSettingsError::Mismatch { key, found: found("a token"), allowed });
    }
    if kafka.sasl_username.is_empty() {
        return missing("kafka.sasl_username", "the user to log in as");
    }
    if !password {
        return missing("kafka.sasl_password", "the user's password, there or in `sasl_password_file`");
    }
    Ok(())
}

impl SaslMechanism {
    /// The feature of librdkafka that it needs.
    const fn feature(self) -> &'static str {
        match self {
            Self::Plain => "sasl_plain",
            Self::ScramSha256 | Self::ScramSha512 => "sasl_scram",
            Self::Oauthbearer => "sasl_oauthbearer",
        }
    }
}

/// The security keys as librdkafka has them.
fn pairs(kafka: &Kafka) -> Result<Vec<(String, String)>, KafkaSettingsError> {
    let mut pairs = vec![("security.protocol".to_owned(), kafka.security_protocol.name().to_owned())];
    let mut set = |key: &str, value: &str| {
        if !value.is_empty() {
            pairs.push((key.to_owned(), value.to_owned()));
        }
    };
    set("ssl.ca.location", &kafka.ssl_ca_file);
    set("ssl.certificate.location", &kafka.ssl_certificate_file);
    set("ssl.key.location", &kafka.ssl_key_file);
    set("ssl.key.password", kafka.ssl_key_password.reveal());
    if kafka.has_sasl() {
        set("sasl.mechanism", kafka.sasl_mechanism.name());
        set("sasl.username", &kafka.sasl_username);
        set("sasl.password", kafka.sasl_password.reveal());
        if !kafka.sasl_password_file.is_empty() {
            let (key, file) = ("kafka.sasl_password_file", &kafka.sasl_password_file);
            let password = std::fs::read_to_string(file).map_err(|error| KafkaSettingsError::File {
                key,
                file: file.clone(),
                message: error.to_string(),
            })?;
            set("sasl.password", password.trim_end_matches(['\r', '\n']));
        }
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        let text = format!("[kafka]\nbrokers = \"localhost:1\"\n{text}");
        let config = Config::parse("t.toml", &text, &|_| None).unwrap();
        ClientSettings::from_config(&config).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn keys_that_do_not_go_together_are_named() {
        let scram = "security_protocol = \"sasl_plaintext\"\nsasl_mechanism = \"SCRAM-SHA-256\"\n";
        let oauth = "security_protocol = \"sasl_plaintext\"\nsasl_mechanism = \"OAUTHBEARER\"\n";
        for (text, expected) in [
            ("", ""),
            ("sasl_username = \"me\"\n", "`kafka.sasl_…`: found `security_protocol = \"plaintext\"`"),
            ("sasl_mechanism = \"PLAIN\"\nsecurity_protocol = \"ssl\"\n", "`sasl_ssl`"),
            ("ssl_ca_file = \"ca.pem\"\n", "`kafka.ssl_…`"),
            (
                "security_protocol = \"ssl\"\nssl_key_file = \"k\"\n",
                "`kafka.ssl_certificate_file` is not set",
            ),
            (
                "security_protocol = \"ssl\"\nssl_certificate_file = \"c\"\n",
                "`kafka.ssl_key_file` is not set",
            ),
            (
                "security_protocol = \"ssl\"\nssl_ca_file = \"/no/ca.pem\"\n",
                "`kafka.ssl_ca_file`: /no/ca.pem: No such",
            ),
            (scram, "`kafka.sasl_username` is not set"),
            (&format!("{scram}sasl_username = \"me\"\n"), "`kafka.sasl_password` is not set"),
            (&format!("{scram}sasl_username = \"me\"\nsasl_password = \"hush\"\n"), ""),
            (
                &format!("{scram}sasl_username = \"me\"\nsasl_token_file = \"t\"\n"),
                "\"OAUTHBEARER\", or no token",
            ),
            (oauth, "`kafka.sasl_token_file` is not set"),
            (&format!("{oauth}sasl_password = \"hush\"\n"), "found a password with"),
            (&format!("{oauth}sasl_token_file = \"t\"\nsasl_token_command = [\"t\"]\n"), "both are set"),
            (&format!("{oauth}sasl_token_command = [\"echo\", \"t\"]\n"), ""),
        ] {
            let said = said(text);
            assert!(
                if expected.is_empty() { said.is_empty() } else { said.contains(expected) },
                "{text}: {said}"
            );
            assert!(!said.contains("hush"));
        }
    }
}
