//! Wrong configurations get an error that names file, key, found and allowed.

use super::Config;

fn error(text: &str) -> String {
    Config::parse("t.toml", text, &|name| (name == "SET").then(|| "value".to_owned()))
        .unwrap_err()
        .to_string()
}

#[test]
fn unknown_names_come_with_a_suggestion() {
    assert_eq!(
        error("[pipeline]\nworker = 2\n"),
        "t.toml:2: unknown key `pipeline.worker`; did you mean `pipeline.workers`?"
    );
    assert_eq!(error("[pipelin]\n"), "t.toml:1: unknown section `pipelin`; did you mean `pipeline`?");
    assert_eq!(
        error("[pipeline]\nxylophone_quality = 2\n"),
        "t.toml:2: unknown key `pipeline.xylophone_quality`"
    );
}

#[test]
fn wrong_values_say_found_and_allowed() {
    assert_eq!(
        error("[limits]\n\ndepth_max = 0\n"),
        "t.toml:3: `limits.depth_max`: found 0, allowed: 1 to 1024"
    );
    assert_eq!(
        error("[rules]\nprofile = \"harsh\"\n"),
        "t.toml:2: `rules.profile`: found \"harsh\", allowed: \"page\", \"strict\" or \"lenient\""
    );
    assert_eq!(error("[pipeline]\npin = 1\n"), "t.toml:2: `pipeline.pin`: found 1, allowed: true or false");
    assert_eq!(error("pipeline = 3\n"), "t.toml:1: `pipeline`: found 3, allowed: a section [pipeline]");
    assert!(error("[pipeline\n").starts_with("t.toml:1: not valid TOML: "));
}

#[test]
fn a_secret_is_never_shown() {
    assert_eq!(
        error("[kafka]\nsasl_password = 12345\n"),
        "t.toml:2: `kafka.sasl_password`: found (hidden), allowed: a text"
    );
    let config = Config::parse(
        "t",
        "[kafka]\nsasl_password = \"hunter2\"\n[librdkafka]\n\"ssl.key.password\" = \"hunter3\"\n",
        &|_| None,
    );
    let config = config.unwrap();
    assert_eq!(config.kafka.sasl_password.reveal(), "hunter2");
    assert!(!config.to_toml().contains("hunter"), "{}", config.to_toml());
    assert!(!format!("{:?}", config.kafka).contains("hunter"));
}

#[test]
fn the_environment_fills_texts() {
    let config = Config::parse(
        "t",
        "[kafka]\ngroup = \"a-${SET}-b\"\nbrokers = \"${UNSET:-host:1}\"\nsasl_username = \"$$x\"\n",
        &|name| (name == "SET").then(|| "value".to_owned()),
    );
    let kafka = config.unwrap().kafka;
    assert_eq!(
        (kafka.group.as_str(), kafka.brokers.as_str(), kafka.sasl_username.as_str()),
        ("a-value-b", "host:1", "$x")
    );
    assert!(error("[kafka]\ntopics = [\"a\", \"${UNSET}\"]\n").contains("`UNSET` is not set"));
    assert!(error("[kafka]\ngroup = \"${UNSET}\"\n").contains("`UNSET` is not set"));
    let config = Config::parse("t", "[kafka]\ntopics = [\"${SET}.a\", \"b\"]\n", &|_| Some("in".to_owned()));
    assert_eq!(config.unwrap().kafka.topics, ["in.a", "b"]);
    assert!(error("[kafka]\ntopics = [\"${UNSET}\"]\n").contains("`UNSET` is not set"));
}

#[test]
fn numbers_for_librdkafka_are_decimal() {
    let text = "[librdkafka]\n\"linger.ms\" = 1_000\n\"socket.timeout.ms\" = 0x3e8\n\"a\" = -1\n";
    let table = Config::parse("t", text, &|_| None).unwrap().librdkafka;
    assert_eq!(table.into_values().collect::<Vec<_>>(), ["-1", "1000", "1000"]);
}

#[test]
fn keys_that_tollgate_owns_are_refused() {
    assert!(
        error("[librdkafka]\n\"isolation.level\" = \"read_uncommitted\"\n").contains("`isolation.level`")
    );
}

#[test]
fn outputs_must_not_be_inputs() {
    assert!(error("[kafka]\ntopics = [\"a\"]\naccepted = \"a\"\n").contains("kafka.accepted"));
    assert!(
        error("[kafka]\ntopics = [\"a\"]\naccepted = \"b\"\nrejected = \"b\"\n").contains("kafka.rejected")
    );
    assert_eq!(
        error("[kafka]\ntopics = [\"a\", \"a.rejected\"]\n"),
        "t.toml: `kafka.rejected`: found `a.rejected` for `a`, allowed: topics that are not inputs themselves"
    );
    assert_eq!(
        error("[kafka]\ntopics = [\"a\", \"a.b\"]\naccepted = \"{topic}.b.c\"\nrejected = \"{topic}.c\"\n"),
        "t.toml: `kafka.rejected`: found `a.b.c` for `a.b`, allowed: a topic without accepted records"
    );
}

#[test]
fn a_binding_belongs_to_a_topic() {
    assert_eq!(
        error("[kafka]\ntopics = [\"in\"]\n[topic_formats]\nin = \"agh\"\nim = \"agh\"\n"),
        "t.toml: `topic_formats`: found `im`, allowed: the input topics [\"in\"]"
    );
}

#[test]
fn limits_of_files_are_those_of_their_reader() {
    assert!(error("[files]\nblock_bytes = 67108865\n").contains("4096 to 67108864"));
    assert!(error("[files]\nrecord_bytes_max = 1073741825\n").contains("1024 to 1073741824"));
}

#[test]
fn what_is_printed_can_be_read_back() {
    let text = Config::default().to_toml();
    assert_eq!(Config::parse("t", &text, &|_| None).unwrap(), Config::default());
    assert_eq!(Config::parse("t", &Config::default_toml(), &|_| None).unwrap(), Config::default());
}

#[test]
fn the_default_file_is_true() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/default.toml");
    let file = std::fs::read_to_string(path).unwrap();
    assert_eq!(file, Config::default_toml(), "run: cargo run -- config --default > configs/default.toml");
}
