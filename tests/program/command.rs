//! `tollgate schema` as a library: what it prints, and what it returns.

use std::fs;

use serde_json::Value;
use tollgate::commands::schema::{CheckArguments, SchemaArguments, check, compile};

/// A directory of its own for a test, removed at the end.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tollgate-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, text: &str) -> std::path::PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn documents_are_checked_line_by_line_and_errors_go_on() {
    let folder = Folder::new("check");
    let schema = folder
        .file("s.json", r#"{"required":["a"],"properties":{"a":{"$ref":"http://x/defs/number.json"}}}"#);
    folder.file("maps/number.json", r#"{"type":"number"}"#);
    let documents = folder.file("d.ndjson", "{\"a\":1}\n\nnot json\n{\"a\":\"x\"}\n{}\n");
    let array = folder.file("d.json", "[{\"a\":1},\n {\"a\":null}]");
    let arguments = CheckArguments {
        schema: SchemaArguments {
            schema,
            maps: vec![("http://x/defs/".into(), folder.0.join("maps"))],
            ..Default::default()
        },
        documents: vec![documents, array.clone()],
        whole_documents: vec![array],
        json: true,
    };
    let mut out = Vec::new();
    assert!(!check(&arguments, &mut out).unwrap());
    let lines: Vec<Value> =
        String::from_utf8(out).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let valid: Vec<bool> = lines.iter().map(|line| line["valid"].as_bool().unwrap()).collect();
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
}

#[test]
fn a_program_can_be_listed() {
    let folder = Folder::new("list");
    let schema = folder.file("s.json", include_str!("../../configs/schemas/olympus.json"));
    let mut out = Vec::new();
    compile(&SchemaArguments { schema, ..Default::default() }, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    for part in ["blocks", "required \"envelope\"", "no other names", "EnumStrings", "of format date-time"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let bad = folder.file("bad.json", r#"{"type":"x"}"#);
    let error = compile(&SchemaArguments { schema: bad, ..Default::default() }, &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("/type"), "{error}");
}
