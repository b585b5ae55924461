//! `tollgate sign`, as a user sees it: the vectors come out, only one member changes, keys stay hidden.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::cli::{TempDir, tollgate};

const MASTER: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const SECRET: &str = "test-session-secret-2026";

/// Exit code, standard output, standard error.
fn run(args: &[&str], input: &[u8], variables: &[(&str, &str)]) -> (i32, String, String) {
    let mut command = tollgate();
    command.arg("sign").args(args).envs(variables.iter().copied());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A command that refuses its arguments does not read; that is no failure of the test.
    let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), input);
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

fn vectors(file: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(file);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[derive(serde::Deserialize)]
struct Raw<'a> {
    #[serde(borrow)]
    envelope: &'a RawValue,
}

/// The envelope of the first vector of a scheme as it stands in the file, pretty-printed.
fn envelope(scheme: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/olympus-vectors.json");
    let text = fs::read_to_string(path).unwrap();
    let start = text.find(&format!("\"{scheme}\": [")).unwrap() + 7;
    let mut vectors = serde_json::Deserializer::from_str(&text[start..]).into_iter::<&RawValue>();
    let first: Raw<'_> = serde_json::from_str(vectors.next().unwrap().unwrap().get()).unwrap();
    first.envelope.get().to_owned()
}

const V1: &str = "5325ff5395b290c4270b5a0b908c67751fb2e06395922f50689d1128372ff2ef";
const V2: &str = "v2:1b9a5f1126aef95c0d62c988ebdfdc5d3fc5b543fdc4d3f622e80ad1bf12765c";

#[test]
fn the_vectors_come_out_and_nothing_else_changes() {
    let directory = TempDir::new("sign");
    let envelope = envelope("v1");
    assert!(envelope.contains('\n') && envelope.contains(V1));
    let broken = envelope.replace(V1, "");
    let secret = directory.write("secret", format!("{SECRET}\n"));
    let secret = secret.to_str().unwrap();
    let (code, signed, errors) = run(&["olympus-v1", "--key-file", secret], broken.as_bytes(), &[]);
    assert_eq!((code, signed.trim_end_matches('\n')), (0, envelope.as_str()), "{errors}");
    let key = [("MASTER", MASTER)];
    let second = crate::sign::envelope("v2");
    assert!(second.contains(V2));
    let unsigned = second.replace(V2, V1);
    let (code, signed, errors) = run(&["olympus-v2", "--key-env", "MASTER", "-"], unsigned.as_bytes(), &key);
    assert_eq!((code, signed.trim_end_matches('\n')), (0, second.as_str()), "{errors}");
    let file = directory.write("signed.json", &signed);
    let verify = ["olympus-v2", "--verify", "--key-env", "MASTER", file.to_str().unwrap()];
    let (code, text, _) = run(&verify, b"", &key);
    assert_eq!(code, 0, "{text}");
    assert!(text.ends_with("olympus-v2  valid\n"), "{text}");
    let (code, text, _) = run(&["olympus-v2", "--verify", "--key-env", "MASTER"], broken.as_bytes(), &key);
    assert_eq!((code, text.as_str()), (1, "-:1  olympus-v2  invalid: the signature is empty\n"));
    // Another scheme's signature is none of this one's, even if it verifies.
    let (code, text, _) = run(&["olympus-v1", "--verify", "--key-file", secret], signed.as_bytes(), &[]);
    assert_eq!(code, 1, "{text}");
}

#[test]
fn alfred_is_signed_by_master_and_by_an_agents_own_key() {
    let vector = vectors("alfred-vectors.json")["mac"][0].clone();
    let mut message = vector["message"].clone();
    message["envelope"]["security"].as_object_mut().unwrap().remove("signature");
    let (compact, master) = (message.to_string(), vector["master_key_hex"].as_str().unwrap());
    let (code, signed, errors) = run(&["alfred", "--key-env", "KEY"], compact.as_bytes(), &[("KEY", master)]);
    assert_eq!(code, 0, "{errors}");
    let signature = vector["mac_base64"].as_str().unwrap();
    let added = format!(",\"signature\":\"{signature}\"");
    assert_eq!(signed.trim_end_matches('\n').replace(&added, ""), compact);
    let key = [("KEY", vector["key_hex"].as_str().unwrap())];
    let (code, own, _) = run(&["alfred", "--agent-key", "--key-env", "KEY"], compact.as_bytes(), &key);
    assert_eq!((code, &own), (0, &signed), "the derived key, given as the agent's own, signs alike");
}

#[test]
fn many_envelopes_and_json() {
    let one = |session: &str| {
        let envelope: Value = serde_json::from_str(&envelope("v1")).unwrap();
        envelope
            .to_string()
            .replace("session-abc123", session)
            .replace("42}", "123456789012345678901234567890}")
    };
    let lines = format!("{}\n{}\n{{\"a\":1}}\n", one("s-1"), one("s-2"));
    let key = [("KEY", SECRET)];
    let (code, text, _) = run(&["olympus-v1", "--key-env", "KEY", "--json"], lines.as_bytes(), &key);
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((code, rows.len()), (1, 3), "{text}");
    assert_eq!(rows[0]["value"], rows[1]["value"], "v1 does not cover the session");
    assert!(text.contains("123456789012345678901234567890"), "no digit is lost");
    assert_eq!(rows[2]["error"], "/authentication: found nothing, allowed: a value");
    assert_eq!(rows[2]["source"], "-:3");
    let signed = rows[0]["envelope"]["authentication"]["signature"].as_str().unwrap();
    assert_eq!(rows[0]["value"], signed);
}

#[test]
fn agh_needs_no_key() {
    let capability = r#"{"body": {"capability": {"id":"review-fix","summary":"Review Fix Flow","outcome":"A reusable review fix workflow.","version":"1.0.0","execution_outline":["Inspect the issue","Draft the fix"],"requirements":["workspace-write"]}}}"#;
    let (code, signed, errors) = run(&["agh-capability"], capability.as_bytes(), &[]);
    let digest = "sha256:edb42ce4ca23d905aeeba399001ca6d23420610775ba41ef66e90f47f14dba0d";
    let expected = capability.replace("]}}}", &format!("],\"digest\":\"{digest}\"}}}}}}"));
    assert_eq!((code, signed.trim_end_matches('\n')), (0, expected.as_str()), "{errors}");
    assert_eq!(run(&["agh-capability", "--verify"], signed.as_bytes(), &[]).0, 0);
    let wrong = signed.replace("Draft", "draft");
    let (code, text, _) = run(&["agh-capability", "--verify", "--json"], wrong.as_bytes(), &[]);
    assert_eq!(code, 1);
    let row: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&row["ok"], &row["error"]),
        (&false.into(), &"found another value at /body/capability/digest".into())
    );
    let direct = r#"{"workspace_id":"wks_test","channel":"builders","from":"reviewer.sess-xyz","to":"coder.sess-abc","direct_id":null}"#;
    let (code, signed, errors) = run(&["agh-direct-id"], direct.as_bytes(), &[]);
    let expected = direct.replace("null", "\"direct_fd3aece517c733f67bb4f4c6505a66dc\"");
    assert_eq!((code, signed.trim_end_matches('\n')), (0, expected.as_str()), "{errors}");
}

#[test]
fn errors_are_clear_and_keys_stay_hidden() {
    let envelope = envelope("v1");
    let secret = "a-secret-that-nobody-may-see";
    let key = [("KEY", secret)];
    for (args, expected) in [
        (vec!["olympus-v1"], "olympus-v1 needs a key: give --key-file FILE or --key-env NAME"),
        (vec!["olympus-v1", "--key-file", "/no/such/file"], "key file /no/such/file: No such file"),
        (vec!["olympus-v1", "--key-env", "NO_SUCH"], "environment variable NO_SUCH: found nothing"),
        (vec!["olympus-v2", "--key-env", "KEY"], "environment variable KEY: found something else at digit"),
        (
            vec!["olympus-v2", "--key-env", "KEY", "--key-encoding", "text"],
            "KEY: found 28 bytes, allowed: 32 bytes",
        ),
        (
            vec!["olympus-v1", "--key-env", "KEY", "--agent-key"],
            "--agent-key: found the scheme olympus-v1, allowed: alfred",
        ),
        (vec!["olympus-v1", "--key-env", "KEY", "--key-file", "x"], "cannot be used with"),
        (vec!["olympus-v3", "--key-env", "KEY"], "olympus-v1, olympus-v2, alfred"),
    ] {
        let (code, out, errors) = run(&args, envelope.as_bytes(), &key);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?} {errors}");
        assert!(errors.contains(expected) && !errors.contains(secret), "{args:?} {errors}");
    }
    let duplicate = envelope.replacen("\"priority\"", "\"task\"", 1);
    for (input, expected) in [
        (duplicate.as_str(), "found a name twice at /protocol_message/payload/task"),
        ("{\"a\":", "not a JSON document"),
        ("[[1]]", "found nothing"),
    ] {
        let (code, out, errors) = run(&["olympus-v1", "--key-env", "KEY"], input.as_bytes(), &key);
        assert_eq!((code, out.as_str()), (1, ""), "{errors}");
        assert!(errors.contains(expected) && !errors.contains(secret), "{errors}");
    }
    let (code, _, errors) = run(&["olympus-v1", "--key-env", "KEY"], b"", &key);
    assert_eq!(code, 2);
    assert!(errors.contains("no envelope to sign"), "{errors}");
}
