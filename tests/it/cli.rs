//! The command line, as a user sees it: outputs, exit codes, golden explanations.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

pub(crate) fn tollgate() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command.env_remove("TOLLGATE_LOG").env("NO_COLOR", "1").current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

/// A directory that is gone when the test ends, however it ends.
pub(crate) struct TempDir(PathBuf);

impl TempDir {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tollgate-test-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Memory of a process; `None` when it has ended.
pub(crate) fn resident_bytes(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Sends a signal, such as `-TERM`.
pub(crate) fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

pub(crate) fn run(args: &[&str]) -> (i32, String, String) {
    text(&tollgate().args(args).stdin(Stdio::null()).output().unwrap())
}

fn run_with_input(args: &[&str], input: &[u8]) -> (i32, String, String) {
    let mut child = tollgate()
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    text(&child.wait_with_output().unwrap())
}

fn text(output: &Output) -> (i32, String, String) {
    let utf8 = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap_or(-1), utf8(&output.stdout), utf8(&output.stderr))
}

/// `check` on every fixture, compared with the text that a person approved. `TOLLGATE_BLESS=1` writes it anew.
#[test]
fn check_explains_as_it_did() {
    let own_time = ["--config", "tests/golden/check.toml"];
    explains_as_it_did("check.txt", ["valid", "invalid"], &own_time);
    let strict =
        ["--config", "tests/cases/tollgate.toml", "--profile", "strict", "--as-of", "2026-03-03T12:00:00Z"];
    explains_as_it_did("check-strict.txt", ["strict/valid", "strict/invalid"], &strict);
}

fn explains_as_it_did(golden: &str, sides: [&str; 2], options: &[&str]) {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(golden);
    let mut paths = Vec::new();
    for format in fs::read_dir("tests/fixtures").unwrap() {
        for side in sides {
            for entry in fs::read_dir(format.as_ref().unwrap().path().join(side)).into_iter().flatten() {
                paths.push(entry.unwrap().path().to_string_lossy().into_owned());
            }
        }
    }
    paths.sort();
    // Files of white space hold no record at all.
    paths.retain(|path| !path.contains("empty-payload"));
    let mut args = vec!["check", "--apart"];
    args.extend(options);
    args.extend(paths.iter().map(String::as_str));
    let (code, got, _) = run(&args);
    assert_eq!(code, 1, "rejected envelopes are findings");
    if std::env::var_os("TOLLGATE_BLESS").is_some() {
        fs::create_dir_all(golden.parent().unwrap()).unwrap();
        fs::write(&golden, &got).unwrap();
    }
    let wanted = fs::read_to_string(&golden).unwrap();
    assert!(got == wanted, "check's text changed; look at it, then run with TOLLGATE_BLESS=1. Now:\n{got}");
}

#[test]
fn check_takes_standard_input_and_gives_json() {
    let valid = fs::read("tests/fixtures/olympus/valid/minimal.json").unwrap();
    let (code, out, _) = run_with_input(&["check"], &valid);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("accepted"), "{out}");
    let (code, out, _) = run_with_input(&["explain", "--json", "-"], b"{\"persona\":7}\n[1,\n");
    assert_eq!(code, 1);
    let lines: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["reason"], "missing-field");
    assert_eq!(lines[0]["format"], "olympus");
    let reasons: Vec<_> =
        lines[0]["findings"].as_array().unwrap().iter().map(|f| f["reason"].clone()).collect();
    assert!(reasons.contains(&"wrong-type".into()), "every failure is listed: {reasons:?}");
    assert_eq!(lines[1]["reason"], "json-syntax");
    assert!(lines[1]["findings"][0]["found"].as_str().unwrap().contains("line 1 column"), "{out}");
}

#[test]
fn exit_codes_mean_something() {
    assert_eq!(run(&["config"]).0, 0);
    assert_eq!(run(&["no-such-verb"]).0, 2);
    assert_eq!(run(&["run"]).0, 2, "no brokers, no paths");
    assert_eq!(run(&["check", "/no/such/file.json"]).0, 3);
    assert_eq!(run(&["demo", "--out", "/proc/no/such"]).0, 3);
    assert_eq!(run(&["--log", "===", "config"]).0, 2);
    let (code, _, err) = run_with_input(&["check"], b"");
    assert_eq!((code, err.contains("empty")), (2, true), "{err}");
}

#[test]
fn a_wrong_configuration_is_refused_with_file_key_found_and_allowed() {
    let dir = TempDir::new("config");
    let path = dir.write("t.toml", "[pipeline]\nworkerz = 3\n");
    let (code, out, err) = run(&["config", "--config", path.to_str().unwrap()]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert_eq!(
        err.trim(),
        format!(
            "tollgate: {}:2: unknown key `pipeline.workerz`; did you mean `pipeline.workers`?",
            path.display()
        )
    );
    let path = dir.write("t.toml", "[rules]\nformat = \"olympos\"\n");
    let (code, _, err) = run(&["config", "--config", path.to_str().unwrap()]);
    assert_eq!(code, 2);
    assert!(err.contains("`rules.format`: found `olympos`, allowed: auto, olympus, agh"), "{err}");
    let (code, _, err) = run(&["config", "--config", "/no/such.toml"]);
    assert_eq!(code, 2);
    assert!(err.contains("/no/such.toml: cannot be read"), "{err}");
}

#[test]
fn a_closed_pipe_is_a_clean_end() {
    let dir = TempDir::new("pipe");
    let line = [&fs::read("tests/fixtures/olympus/valid/escaped-names.json").unwrap()[..], b"\n"].concat();
    let input = dir.write("in.ndjson", line.repeat(20_000));
    let mut child = tollgate()
        .args(["run", input.to_str().unwrap(), "--accepted", "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn odd_files_have_a_defined_result_each() {
    let dir = TempDir::new("odd");
    let good = fs::read_to_string("tests/fixtures/olympus/valid/escaped-names.json").unwrap();
    let good = good.trim();
    dir.write("a-crlf.ndjson", format!("{good}\r\n\r\n  \r\n{good}"));
    let pretty: serde_json::Value = serde_json::from_str(good).unwrap();
    dir.write("b-array.json", format!("[{good},\n {pretty:#}]"));
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for _ in 0..2000 {
        writeln!(gzip, "{good}").unwrap();
    }
    let gzip = gzip.finish().unwrap();
    dir.write("c-truncated.ndjson.gz", &gzip[..gzip.len() / 2]);
    std::os::unix::fs::symlink("/no/such/file", dir.path().join("d-unreadable.json")).unwrap();
    dir.write("e-huge.ndjson", [vec![b'['; 2_000_000], b"\n".to_vec(), good.as_bytes().to_vec()].concat());
    dir.write("f.ndjson.zst", zstd::encode_all(format!("{good}\n").as_bytes(), 1).unwrap());
    let out = TempDir::new("odd-out");
    let (accepted, rejected) = (out.path().join("accepted.ndjson"), out.path().join("rejected.ndjson"));
    let (code, _, err) = run(&[
        "run",
        dir.path().to_str().unwrap(),
        "--config",
        "tests/cases/repeats.toml",
        "--accepted",
        accepted.to_str().unwrap(),
        "--rejected",
        rejected.to_str().unwrap(),
    ]);
    assert_eq!(code, 3, "two files failed, the others were done: {err}");
    assert!(err.contains("c-truncated.ndjson.gz") && err.contains("d-unreadable.json"), "{err}");
    let accepted = fs::read_to_string(accepted).unwrap();
    let from_archive = accepted.lines().count() - 2 - 2 - 1 - 1;
    assert!((1..2000).contains(&from_archive), "the archive's whole records were done: {from_archive}");
    assert!(accepted.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).unwrap() == pretty));
    let rejected: Vec<serde_json::Value> = fs::read_to_string(rejected)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(rejected.len(), 1);
    assert_eq!(rejected[0]["tollgate"]["reason"], "too-big");
    assert!(rejected[0]["tollgate"]["src"].as_str().unwrap().ends_with("e-huge.ndjson:1"));
    assert!(rejected[0]["record_b64"].as_str().unwrap().len() > 2_000_000, "nothing is lost");
}

#[test]
fn outputs_must_not_be_inputs() {
    let dir = TempDir::new("same");
    let input = dir.write("in.ndjson", "{}\n");
    let path = input.to_str().unwrap();
    let (code, _, err) = run(&["run", path, "--accepted", path]);
    assert_eq!(code, 2, "{err}");
    assert_eq!(fs::read_to_string(&input).unwrap(), "{}\n", "the input is untouched");
}

#[test]
fn the_demo_is_the_same_with_any_number_of_workers() {
    let dir = TempDir::new("demo");
    let mut outputs = Vec::new();
    for workers in ["1", "2", "8"] {
        let out = dir.path().join(workers);
        let (code, text, err) = run(&[
            "demo",
            "--records",
            "5000",
            "--workers",
            workers,
            "--json",
            "--out",
            out.to_str().unwrap(),
        ]);
        assert_eq!(code, 0, "{err}");
        let summary: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(summary["records"], 5000);
        assert_eq!(summary["misjudged"], 0);
        let read = |name: &str| fs::read(out.join(name)).unwrap();
        assert!(String::from_utf8(read("latency.hlog")).unwrap().contains("Tag=end_to_end"));
        outputs.push((read("accepted.ndjson"), read("rejected.ndjson")));
    }
    assert!(!outputs[0].0.is_empty() && !outputs[0].1.is_empty());
    assert!(outputs.iter().all(|output| *output == outputs[0]), "byte for byte");
}

#[test]
fn test_runs_case_files() {
    let dir = TempDir::new("cases");
    let envelope =
        fs::read_to_string("tests/fixtures/humaninloop-output/strict/valid/failed-and-retries.json").unwrap();
    let envelope = envelope.trim();
    let cases = format!(
        "{}\n{}\n{}\n",
        format_args!(
            r#"{{"format":"humaninloop","name":"good","envelope":{envelope},"expect":"accept","reason":"ok"}}"#
        ),
        r#"{"format":"auto","name":"found","envelope":{"envelope":{},"message":{}},"expect":"alfred","lenient":"alfred"}"#,
        r#"{"format":"olympus","name":"wrong","raw":"[]","expect":"reject","reason":"json-syntax","layer":"parse"}"#,
    );
    let path = dir.write("cases.jsonl", cases);
    let (code, out, err) = run(&["test", path.to_str().unwrap()]);
    assert_eq!(code, 1, "{err}");
    let place = path.display();
    let wanted = format!(
        "{place}:3 wrong strict want reject/json-syntax got reject/not-object\n5 passed, 1 failed, 0 skipped\n"
    );
    assert_eq!(out, wanted);
    let (code, out, _) =
        run(&["test", "--profile", "lenient", "--layer", "parse", "--json", path.to_str().unwrap()]);
    assert_eq!(code, 0);
    let line: serde_json::Value = serde_json::from_str(out.trim()).unwrap();
    assert_eq!((line["outcome"].as_str(), line["name"].as_str()), (Some("passed"), Some("wrong")));
}

#[test]
fn a_setting_that_librdkafka_refuses_is_wrong_configuration() {
    let dir = TempDir::new("librdkafka");
    let kafka = "[kafka]\nbrokers = \"127.0.0.1:1\"\ntopics = [\"a\"]\n[librdkafka]\n";
    for (setting, said) in [
        ("\"linger.mss\" = 5", "linger.mss"),
        ("\"ssl.ca.location\" = \"/nowhere\"\n\"security.protocol\" = \"ssl\"", "nowhere"),
    ] {
        let config = dir.write("t.toml", format!("{kafka}{setting}\n"));
        let (code, _, stderr) = run(&["run", "--config", config.to_str().unwrap()]);
        assert_eq!(code, 2, "{stderr}");
        assert!(stderr.contains(said), "{stderr}");
    }
}

#[test]
fn the_largest_buffers_that_are_allowed_work() {
    let dir = TempDir::new("largest");
    let config = dir.write("t.toml", "[files]\nblock_bytes = 67108864\nrecord_bytes_max = 1073741824\n");
    let input = "tests/fixtures/olympus/valid/escaped-names.json";
    let args = ["run", input, "--config", config.to_str().unwrap(), "--accepted", "-"];
    let (code, stdout, stderr) = run(&args);
    assert_eq!((code, stdout.lines().count()), (0, 1), "{stderr}");
}

#[test]
fn schema_checks_documents_line_by_line_and_goes_on() {
    let dir = TempDir::new("schema");
    let schema =
        dir.write("s.json", r#"{"required":["a"],"properties":{"a":{"$ref":"http://x/defs/number.json"}}}"#);
    fs::create_dir(dir.path().join("maps")).unwrap();
    dir.write("maps/number.json", r#"{"type":"number"}"#);
    let map = format!("http://x/defs/={}", dir.path().join("maps").display());
    let lines = dir.write("d.ndjson", "{\"a\":1}\n\nnot json\n{\"a\":\"x\"}\n{}\n");
    let array = dir.write("d.json", "[{\"a\":1},\n {\"a\":null}]");
    let [schema, lines, array] = [&schema, &lines, &array].map(|path| path.to_str().unwrap());
    let (code, out, err) = run(&[
        "schema",
        "check",
        "--schema",
        schema,
        "--map",
        &map,
        lines,
        array,
        "--document",
        array,
        "--json",
    ]);
    assert_eq!(code, 1, "{err}");
    let lines: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let valid: Vec<_> = lines.iter().map(|line| line["valid"].as_bool().unwrap()).collect();
    assert_eq!(
        valid,
        [true, false, false, false, true, false, true],
        "an array as a whole has no members to miss"
    );
    assert_eq!(lines[1]["errors"][0]["keyword"], "json-syntax");
    assert_eq!(lines[2]["errors"][0]["instance"], "/a");
    assert_eq!(lines[2]["errors"][0]["schema"], "http://x/defs/number.json#/type");
    assert_eq!(lines[3]["errors"][0]["keyword"], "required");
    assert_eq!(lines[6]["index"], 6);
    let (code, _, err) = run(&["schema", "check", "--schema", schema, array]);
    assert_eq!(code, 2, "a reference that leads nowhere: {err}");
}

#[test]
fn schema_reads_what_files_hold() {
    let dir = TempDir::new("schema-files");
    let write = |name: &str, text: &[u8]| {
        fs::write(dir.path().join(name), text).unwrap();
        dir.path().join(name).display().to_string()
    };
    let schema =
        write("s.json", b"\xef\xbb\xbf{\"type\":\"array\",\"items\":{\"$ref\":\"http://x/a/n.json\"}}");
    fs::create_dir_all(dir.path().join("maps/a")).unwrap();
    write("maps/a/n.json", br#"{"type":"integer"}"#);
    write("maps/garbage.json", b"garbage");
    write("maps/latin1.json", b"\"\xe4\"");
    #[cfg(unix)]
    std::os::unix::fs::symlink("..", dir.path().join("maps/a/loop")).unwrap();
    let map = format!("http://x={}", dir.path().join("maps").display());
    let check = |arguments: &[&str]| {
        let (code, out, err) =
            run(&[&["schema", "check", "--schema", &schema, "--map", &map, "--json"], arguments].concat());
        let lines: Vec<serde_json::Value> =
            out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (code, lines, err)
    };
    // Arrays line by line are documents; a file that is one array holds them.
    let lines = write("lines.ndjson", b"[1]\n[2,\"x\"]\n");
    let array = write("array.json", b"\xef\xbb\xbf[[1],[\"x\"],\n[2]]\n");
    let (code, documents, err) = check(&[&lines, &array]);
    let valid: Vec<_> = documents.iter().map(|line| line["valid"].as_bool().unwrap()).collect();
    assert_eq!((code, valid.as_slice()), (1, [true, false, true, false, true].as_slice()), "{err}");
    // Each document that is named is checked.
    let [one, two] = [write("one.json", b"\xef\xbb\xbf[1]"), write("two.json", b"[null]")];
    let (_, documents, err) = check(&["--document", &one, "--document", &two]);
    let valid: Vec<_> = documents.iter().map(|line| line["valid"].as_bool().unwrap()).collect();
    assert_eq!(valid, [true, false], "{err}");
    // What is no text and what is no JSON are told apart.
    let broken = write("broken.ndjson", b"[\"\xff\"]\n[\"\\ud800\"]\n[\n");
    let (_, documents, _) = check(&[&broken]);
    let message = |number: usize| documents[number]["errors"][0]["message"].as_str().unwrap();
    assert!(message(0).contains("not UTF-8") && message(1).contains("surrogate"), "{documents:?}");
    // More failures than anyone reads are counted.
    let many = write("many.json", format!("[[{}]]", vec!["\"x\""; 1500].join(",")).as_bytes());
    let (_, documents, _) = check(&[&many]);
    assert_eq!(
        (documents[0]["errors"].as_array().unwrap().len(), &documents[0]["more"]),
        (1000, &serde_json::json!(500))
    );
    // A file that nobody can read counts once a schema refers to it, by name.
    for (name, part) in [("garbage.json", "not JSON"), ("latin1.json", "not UTF-8")] {
        let bad = write("bad.json", format!(r#"{{"$ref":"http://x/{name}"}}"#).as_bytes());
        let (code, _, err) = run(&["schema", "compile", &bad, "--map", &map]);
        assert_eq!(code, 2);
        assert!(err.contains(&format!("maps/{name}")) && err.contains(part), "{err}");
    }
}

#[test]
fn schema_lists_a_program() {
    let (code, out, err) = run(&["schema", "compile", "configs/schemas/olympus.json"]);
    assert_eq!(code, 0, "{err}");
    for part in ["blocks", "required \"envelope\"", "no other names", "of format date-time"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let dir = TempDir::new("schema-bad");
    let bad = dir.write("bad.json", r#"{"type":"x"}"#);
    let (code, _, err) = run(&["schema", "compile", bad.to_str().unwrap()]);
    assert_eq!(code, 2);
    assert!(err.contains("bad.json") && err.contains("/type"), "{err}");
}

/// The limits that errors name are those of a configuration, which can say others.
#[test]
fn schema_holds_to_the_limits_of_a_configuration() {
    let dir = TempDir::new("schema-limits");
    let write = |name: &str, text: &str| dir.write(name, text).to_str().unwrap().to_owned();
    let long = write("long.json", &format!(r#"{{"pattern":"^{}$"}}"#, "a".repeat(5000)));
    let (code, _, err) = run(&["schema", "compile", &long]);
    assert_eq!(code, 2);
    assert!(err.contains("`pattern_bytes_max` is 4096"), "{err}");
    let wider = write("wider.toml", "[limits]\npattern_bytes_max = 10000\ndepth_max = 3\n");
    let (code, out, err) = run(&["schema", "compile", &long, "--config", &wider]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("1 patterns"), "{out}");
    let small = write("small.toml", "[limits]\nschema_ops_max = 1\n");
    let schema = write("schema.json", r#"{"type":"array","minItems":1,"items":{"minLength":2}}"#);
    let (code, _, err) = run(&["schema", "compile", &schema, "--config", &small]);
    assert_eq!(code, 2);
    assert!(err.contains("`schema_ops_max` = 1"), "{err}");
    // Depth, too: that of records with the configuration, else more.
    let deep = write("deep.ndjson", "[[[1]]]\n[[[[1]]]]\n");
    let check =
        |more: &[&str]| run(&[&["schema", "check", "--schema", &schema, &deep, "--json"], more].concat());
    assert_eq!(check(&[]).0, 0);
    let (code, out, _) = check(&["--config", &wider]);
    assert_eq!(code, 1);
    let lines: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines[0]["valid"].as_bool(), lines[1]["valid"].as_bool()), (Some(true), Some(false)));
    assert!(lines[1]["errors"][0]["message"].as_str().unwrap().contains("`depth_max`"), "{out}");
    // A configuration that is wrong is told as everywhere.
    let wrong = write("wrong.toml", "[limits]\npattern_byte_max = 1\n");
    let (code, _, err) = run(&["schema", "compile", &schema, "--config", &wrong]);
    assert_eq!(code, 2);
    assert!(err.contains("pattern_byte_max") && err.contains("pattern_bytes_max"), "{err}");
}
