//! Operating a run, as whoever is on call sees it: the ops port, reload, candidate rules, `top` and `tap`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate::load::Stream;
use tollgate::metrics::METRICS;

use crate::cli::{TempDir, tollgate};

const WAIT: Duration = Duration::from_secs(30);

/// A filter on standard input with its ops port open.
struct Daemon {
    child: Child,
    stdin: Option<ChildStdin>,
    address: String,
    log: Arc<Mutex<String>>,
    token: Option<String>,
}

impl Daemon {
    fn start(dir: &TempDir, config: &str) -> Self {
        let config = dir.write("tollgate.toml", config);
        let mut child = tollgate()
            .args(["run", "-", "--ops", "127.0.0.1:0", "--json", "--config"])
            .arg(config)
            .arg("--accepted")
            .arg(dir.path().join("accepted.ndjson"))
            .arg("--rejected")
            .arg(dir.path().join("rejected.ndjson"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdin, stderr) = (child.stdin.take(), child.stderr.take().unwrap());
        let log = Arc::new(Mutex::new(String::new()));
        let (to, address) = std::sync::mpsc::channel();
        let lines = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if let Some(address) = line.split("ops port: http://").nth(1) {
                    let _ = to.send(address.trim_end_matches('/').to_owned());
                }
                let mut log = lines.lock().unwrap();
                log.push_str(&line);
                log.push('\n');
            }
        });
        let address =
            address.recv_timeout(WAIT).unwrap_or_else(|_| panic!("no port: {}", log.lock().unwrap()));
        Self { child, stdin, address, log, token: None }
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    fn ask(&self, method: &str, path: &str, headers: &str) -> (u16, String) {
        ask(&self.address, method, path, headers)
    }

    fn get(&self, path: &str) -> String {
        let token =
            self.token.as_ref().map_or(String::new(), |token| format!("Authorization: Bearer {token}\r\n"));
        let (status, body) = self.ask("GET", path, &token);
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    /// The value of a series, by its text up to the blank.
    fn metric(&self, series: &str) -> f64 {
        let text = self.get("/metrics");
        let line =
            text.lines().find(|line| line.strip_prefix(series).is_some_and(|rest| rest.starts_with(' ')));
        line.map_or(0.0, |line| line.rsplit(' ').next().unwrap().parse().unwrap())
    }

    fn wait_until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let until = Instant::now() + WAIT;
        while !holds(self) {
            assert!(Instant::now() < until, "{what}; the log: {}", self.log.lock().unwrap());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn records(&self) -> f64 {
        let text = self.get("/metrics");
        let counts = text.lines().filter(|line| line.starts_with("tollgate_envelopes_total{"));
        counts.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
    }

    /// Ends the input and waits; the summary.
    fn finish(mut self) -> (Value, String) {
        drop(self.stdin.take());
        let mut text = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        assert!(self.child.wait().unwrap().success(), "{}", self.log.lock().unwrap());
        (serde_json::from_str(&text).unwrap(), self.log.lock().unwrap().clone())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The body of an answer from an ops port.
pub(crate) fn fetch(address: &str, path: &str) -> String {
    ask(address, "GET", path, "").1
}

fn ask(address: &str, method: &str, path: &str, headers: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(WAIT)).unwrap();
    let host = if headers.contains("Host:") { String::new() } else { format!("Host: {address}\r\n") };
    write!(stream, "{method} {path} HTTP/1.0\r\n{host}{headers}\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// Lines of a stream with known verdicts, and how many must be rejected for which reason.
fn stream(seed: u64, broken_per_mille: u16, records: usize) -> (Vec<u8>, BTreeMap<String, f64>) {
    let mut stream = Stream::new(seed, broken_per_mille);
    let (mut lines, mut reasons) = (Vec::new(), BTreeMap::new());
    for _ in 0..records {
        let truth = stream.write_next(&mut lines);
        lines.extend_from_slice(b"\n");
        if let Some(reason) = truth.reason {
            *reasons.entry(reason.code().to_owned()).or_insert(0.0) += 1.0;
        }
    }
    (lines, reasons)
}

/// A tool that checks, or a loud word that it is not there.
fn tool(name: &str, what: &str) -> bool {
    let found = Command::new(name).arg("--version").output().is_ok();
    let required = std::env::var_os("TOLLGATE_REQUIRE_OPS_TOOLS").is_some_and(|value| value == "1");
    assert!(found || !required, "{name} is required and not installed");
    if !found {
        let _ = writeln!(std::io::stderr(), "\n*** SKIPPED: {what}, since `{name}` is not installed.");
    }
    found
}

const RECORD_CLOCK: &str = "[rules]\nclock = \"record\"\n";

#[test]
fn the_port_tells_what_a_run_does() {
    let dir = TempDir::new("ops-port");
    let mut daemon = Daemon::start(
        &dir,
        &format!("{RECORD_CLOCK}[ops]\ntoken = \"t0ken-of-the-port\"\nrejects_per_s = 10000\n"),
    );
    assert_eq!(daemon.ask("GET", "/metrics", "").0, 401);
    assert_eq!(daemon.ask("GET", "/metrics", "Authorization: Bearer wrong\r\n").0, 401);
    assert_eq!(daemon.ask("GET", "/healthz", ""), (200, "ok\n".into()));
    assert_eq!(daemon.ask("GET", "/readyz", ""), (200, "running\n".into()));
    assert_eq!(daemon.ask("GET", "/", "").0, 200, "the page itself holds no data");
    daemon.token = Some("t0ken-of-the-port".into());

    let (lines, reasons) = stream(7, 200, 5000);
    daemon.feed(&lines);
    daemon.wait_until("all records are counted", |daemon| daemon.records() >= 5000.0);
    let metrics = daemon.get("/metrics");
    for (reason, count) in &reasons {
        let label = format!("reason=\"{reason}\"}} ");
        let found: f64 = metrics
            .lines()
            .filter(|line| line.starts_with("tollgate_rejects_total{") && line.contains(&label))
            .map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap())
            .sum();
        assert!((found - count).abs() < 0.5, "{reason}: {found} instead of {count}\n{metrics}");
    }
    assert!(daemon.metric("tollgate_window_ids") > 0.0);
    // Threads hand their histograms over with the first batch after a second.
    std::thread::sleep(Duration::from_millis(1100));
    daemon.feed(b"{}\n");
    daemon.wait_until("latency is there after a second", |daemon| {
        daemon.metric("tollgate_end_to_end_seconds_count") >= 5000.0
            && daemon.metric("tollgate_stage_seconds_count{stage=\"gate\"}") >= 5000.0
    });
    let config = daemon.get("/config");
    assert!(config.contains("token = \"(hidden)\"") && !config.contains("t0ken-of-the-port"), "{config}");
    assert!(config.contains("# Rule set "), "{config}");

    let rejects: Value = serde_json::from_str(&daemon.get("/rejects")).unwrap();
    let groups = rejects["groups"].as_array().unwrap();
    let found: BTreeSet<_> =
        groups.iter().map(|group| group["reason"].as_str().unwrap().to_owned()).collect();
    assert!(!found.is_empty() && found.iter().all(|reason| reasons.contains_key(reason)), "{found:?}");
    for group in groups {
        assert!(group["example"]["src"].as_str().unwrap().starts_with("-:"), "{group}");
        assert!(group["first_ms"].as_i64() <= group["last_ms"].as_i64());
        assert!(!group["example"]["findings"].as_array().unwrap().is_empty(), "{group}");
        assert_eq!(group["example"]["findings"][0]["reason"], group["reason"], "{group}");
    }
    assert!(groups.iter().any(|group| !group["sender"].as_str().unwrap().is_empty()));
    let (summary, _) = daemon.finish();
    assert_eq!(summary["records"], 5001);
}

#[test]
fn metrics_are_those_of_the_table_and_hold_before_the_tools() {
    let dir = TempDir::new("ops-metrics");
    let mut daemon = Daemon::start(&dir, RECORD_CLOCK);
    daemon.feed(&stream(8, 100, 300).0);
    daemon.wait_until("all records are counted", |daemon| daemon.records() >= 300.0);
    let metrics = daemon.get("/metrics");
    for metric in METRICS {
        assert!(
            metrics.contains(&format!("# HELP {} {}\n", metric.name, metric.help)),
            "{}:\n{metrics}",
            metric.name
        );
    }
    for line in metrics.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().unwrap();
        let known = METRICS.iter().any(|metric| {
            name == metric.name
                || name
                    .strip_prefix(metric.name)
                    .is_some_and(|end| ["_bucket", "_sum", "_count"].contains(&end))
        });
        assert!(known, "{name} is not in the table");
    }
    let (_, open) = daemon.ask("GET", "/metrics", "Accept: application/openmetrics-text\r\n");
    assert!(open.ends_with("# EOF\n") && open.contains("# TYPE tollgate_envelopes counter\n"), "{open}");
    if tool("promtool", "promtool check metrics") {
        let mut child = Command::new("promtool")
            .args(["check", "metrics"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(metrics.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let said =
            String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.trim().is_empty(), "promtool check metrics: {said}");
    }
}

#[test]
fn the_port_is_for_those_who_may() {
    let dir = TempDir::new("ops-guard");
    let daemon = Daemon::start(&dir, RECORD_CLOCK);
    assert_eq!(daemon.ask("GET", "/now", "Host: tollgate.example.com\r\n").0, 403, "DNS rebinding");
    assert_eq!(daemon.ask("GET", "/now", "Host: localhost\r\n").0, 200);
    let foreign = "Origin: http://example.com\r\n";
    assert_eq!(daemon.ask("POST", "/reload", foreign).0, 403, "another web page");
    assert_eq!(daemon.ask("GET", "/reload", "").0, 405);
    drop(daemon);

    let beyond =
        tollgate().args(["run", "-", "--rejected", "-", "--ops", "0.0.0.0:0"]).stdin(Stdio::null()).output();
    let beyond = beyond.unwrap();
    let said = String::from_utf8_lossy(&beyond.stderr).into_owned();
    assert_eq!(beyond.status.code(), Some(2), "{said}");
    assert!(said.contains("`ops.listen`") && said.contains("`ops.token`"), "{said}");
}

/// Valid records on and on, a reload in the middle: verdicts change at one line, and every record comes out once.
#[test]
fn a_reload_under_load_changes_verdicts_at_one_place_and_loses_nothing() {
    let dir = TempDir::new("ops-reload");
    let mut daemon = Daemon::start(&dir, RECORD_CLOCK);
    let (lines, _) = stream(9, 0, 60_000);
    let all: Vec<&[u8]> = lines.split_inclusive(|byte| *byte == b'\n').collect();
    let before = daemon.get("/config");
    let mut stdin = daemon.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for chunk in all.chunks(200) {
                stdin.write_all(&chunk.concat()).unwrap();
                std::thread::sleep(Duration::from_millis(4));
            }
        });
        daemon.wait_until("some records have passed", |daemon| daemon.records() > 5000.0);
        // A file that does not hold changes nothing.
        dir.write("tollgate.toml", format!("{RECORD_CLOCK}[limits]\npayload_bytes_max = \"much\"\n"));
        let (status, why) = daemon.ask("POST", "/reload", "");
        assert_eq!(status, 422, "{why}");
        assert!(why.contains("tollgate.toml") && why.contains("payload_bytes_max"), "{why}");
        assert_eq!(daemon.get("/config"), before);
        dir.write("tollgate.toml", format!("{RECORD_CLOCK}[limits]\npayload_bytes_max = 10\n"));
        let hangup = Command::new("kill").args(["-HUP", &daemon.child.id().to_string()]).status().unwrap();
        assert!(hangup.success());
        daemon.wait_until("the reload is applied", |daemon| {
            daemon.metric("tollgate_reloads_total{result=\"applied\"}") > 0.5
        });
        assert!(daemon.metric("tollgate_reloads_total{result=\"refused\"}") > 0.5);
    });
    drop(stdin);
    let config = loop {
        let config = daemon.get("/config");
        if config.contains("# edition 1: ") {
            break config;
        }
    };
    let (summary, log) = daemon.finish();
    assert_eq!(summary["records"], 60_000, "{log}");
    let accepted = fs::read(dir.path().join("accepted.ndjson")).unwrap();
    let count = accepted.split_inclusive(|byte| *byte == b'\n').count();
    assert!(
        accepted == all[..count].concat(),
        "what is accepted are the first {count} records, byte for byte"
    );
    let rejected = fs::read_to_string(dir.path().join("rejected.ndjson")).unwrap();
    let notes: Vec<Value> = rejected.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(notes.len() + count, 60_000);
    for (index, note) in notes.iter().enumerate() {
        assert_eq!(note["tollgate"]["reason"], "too-big");
        assert_eq!(note["tollgate"]["src"], format!("-:{}", count + index + 1));
    }
    assert!(count > 5000 && notes.len() > 100, "{count} accepted, {} rejected", notes.len());
    let rules = notes[0]["tollgate"]["rules"].as_str().unwrap();
    assert!(config.contains(&format!("# edition 1: rule set {rules} from -:{}\n", count + 1)), "{config}");
    assert!(log.contains("rules changed"), "{log}");
}

/// Pairs of a retry and, behind it, the try before: out of turn from the edition on that looks at them.
#[test]
fn a_reload_that_turns_sequences_on_holds_from_its_first_record() {
    const MORE: usize = 2_000;
    let dir = TempDir::new("ops-sequences");
    let rules = |retries: &str| {
        format!("{RECORD_CLOCK}format = \"bluelabel\"\n[format.bluelabel]\nretries = \"{retries}\"\n")
    };
    let mut daemon = Daemon::start(&dir, &rules("off"));
    let line = |pair: usize, retry: u8| {
        json!({
            "type": "error", "protocol_version": "1.0", "sender_id": "CA", "recipient_id": "ARCH",
            "timestamp": "2026-03-03T12:00:00Z", "task_id": format!("TASK-{pair}"), "retry_count": retry,
            "payload": {"code": "A_1", "message": "m"},
        })
        .to_string()
            + "\n"
    };
    let mut stdin = daemon.stdin.take().unwrap();
    let is_reloaded = AtomicBool::new(false);
    let pairs = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let (mut written, mut left) = (0, MORE);
            while left > 0 {
                left -= if is_reloaded.load(Ordering::SeqCst) { 100 } else { 0 };
                let pairs = (written..written + 100).flat_map(|pair| [line(pair, 1), line(pair, 0)]);
                stdin.write_all(pairs.collect::<String>().as_bytes()).unwrap();
                written += 100;
                std::thread::sleep(Duration::from_millis(4));
            }
            written
        });
        daemon.wait_until("some records have passed", |daemon| daemon.records() > 3000.0);
        dir.write("tollgate.toml", rules("enforce"));
        let (status, why) = daemon.ask("POST", "/reload", "");
        is_reloaded.store(true, Ordering::SeqCst);
        assert_eq!(status, 200, "{why}");
        writer.join().unwrap()
    });
    drop(stdin);
    let (summary, log) = daemon.finish();
    assert_eq!(summary["records"], 2 * pairs, "{log}");
    let rejected = fs::read_to_string(dir.path().join("rejected.ndjson")).unwrap();
    let lines: Vec<usize> = rejected
        .lines()
        .map(|line| {
            let note: Value = serde_json::from_str(line).unwrap();
            assert_eq!(note["tollgate"]["reason"], "stale-retry", "{line}");
            note["tollgate"]["src"].as_str().unwrap().strip_prefix("-:").unwrap().parse().unwrap()
        })
        .collect();
    let first = lines[0];
    assert!(first > 3000 && lines.len() >= MORE - 1, "from line {first} on, {} lines", lines.len());
    assert!(
        lines.iter().copied().eq((first..=2 * pairs).step_by(2)),
        "the second of every pair from there on"
    );
    let from = log.lines().find(|line| line.contains("rules changed")).unwrap();
    let place = from.split("place=").nth(1).unwrap().split_whitespace().next().unwrap().parse().unwrap();
    // Places count from 0, and a pair of which only the second is in the new edition passes.
    assert!((first - 3..first).contains(&place), "{from} {first}");
}

#[test]
fn a_reload_refuses_what_takes_a_restart() {
    let dir = TempDir::new("ops-restart");
    let daemon = Daemon::start(&dir, RECORD_CLOCK);
    dir.write("tollgate.toml", format!("{RECORD_CLOCK}format = \"agh\"\n"));
    let (status, why) = daemon.ask("POST", "/reload", "");
    assert!(status == 422 && why.contains("restart"), "{why}");
    dir.write("tollgate.toml", format!("{RECORD_CLOCK}profile = \"strict\"\n"));
    let (status, why) = daemon.ask("POST", "/reload", "");
    assert!(status == 422 && why.contains("lack their data"), "{why}");
    dir.write("tollgate.toml", format!("{RECORD_CLOCK}[kafka]\ngroup = \"other\"\n"));
    let (status, done) = daemon.ask("POST", "/reload", "");
    assert_eq!(status, 200, "{done}");
    assert_eq!(serde_json::from_str::<Value>(&done).unwrap()["waiting_for_restart"][0], "kafka");
}

/// A rejected line; the record itself may hold numbers that nobody else reads.
#[derive(serde::Deserialize)]
struct Line {
    tollgate: Value,
}

/// Which record got which verdict, by runs of their own: the oracle of the candidate's report.
fn verdicts(dir: &TempDir, input: &Path, config: &Path) -> (BTreeMap<String, String>, Vec<u8>) {
    let (accepted, rejected) = (dir.path().join("a.ndjson"), dir.path().join("r.ndjson"));
    let status = tollgate()
        .arg("run")
        .arg(input)
        .arg("--config")
        .arg(config)
        .arg("--accepted")
        .arg(&accepted)
        .arg("--rejected")
        .arg(&rejected)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    let text = fs::read_to_string(&rejected).unwrap();
    let notes = text.lines().map(|line| serde_json::from_str::<Line>(line).unwrap());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let found = notes.map(|note| (text(&note.tollgate["src"]), text(&note.tollgate["reason"]))).collect();
    (found, fs::read(accepted).unwrap())
}

#[test]
fn candidate_rules_report_exactly_the_records_that_would_change() {
    let dir = TempDir::new("ops-shadow");
    let (mut lines, _) = stream(11, 150, 3000);
    // Repetitions, which the candidate does not mind.
    let again: Vec<u8> = lines.split_inclusive(|byte| *byte == b'\n').take(40).collect::<Vec<_>>().concat();
    lines.extend_from_slice(&again);
    let input = dir.write("input.ndjson", &lines);
    let live = dir.write("live.toml", RECORD_CLOCK);
    let candidate = format!(
        "{RECORD_CLOCK}profile = \"lenient\"\n[limits]\npayload_bytes_max = 900\n[window]\nreplay = \"warn\"\n"
    );
    let candidate = dir.write("candidate.toml", candidate);
    let report = dir.path().join("changes.ndjson");
    let both = format!(
        "{RECORD_CLOCK}[shadow]\nconfig = \"candidate.toml\"\nreport = {:?}\n",
        report.to_str().unwrap()
    );
    let both = dir.write("both.toml", both);

    let (live, accepted) = verdicts(&dir, &input, &live);
    let (tried, _) = verdicts(&dir, &input, &candidate);
    let (beside, accepted_beside) = verdicts(&dir, &input, &both);
    assert!(live == beside && accepted == accepted_beside, "the candidate touches no output");

    let reason = |verdicts: &BTreeMap<String, String>, src: &str| {
        verdicts.get(src).map_or("ok", String::as_str).to_owned()
    };
    let records = lines.split_inclusive(|byte| *byte == b'\n').count();
    let expected: BTreeSet<_> = (1..=records)
        .map(|line| format!("{}:{line}", input.display()))
        .map(|src| (reason(&live, &src), reason(&tried, &src), src))
        .filter(|(live, tried, _)| live != tried)
        .collect();
    let told: BTreeSet<_> = fs::read_to_string(&report)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|line| {
            [&line["live"], &line["candidate"], &line["src"]].map(|text| text.as_str().unwrap().to_owned())
        })
        .map(|[live, tried, src]| (live, tried, src))
        .collect();
    assert!(
        expected.len() > 100 && expected.iter().any(|(live, ..)| live == "duplicate"),
        "{}",
        expected.len()
    );
    assert_eq!(told, expected);
}

#[test]
fn candidate_rules_are_grouped_by_cause() {
    let dir = TempDir::new("ops-shadow-groups");
    dir.write("candidate.toml", format!("{RECORD_CLOCK}[limits]\npayload_bytes_max = 10\n"));
    let mut daemon = Daemon::start(&dir, &format!("{RECORD_CLOCK}[shadow]\nconfig = \"candidate.toml\"\n"));
    daemon.feed(&stream(12, 0, 500).0);
    daemon.wait_until("the changes are counted", |daemon| {
        daemon.metric("tollgate_shadow_changes_total{live=\"ok\",candidate=\"too-big\"}") >= 500.0
    });
    let shadow: Value = serde_json::from_str(&daemon.get("/shadow")).unwrap();
    let count: u64 =
        shadow["groups"].as_array().unwrap().iter().map(|group| group["count"].as_u64().unwrap()).sum();
    assert_eq!(count, 500, "{shadow}");
    assert_eq!(shadow["groups"][0]["first"].as_str().unwrap().split(':').next(), Some("-"));
    let (summary, _) = daemon.finish();
    assert_eq!(summary["accepted"], 500);
}

/// A candidate that a reload brings is compared and reported as one that was there from the start, and goes as it came.
#[test]
fn a_reload_brings_a_candidate_and_takes_it_away() {
    let dir = TempDir::new("ops-shadow-reload");
    let mut daemon = Daemon::start(&dir, RECORD_CLOCK);
    dir.write("candidate.toml", format!("{RECORD_CLOCK}[limits]\npayload_bytes_max = 10\n"));
    let (lines, _) = stream(16, 0, 900);
    let all: Vec<&[u8]> = lines.split_inclusive(|byte| *byte == b'\n').collect();
    let report = dir.path().join("changes.ndjson");
    let with = format!(
        "{RECORD_CLOCK}[shadow]\nconfig = \"candidate.toml\"\nreport = {:?}\n",
        report.to_str().unwrap()
    );
    for (round, config) in [None, Some(with.as_str()), Some(RECORD_CLOCK)].into_iter().enumerate() {
        if let Some(config) = config {
            dir.write("tollgate.toml", config);
            assert_eq!(daemon.ask("POST", "/reload", "").0, 200);
        }
        daemon.feed(&all[round * 300..(round + 1) * 300].concat());
        daemon.wait_until("they are counted", |daemon| daemon.records() >= (round as f64 + 1.0) * 300.0);
    }
    daemon.wait_until("the changes are counted", |daemon| {
        daemon.metric("tollgate_shadow_changes_total{live=\"ok\",candidate=\"too-big\"}") >= 300.0
    });
    let shadow: Value = serde_json::from_str(&daemon.get("/shadow")).unwrap();
    let count: u64 =
        shadow["groups"].as_array().unwrap().iter().map(|group| group["count"].as_u64().unwrap()).sum();
    assert_eq!((count, &shadow["candidate"]), (300, &Value::Null), "{shadow}");
    daemon.finish();
    let told = fs::read_to_string(&report).unwrap();
    let places: Vec<_> =
        told.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["src"].clone()).collect();
    assert_eq!(places, (301..=600).map(|line| Value::from(format!("-:{line}"))).collect::<Vec<_>>());
}

/// Memory is reserved ahead and touched bit by bit: huge pages would make each bit one of 2 MB.
#[test]
#[cfg(target_os = "linux")]
fn no_memory_asks_for_huge_pages() {
    let dir = TempDir::new("ops-pages");
    let mut daemon = Daemon::start(&dir, RECORD_CLOCK);
    daemon.feed(&stream(17, 0, 1000).0);
    daemon.wait_until("they are counted", |daemon| daemon.records() >= 1000.0);
    let maps = fs::read_to_string(format!("/proc/{}/smaps", daemon.child.id())).unwrap();
    let flags: Vec<_> = maps.lines().filter_map(|line| line.strip_prefix("VmFlags:")).collect();
    assert!(flags.len() > 10, "{maps}");
    let huge = flags.iter().filter(|flags| flags.split_whitespace().any(|flag| flag == "hg")).count();
    assert_eq!(huge, 0, "of {} mappings", flags.len());
    daemon.finish();
}

#[test]
fn top_and_tap_show_a_running_filter() {
    let dir = TempDir::new("ops-top");
    let mut daemon = Daemon::start(&dir, RECORD_CLOCK);
    let tap = tollgate()
        .args(["tap", &daemon.address, "--count", "40", "--per-s", "1000", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (lines, _) = stream(13, 300, 40_000);
    let mut stdin = daemon.stdin.take().unwrap();
    let feeder = std::thread::spawn(move || {
        for chunk in lines.chunks(1 << 16) {
            stdin.write_all(chunk).unwrap();
            std::thread::sleep(Duration::from_millis(10));
        }
        stdin
    });
    let tapped = tap.wait_with_output().unwrap();
    assert!(tapped.status.success());
    let verdicts: Vec<Value> = String::from_utf8(tapped.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(verdicts.len(), 40);
    for verdict in &verdicts {
        assert_eq!(verdict["verdict"] == "accept", verdict["reason"] == "ok", "{verdict}");
        assert!(verdict["src"].as_str().unwrap().starts_with("-:"), "{verdict}");
    }
    assert!(verdicts.iter().any(|verdict| verdict["verdict"] == "reject"), "{verdicts:?}");
    let top = tollgate().args(["top", &daemon.address, "--once"]).output().unwrap();
    let picture = String::from_utf8(top.stdout).unwrap();
    assert!(
        picture.contains("● running") && picture.contains("reasons") && picture.contains("window"),
        "{picture}"
    );
    daemon.stdin = Some(feeder.join().unwrap());
    daemon.finish();

    let nobody = tollgate().args(["top", "127.0.0.1:1", "--once"]).output().unwrap();
    assert_eq!(nobody.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&nobody.stderr).contains("127.0.0.1:1"));
}

/// The live page in a real browser: no complaint, nothing from elsewhere, everything shown, also on a phone.
#[test]
fn the_page_works_in_a_browser() {
    let dir = TempDir::new("ops-page");
    dir.write("candidate.toml", format!("{RECORD_CLOCK}profile = \"strict\"\n"));
    let mut daemon = Daemon::start(&dir, &format!("{RECORD_CLOCK}[shadow]\nconfig = \"candidate.toml\"\n"));
    let (lines, _) = stream(14, 200, 40_000);
    let mut stdin = daemon.stdin.take().unwrap();
    let feeder = std::thread::spawn(move || {
        for chunk in lines.chunks(1 << 16) {
            // The filter is stopped before all is fed.
            if stdin.write_all(chunk).is_err() {
                break;
            }
            std::thread::sleep(Duration::from_millis(40));
        }
    });
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/look-at-page");
    let looked = tool("node", "the live page in a browser")
        .then(|| Command::new(script).arg(format!("http://{}/", daemon.address)).output().unwrap())
        .filter(|looked| looked.status.code() != Some(4) || !tool("chromium", "the live page in a browser"));
    drop(daemon);
    feeder.join().unwrap();
    let Some(looked) = looked else { return };
    let text = String::from_utf8(looked.stdout).unwrap();
    assert!(looked.status.success(), "{text} {}", String::from_utf8_lossy(&looked.stderr));
    let seen: Value = serde_json::from_str(&text).unwrap();
    for nothing in ["console", "failed", "foreign"] {
        assert_eq!(seen[nothing], Value::Array(Vec::new()), "{nothing}");
    }
    for shape in ["light", "dark", "phone"] {
        assert_eq!(seen["wide"][shape], false, "{shape}: something is wider than the window");
    }
    assert!(seen["drawn"].as_u64() >= Some(6), "lines are drawn: {}", seen["drawn"]);
    let shown = seen["shown"].as_str().unwrap();
    for part in [
        "running",
        "Reasons",
        "bad-enum",
        "olympus",
        "end to end",
        "would change",
        "groups from a sample",
        "Why",
        "secrets hidden",
        "fix",
    ] {
        assert!(shown.contains(part), "{part} is not shown:\n{shown}");
    }
}

/// Marks stand where secrets and contents stand; no log at any level may show them.
#[test]
fn logs_hold_no_payloads_and_no_secrets() {
    let dir = TempDir::new("ops-logs");
    let records = [
        r#"{"envelope":{"security":{"auth_token":"MARK-token"}},"message":{"intent":"MARK-intent"}}"#,
        r#"{"note":"MARK-unknown"}"#,
        r#"{"broken":"MARK-broken"#,
    ];
    let input = dir.write("input.ndjson", records.join("\n"));
    let config =
        dir.write("tollgate.toml", "[ops]\ntoken = \"MARK-ops\"\n[kafka]\nsasl_password = \"MARK-sasl\"\n");
    for form in ["", "--log-json"] {
        let mut command = tollgate();
        command
            .args(["run", "--log", "trace", "--ops", "127.0.0.1:0", "--rejected"])
            .arg(dir.path().join("r.ndjson"));
        command.arg("--config").arg(&config).arg(&input);
        if !form.is_empty() {
            command.arg(form);
        }
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && said.contains("ops port"), "{said}");
        assert!(!said.contains("MARK"), "{said}");
        if !form.is_empty() {
            for line in said.lines() {
                serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            }
        }
    }
}

/// Files that are made from the table of metrics, and alerts that name what is in it.
#[test]
fn what_is_packaged_follows_the_table_of_metrics() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (flag, file) in
        [("--metrics", "configs/METRICS.md"), ("--dashboard", "configs/grafana/tollgate.json")]
    {
        let made = tollgate().args(["config", flag]).output().unwrap().stdout;
        let kept = fs::read(root.join(file)).unwrap();
        assert!(made == kept, "{file} differs from `tollgate config {flag}`");
    }
    let rules = fs::read_to_string(root.join("configs/prometheus/tollgate.rules.yml")).unwrap();
    let named: BTreeSet<&str> = rules
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.starts_with("tollgate_"))
        .collect();
    assert!(named.len() > 8, "{named:?}");
    for name in named {
        let known =
            METRICS.iter().any(|metric| name == metric.name || name == format!("{}_bucket", metric.name));
        assert!(known, "an alert names {name}, which is not in the table");
    }
    if tool("promtool", "promtool check rules") {
        for args in [["check", "rules", "tollgate.rules.yml"], ["test", "rules", "tollgate.rules.test.yml"]] {
            let output = Command::new("promtool")
                .args(args)
                .current_dir(root.join("configs/prometheus"))
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned()
                + &String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "promtool {args:?}: {said}");
        }
    }
}

#[test]
fn completions_and_manual_pages_name_every_verb() {
    let dir = TempDir::new("ops-man");
    let verbs = ["run", "check", "top", "tap", "config"];
    for shell in ["bash", "zsh", "fish"] {
        let output = tollgate().args(["config", "--completions", shell]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && verbs.iter().all(|verb| text.contains(verb)), "{shell}");
    }
    let output = tollgate().args(["config", "--man"]).arg(dir.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for verb in verbs {
        let page = fs::read_to_string(dir.path().join(format!("tollgate-{verb}.1"))).unwrap();
        assert!(page.contains(".TH"), "{verb}");
    }
}

/// Connections that ask nothing, or byte by byte, take a bounded number of files, are closed in the end, and cost the run
/// nothing.
#[test]
fn strangers_at_the_port_cost_a_bounded_number_of_connections() {
    let dir = TempDir::new("ops-strangers");
    let mut daemon = Daemon::start(&dir, RECORD_CLOCK);
    let files = |daemon: &Daemon| fs::read_dir(format!("/proc/{}/fd", daemon.child.id())).unwrap().count();
    let before = files(&daemon);
    let mut strangers: Vec<_> = (0..300).map(|_| TcpStream::connect(&daemon.address).unwrap()).collect();
    for (number, stranger) in strangers.iter_mut().enumerate() {
        let says = [
            &b""[..],
            b"GET /metrics HTT",
            b"\x16\x03\x01\x02\x00\x01\x00\x01",
            b"POST /reload HTTP/1.1\r\nX: ",
        ];
        stranger.write_all(says[number % says.len()]).unwrap();
    }
    daemon.feed(&stream(15, 100, 2000).0);
    let until = Instant::now() + WAIT;
    let answered = loop {
        let open = files(&daemon) - before;
        assert!(open <= 140, "{open} connections");
        // Some of them never stop talking, and never get to the point.
        for stranger in strangers.iter_mut().step_by(3) {
            let _ = stranger.write_all(b"a");
        }
        let mut asks = TcpStream::connect(&daemon.address).unwrap();
        asks.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        asks.write_all(b"GET /healthz HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        if asks.read_to_string(&mut answer).is_ok() && answer.ends_with("ok\n") {
            break true;
        }
        if Instant::now() > until {
            break false;
        }
        strangers.push(asks);
    };
    assert!(answered, "the port answers again although nobody has left");
    drop(strangers);
    daemon.wait_until("all records passed meanwhile", |daemon| daemon.records() >= 2000.0);
    let (summary, _) = daemon.finish();
    assert_eq!(summary["records"], 2000);
}

/// Requests that no client of good faith makes: each gets an answer or a closed connection, and the port lives on.
#[test]
fn hostile_requests_get_an_answer_and_no_more() {
    let dir = TempDir::new("ops-hostile");
    let daemon = Daemon::start(&dir, &format!("{RECORD_CLOCK}[ops]\ntoken = \"t0ken-of-the-port\"\n"));
    let long = "a".repeat(200_000);
    let many = "X: y\r\n".repeat(500);
    let host = format!("Host: {}\r\n", daemon.address);
    let bearer = "Authorization: Bearer t0ken-of-the-port\r\n";
    let requests = [
        format!("GET /{long} HTTP/1.1\r\n{host}\r\n"),
        format!("GET /metrics HTTP/1.1\r\n{host}X: {long}\r\n\r\n"),
        format!("GET /metrics HTTP/1.1\r\n{host}{many}\r\n"),
        format!("GET /../../etc/passwd HTTP/1.1\r\n{host}{bearer}\r\n"),
        format!("GET /%2e%2e/%00 HTTP/1.1\r\n{host}{bearer}\r\n"),
        format!("POST /reload HTTP/1.1\r\n{host}Content-Length: 99999999999\r\n\r\n"),
        format!(
            "POST /reload HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\nzz\r\n"
        ),
        format!("GET /metrics HTTP/1.1\r\n{host}Authorization: Bearer \u{1}\r\n\r\n"),
        format!("GET /metrics HTTP/1.1\r\n{host}Authorization: bearer t0ken-of-the-port \r\n\r\n"),
        format!("GET /tap?per_s=99999999999 HTTP/1.1\r\n{host}{bearer}Connection: close\r\n\r\n"),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
        "\0\0\0\0\r\n\r\n".to_owned(),
    ];
    for request in &requests {
        let mut stream = TcpStream::connect(&daemon.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        let _ = stream.write_all(request.as_bytes());
        let mut answer = [0; 64];
        let read = stream.read(&mut answer).unwrap_or(0);
        let answer = String::from_utf8_lossy(&answer[..read]).into_owned();
        assert!(!answer.contains(" 200 "), "{}: {answer}", &request[..request.len().min(80)]);
        assert_eq!(daemon.ask("GET", "/healthz", "").0, 200, "after {}", &request[..request.len().min(80)]);
    }
    assert_eq!(daemon.ask("GET", "/metrics", bearer).0, 200);
    assert!(!daemon.log.lock().unwrap().contains("panicked"), "{}", daemon.log.lock().unwrap());
}

/// A credential where none belongs: as sender, as an id, as a name. It is shown to nobody who looks at rejects.
#[test]
fn rejects_show_no_credential_wherever_it_stands() {
    let dir = TempDir::new("ops-credentials");
    let mut daemon = Daemon::start(&dir, &format!("{RECORD_CLOCK}[ops]\nrejects_per_s = 10000\n"));
    let secret = "sk-MARK0123456789";
    let records = [
        format!(
            r#"{{"protocol":"agh-network/v0","id":"1","kind":"say","from":"{secret}","proof":"{secret}"}}"#
        ),
        format!(
            r#"{{"protocol":"agh-network/v0","id":"{secret}","kind":"{secret}","from":"a","body":{{"x":"{secret}"}}}}"#
        ),
        format!(
            r#"{{"envelope":{{"security":{{"auth_token":["{secret}"]}}}},"message":{{"intent":"{secret}"}}}}"#
        ),
        format!(r#"{{"note":"{secret}"}}"#),
    ];
    daemon.feed((records.join("\n") + "\n").as_bytes());
    daemon.wait_until("they are sampled", |daemon| {
        let rejects: Value = serde_json::from_str(&daemon.get("/rejects")).unwrap();
        rejects["groups"].as_array().unwrap().len() >= records.len()
    });
    for path in ["/rejects", "/now", "/metrics", "/config"] {
        let shown = daemon.get(path);
        assert!(!shown.contains("MARK"), "{path}: {shown}");
    }
    assert!(!daemon.log.lock().unwrap().contains("MARK"));
}

/// Compiling rules takes a core: of many reloads at once, one works, and the others are told.
#[test]
fn many_reloads_at_once_are_one() {
    let dir = TempDir::new("ops-reloads");
    let daemon = Daemon::start(&dir, RECORD_CLOCK);
    let codes: Vec<u16> = std::thread::scope(|scope| {
        let asked: Vec<_> = (0..40).map(|_| scope.spawn(|| daemon.ask("POST", "/reload", "").0)).collect();
        asked.into_iter().map(|asked| asked.join().unwrap()).collect()
    });
    assert!(codes.contains(&200) && codes.contains(&409), "{codes:?}");
    assert!(codes.iter().all(|code| [200, 409].contains(code)), "{codes:?}");
    assert_eq!(daemon.ask("POST", "/reload", "").0, 200, "and then the next");
}
