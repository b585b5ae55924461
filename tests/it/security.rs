//! TLS, log-ins and rights against a real Apache Kafka with access control, and what `config --probe` says of them.

use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use base64::Engine as _;
use rdkafka::admin::{AdminClient, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};

use crate::cli::{TempDir, tollgate};
use crate::kafka::create_topics;

const WAIT: Duration = Duration::from_secs(20);
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/kafka");

/// A broker with secure listeners, and where its certificates are.
struct Secure {
    plain: String,
    tls: String,
    sasl: String,
    dir: String,
}

fn script(args: &[&str]) -> Result<String, (Option<i32>, String)> {
    let output = Command::new(SCRIPT).args(args).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        return Ok(String::from_utf8(output.stdout).unwrap().trim().to_owned());
    }
    Err((output.status.code(), said))
}

/// The secure broker of this process; its watchdog stops it when we end.
fn secure() -> Option<&'static Secure> {
    static SECURE: OnceLock<Option<Secure>> = OnceLock::new();
    SECURE.get_or_init(start).as_ref()
}

fn start() -> Option<Secure> {
    let pid = std::process::id().to_string();
    let name = format!("secure-{pid}");
    let scram = |kind: &str| format!("SCRAM-SHA-{kind}=[name=alice,password=alice-secret]");
    let (scram_256, scram_512) = (scram("256"), scram("512"));
    let up =
        ["up", "--secure", "--name", &name, "--watch", &pid, "--scram", &scram_256, "--scram", &scram_512];
    let plain = match script(&up) {
        Ok(plain) => plain,
        Err((code, said)) => {
            let required = std::env::var_os("TOLLGATE_REQUIRE_KAFKA").is_some_and(|value| value == "1");
            assert!(!required && code == Some(4), "no Apache Kafka: {said}");
            let _ = std::io::Write::write_fmt(
                &mut std::io::stderr(),
                format_args!("\n*** SKIPPED: security against a real Apache Kafka. {said}"),
            );
            return None;
        }
    };
    let of = |listener| script(&["bootstrap", "--name", &name, "--listener", listener]).unwrap();
    let status = script(&["status", "--name", &name]).unwrap();
    let dir = status.split("dir=").nth(1).unwrap().trim().to_owned();
    let broker = Secure { tls: of("SSL"), sasl: of("SASL_SSL"), plain, dir };
    broker.make_topics();
    broker.grant(&["--operation", "Read", "--operation", "Describe", "--topic", "open", "--group", "open"]);
    let outputs = ["--operation", "Write", "--operation", "DescribeConfigs", "--topic", "open"];
    broker.grant(&outputs);
    // The journal is made and trimmed by the run.
    broker.grant(&["--operation", "Create", "--operation", "Delete", "--topic", "open"]);
    let transactions =
        ["--transactional-id", "tollgate-open-group", "--transactional-id", "tollgate-open-log-in"];
    broker.grant(&[&["--operation", "Write", "--operation", "Describe"][..], &transactions].concat());
    // A journal that may be written and neither trimmed nor given more partitions.
    broker.grant(&[
        "--operation",
        "Read",
        "--operation",
        "Write",
        "--operation",
        "Describe",
        "--topic",
        "kept",
    ]);
    Some(broker)
}

impl Secure {
    fn make_topics(&self) {
        let admin: AdminClient<DefaultClientContext> = self.client().create().unwrap();
        let filtered = ["open", "open-tokens", "shut"];
        let outputs =
            filtered.iter().flat_map(|name| [format!("{name}.accepted"), format!("{name}.rejected")]);
        let names: Vec<_> =
            filtered.iter().chain(&["open-2"]).map(ToString::to_string).chain(outputs).collect();
        let new = names.iter().map(|name| NewTopic::new(name, 2, TopicReplication::Fixed(1)));
        let new: Vec<_> = new.chain([NewTopic::new("kept", 1, TopicReplication::Fixed(1))]).collect();
        create_topics(&admin, &new);
        let producer: BaseProducer = self.client().create().unwrap();
        for number in 0..100 {
            let payload = format!("{{\"number\":{number}}}");
            for topic in ["open", "open-tokens"] {
                producer
                    .send(BaseRecord::<(), _>::to(topic).partition(number % 2).payload(&payload))
                    .unwrap();
            }
        }
        producer.flush(WAIT).unwrap();
    }

    /// Grants something to alice, for everything whose name begins so.
    fn grant(&self, rights: &[&str]) {
        let base = ["tool", "org.apache.kafka.tools.AclCommand", "--bootstrap-server", &self.plain, "--add"];
        let whom = ["--allow-principal", "User:alice", "--resource-pattern-type", "prefixed"];
        script(&[&base[..], &whom[..], rights].concat()).unwrap();
    }

    fn client(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &self.plain).set("group.id", "the-other-client");
        config
    }

    /// How many records a topic has; its offsets count marks of transactions too.
    fn count(&self, topic: &str) -> usize {
        crate::topics::read(&self.plain, topic, 2, 0).len()
    }

    /// Runs Tollgate with a configuration on the `SASL_SSL` listener; gives exit code and all that it said.
    fn tollgate(&self, dir: &TempDir, verb: &[&str], topic: &str, keys: &str) -> (Option<i32>, String) {
        let (ca, sasl) = (format!("{}/tls/ca.pem", self.dir), &self.sasl);
        let defaults = [
            ("brokers", format!("\"{sasl}\"")),
            ("group", format!("\"{topic}-group\"")),
            ("topics", format!("[\"{topic}\"]")),
            ("start", "\"beginning\"".into()),
            ("stop", "\"end\"".into()),
            ("security_protocol", "\"sasl_ssl\"".into()),
            ("ssl_ca_file", format!("\"{ca}\"")),
            ("sasl_mechanism", "\"SCRAM-SHA-512\"".into()),
            ("sasl_username", "\"alice\"".into()),
            ("sasl_password", "\"alice-secret\"".into()),
        ];
        let mut text = String::from("[kafka]\n");
        for (key, value) in defaults {
            if !keys.lines().any(|line| line.starts_with(&format!("{key} ="))) {
                text.push_str(&format!("{key} = {value}\n"));
            }
        }
        text.push_str(keys);
        let config = dir.write("secure.toml", text);
        let output = tollgate().args(verb).arg("--config").arg(&config).output().unwrap();
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        assert!(!said.concat().contains("alice-secret"), "secrets stay hidden");
        (output.status.code(), said.concat())
    }
}

#[test]
fn tls_and_scram_work_and_what_is_missing_is_said() {
    let Some(broker) = secure() else { return };
    let dir = TempDir::new("secure");
    let run = |topic: &str, keys: &str| broker.tollgate(&dir, &["run"], topic, keys);
    let probe = |topic: &str, keys: &str| broker.tollgate(&dir, &["config", "--probe"], topic, keys);

    let (code, said) = probe("open", "");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("Produce ") && said.contains("rights Write, Describe, DescribeConfigs"), "{said}");
    let (code, said) = run("open", "");
    assert_eq!(code, Some(0), "a run with `stop` ends by itself: {said}");
    assert_eq!(broker.count("open.accepted") + broker.count("open.rejected"), 100);

    let stranger = format!("ssl_ca_file = \"{}/tls/stranger.pem\"\n", broker.dir);
    let (code, said) = run("open", &stranger);
    assert!(code == Some(3) && said.contains("`kafka.ssl_ca_file`"), "{code:?} {said}");
    assert!(said.contains("certificate"), "{said}");
    let (code, said) = run("open", "sasl_password = \"wrong\"\n");
    assert!(code == Some(3) && said.contains("`kafka.sasl_mechanism`"), "{code:?} {said}");
    assert!(said.to_lowercase().contains("authentication"), "{said}");
    let (code, said) = run("open-3", "");
    assert!(code == Some(3) && said.contains("open-3") && said.contains("does not exist"), "{code:?} {said}");
    let (code, said) = probe("open-2", "");
    assert!(code == Some(1) && said.contains("MISSING output open-2.accepted: it does not exist"), "{said}");
    let (code, said) = probe("shut", "");
    assert!(code == Some(1) && said.contains("MISSING input shut"), "{said}");
    assert!(said.contains("MISSING group shut-group"), "{said}");
    assert!(said.contains("MISSING journal shut.shut-group.journal"), "{said}");
    let (code, said) = run("shut", "");
    assert!(code == Some(3) && said.contains("shut") && said.to_lowercase().contains("authoriz"), "{said}");

    // Rights that a run needs before its first record, but for none of the topics it names.
    let (code, said) = probe("open", "group = \"open-else\"\n");
    assert!(code == Some(1) && said.contains("MISSING transactional id tollgate-open-else-"), "{said}");
    let (code, said) = run("open", "group = \"open-else\"\n");
    assert!(code == Some(3) && said.to_lowercase().contains("transactional"), "{code:?} {said}");
    let (code, said) = probe("open", "journal = \"kept\"\n");
    assert!(code == Some(1) && said.contains("MISSING journal kept: this user lacks Delete"), "{said}");
    assert!(said.contains("MISSING journal kept: 1 partitions, and the input has 2"), "{said}");
}

#[test]
fn every_way_to_log_in_reaches_the_broker() {
    let Some(broker) = secure() else { return };
    let dir = TempDir::new("log-in");
    let exp = tollgate::clock::wall().micros() / 1_000_000 + 3600;
    let encode = |text: &str| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text);
    let claims = format!("{{\"sub\":\"alice\",\"iat\":{},\"exp\":{exp}}}", exp - 7200);
    let token = format!("{}.{}.", encode("{\"alg\":\"none\"}"), encode(&claims));
    let file = dir.write("token", format!("{token}\n"));
    let no_password = "sasl_username = \"\"\nsasl_password = \"\"\n";
    let tls = &broker.tls;
    let own = |name: &str| format!("{}/tls/client.{name}", broker.dir);
    let mutual = format!(
        "brokers = \"{tls}\"\nsecurity_protocol = \"ssl\"\n{no_password}ssl_certificate_file = \"{}\"\nssl_key_file = \"{}\"\n",
        own("pem"),
        own("key")
    );
    for (keys, is_alice) in [
        ("sasl_mechanism = \"SCRAM-SHA-256\"\n".to_owned(), true),
        (
            "sasl_mechanism = \"PLAIN\"\nsasl_username = \"plain\"\nsasl_password = \"plain-secret\"\n"
                .to_owned(),
            false,
        ),
        (
            format!(
                "sasl_mechanism = \"OAUTHBEARER\"\n{no_password}sasl_token_file = \"{}\"\n",
                file.display()
            ),
            true,
        ),
        (
            format!(
                "sasl_mechanism = \"OAUTHBEARER\"\n{no_password}sasl_token_command = [\"cat\", \"{}\"]\n",
                file.display()
            ),
            true,
        ),
        (mutual, false),
    ] {
        // A group of its own, so that no other test is disturbed.
        let keys = format!("group = \"open-log-in\"\n{keys}");
        let (code, said) = broker.tollgate(&dir, &["config", "--probe"], "open", &keys);
        assert_eq!(code, Some(i32::from(!is_alice)), "{keys}{said}");
        assert!(said.contains("cluster"), "{keys}{said}");
        assert!(is_alice || said.contains("MISSING input open"), "others have no rights: {keys}{said}");
        if keys.contains("OAUTHBEARER") {
            // Every client of a run has tokens: also the one that makes the journal, and those that read it back.
            let (code, said) = broker.tollgate(&dir, &["run"], "open-tokens", &keys);
            assert_eq!(code, Some(0), "{keys}{said}");
            let written = ["open-tokens.accepted", "open-tokens.rejected"].map(|topic| broker.count(topic));
            assert_eq!(written.iter().sum::<usize>(), 100, "once, and not again: {written:?}");
        }
    }
}
