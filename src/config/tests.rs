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
        "t.toml:2: unknown key `pipeline.xylophone_quality`; allowed: workers, pin, batch_records_max, \
         inflight_records_max, inflight_bytes_max, stop_deadline_ms"
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

fn parse(text: &str) -> Config {
    Config::parse("t.toml", text, &|name| (name == "SET").then(|| "value".to_owned())).unwrap()
}

#[test]
fn registries_stand_in_place_or_in_files() {
    let config = parse(
        "[format.olympus]\nsessions = { s1 = \"${SET}\", s2 = [{ text = \"a\", until = \"2026-01-01T00:00:00Z\" }, \"b\"] }\n\
         tasks.t1 = { persona = \"coder\", session_id = \"s1\" }\n[format.bluelabel]\nagents = [\"CA\"]\n",
    );
    let olympus = &config.format.olympus;
    assert_eq!(olympus.sessions.find("s1").unwrap().0[0].secret.reveal(), "value");
    assert_eq!(olympus.sessions.find("s2").unwrap().0.len(), 2);
    assert_eq!(olympus.tasks.find("t1").unwrap().persona, "coder");
    assert_eq!(config.format.bluelabel.agents.iter().collect::<Vec<_>>(), ["CA"]);
    assert!(
        !config.to_toml().contains("value") && !format!("{config:?}").contains("value"),
        "secrets are hidden"
    );

    let folder = std::env::temp_dir().join(format!("tollgate-registries-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    file("sessions.json", r#"{"s1":"secret-1"}"#);
    file("tasks.toml", "[t1]\npersona = \"coder\"\nsession_id = \"s1\"\n");
    file("agents.toml", "agents = [\"CA\", \"ARCH\"]\n");
    file("key.txt", &format!("{}\n", "0f".repeat(32)));
    file(
        "tollgate.toml",
        "[format.olympus]\nsessions = \"sessions.json\"\ntasks = \"tasks.toml\"\nmaster_key_hex_file = \"key.txt\"\n\
         [format.bluelabel]\nagents = \"agents.toml\"\n",
    );
    let config = Config::load(&folder.join("tollgate.toml")).unwrap();
    assert_eq!(config.format.olympus.sessions.find("s1").unwrap().0[0].secret.reveal(), "secret-1");
    assert_eq!(config.format.olympus.tasks.find("t1").unwrap().session_id, "s1");
    assert_eq!(config.format.olympus.master_key_hex.0[0].secret.reveal(), "0f".repeat(32));
    assert_eq!(config.format.bluelabel.agents.iter().count(), 2);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn errors_in_format_sections_say_where() {
    assert_eq!(
        error("[format.olympus]\nsesions = {}\n"),
        "t.toml:2: unknown key `format.olympus.sesions`; did you mean `format.olympus.sessions`?"
    );
    assert_eq!(
        error("[format.olympus]\ntasks = { t = { persona = 1, session_id = \"s\" } }\n"),
        "t.toml:2: `format.olympus.tasks.\"t\".persona`: found a number, allowed: a text"
    );
    assert_eq!(
        error("[format.olympus]\nmaster_key_hex = \"00\"\n"),
        "t.toml:2: `format.olympus.master_key_hex`: found (hidden), allowed: 64 hex digits"
    );
    assert!(error("[format.olympus]\nsessions = \"no-such-file.json\"\n").contains("no-such-file.json: "));
    let never = "{ text = \"k\", from = \"2026-01-02T00:00:00Z\", until = \"2026-01-01T00:00:00Z\" }";
    assert_eq!(
        error(&format!("[format.olympus]\nsessions = {{ s = {never} }}\n")),
        "t.toml:2: `format.olympus.sessions.\"s\"`: found `until` before `from`, allowed: `from` before `until`"
    );
    assert_eq!(
        error("[format.olypmus]\nsessions = {}\n"),
        "t.toml:1: unknown section `format.olypmus`; did you mean `format.olympus`?"
    );
    assert!(error("[format.quite_another]\n").contains("the built-in formats are olympus, agh"));
    assert!(error("[format.Own]\nschema = \"s.json\"\n").contains("`Own`"));
    assert!(error("[format.own]\nschema = \"s.json\"\nid = \"id\"\n").contains("a JSON pointer"));
    assert!(error("[format.own]\nschema = \"no-such.json\"\n").contains("no-such.json"));
    assert!(
        error("[format.own]\nschema = \"s\"\ndetect = { member = \"a\" }\n").contains("format.own.detect")
    );
}

#[test]
fn a_preset_comes_before_the_keys_beside_it() {
    let agh = parse("[format.agh]\ntrim_identifiers = false\npreset = \"agh-runtime\"\n").format.agh;
    assert!(!agh.trim_identifiers && agh.secret_scan);
}

/// A key without effect would be worse than an error.
#[test]
fn traces_need_a_build_that_has_them() {
    let read = |url: &str| Config::parse("t.toml", &format!("[traces]\nendpoint = \"{url}\"\n"), &|_| None);
    let asked = read("http://127.0.0.1:4318/v1/traces");
    if cfg!(feature = "otlp") {
        assert!(asked.is_ok());
    } else {
        let said = asked.unwrap_err().to_string();
        assert!(said.contains("`traces.endpoint`") && said.contains("--features otlp"), "{said}");
    }
    let said = read("collector:4317").unwrap_err().to_string();
    assert!(said.contains("`traces.endpoint`") && said.contains("http://"), "{said}");
}
