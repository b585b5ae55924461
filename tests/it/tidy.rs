//! Rules of the code that a machine can check, in plain std.

use std::fs;
use std::path::{Path, PathBuf};

/// A recipe is read in one go.
const RECIPE_LINES_MAX: usize = 200;
/// Past this, two things live in one file.
const FILE_LINES_MAX: usize = 600;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(dir: &str) -> Vec<(String, String)> {
    fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&root().join(dir), &mut found);
    found.sort();
    assert!(!found.is_empty(), "{dir} has Rust files");
    let name = |path: &Path| path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
    found.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

/// The module that a file belongs to: `src/judge/mod.rs` and `src/tape.rs` give `judge` and `tape`.
fn module_of(file: &str) -> &str {
    file.strip_prefix("src/").and_then(|file| file.split(['/', '.']).next()).unwrap()
}

#[test]
fn every_file_says_what_it_is_for() {
    for dir in ["src", "tests", "benches"] {
        for (file, text) in rust_files(dir) {
            assert!(text.starts_with("//!") || text.starts_with("#!["), "{file} opens with what it is for");
        }
    }
}

#[test]
fn files_and_recipes_stay_short() {
    for (file, text) in rust_files("src") {
        let lines = text.lines().count();
        assert!(lines <= FILE_LINES_MAX, "{file} has {lines} lines, at most {FILE_LINES_MAX}");
    }
    for (file, recipe, stages) in [
        ("src/pipeline/mod.rs", "pub fn run<", ["reader", "worker", "gate", "writer"].as_slice()),
        (
            "src/judge/mod.rs",
            "fn walk<",
            ["admit", "parse", "identify", "shape", "meaning", "credentials"].as_slice(),
        ),
    ] {
        let text = fs::read_to_string(root().join(file)).unwrap();
        let lines = text.lines().count();
        assert!(lines <= RECIPE_LINES_MAX, "{file} has {lines} lines, at most {RECIPE_LINES_MAX}");
        let body = text.split_once(recipe).unwrap_or_else(|| panic!("{file} has {recipe}")).1;
        let body = body.split("\nfn ").next().unwrap();
        for stage in stages {
            assert!(body.contains(stage), "the recipe in {file} names {stage}");
        }
        let tour = fs::read_to_string(root().join("src/lib.rs")).unwrap();
        assert!(tour.contains(file.strip_prefix("src/").unwrap()), "lib.rs points to {file}");
    }
}

#[test]
fn modules_use_only_those_below_them() {
    let tour = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let order: Vec<&str> =
        tour.lines().filter_map(|line| line.strip_prefix("//! - [`")?.split('`').next()).collect();
    let place = |module: &str| {
        order.iter().position(|listed| *listed == module).unwrap_or_else(|| panic!("lib.rs lists {module}"))
    };
    for (file, text) in rust_files("src") {
        let module = module_of(&file);
        if matches!(module, "main" | "lib") {
            continue;
        }
        for used in text.split("crate::").skip(1) {
            let used: String = used.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if order.contains(&used.as_str()) {
                assert!(
                    place(&used) >= place(module),
                    "{file} uses {used}, which stands above {module} in lib.rs"
                );
            }
        }
    }
}

#[test]
fn unsafe_and_foreign_libraries_have_one_home_each() {
    for (file, text) in rust_files("src") {
        let code =
            text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
        let in_raw = file.starts_with("src/kafka/raw/");
        assert!(
            in_raw || !code.contains("unsafe ") || code.contains("unsafe_code"),
            "{file} has unsafe code"
        );
        assert!(file.starts_with("src/kafka/") || !code.contains("rdkafka::"), "{file} names rdkafka");
        for runtime in ["tokio::", "axum::"] {
            assert!(file.starts_with("src/ops/") || !code.contains(runtime), "{file} names {runtime}");
        }
        assert!(file.starts_with("src/tape") || !code.contains("simd_json::"), "{file} names simd-json");
        for left_over in ["todo!(", "unimplemented!(", "dbg!(", "FIXME", "XXX"] {
            assert!(!text.contains(left_over), "{file} has {left_over}");
        }
        for vague in ["utils", "helpers", "common", "manager", "types"] {
            assert!(!file.contains(vague), "{file}: `{vague}` names nothing");
        }
    }
}

#[test]
fn the_top_level_is_tidy() {
    let allowed = [
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "Cargo.lock",
        "Cargo.toml",
        "LICENSE",
        "README.md",
        "benches",
        "configs",
        "flamegraphs",
        "scripts",
        "src",
        "target",
        "tests",
    ];
    for entry in fs::read_dir(root()).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        assert!(
            name.starts_with('.') || allowed.contains(&name.as_str()),
            "{name} does not belong to the top level"
        );
    }
    for needed in ["Cargo.toml", "src", "benches", "configs", "scripts", "tests", "flamegraphs"] {
        assert!(root().join(needed).exists(), "{needed} is there");
    }
}

/// Which test holds what is a table in CONTRIBUTING.md; a test that was renamed, or lost in a merge, is missed here.
#[test]
fn tests_that_are_promised_exist() {
    let files: String =
        ["src", "tests"].iter().flat_map(|dir| rust_files(dir)).map(|(_, text)| text).collect();
    let contributing = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    // What is written in one word of several parts is a function; a key of the configuration has a section before it.
    let names = contributing.split('`').skip(1).step_by(2).filter(|name| {
        name.matches('_').count() >= 2 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    });
    let mut count = 0;
    for name in names {
        assert!(
            files.contains(&format!("fn {name}(")),
            "CONTRIBUTING.md promises {name}, and nothing has that name"
        );
        count += 1;
    }
    assert!(count > 50, "{count} names were found");
}

/// Every reason, key and command that the documents promise exists; the tables are compared where they are made.
#[test]
fn every_dependency_is_used() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let section = manifest.split("[dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
    let sources: String = rust_files("src").into_iter().map(|(_, text)| text).collect();
    for line in section.lines().filter(|line| line.contains(" = ")) {
        let name = line.split(" = ").next().unwrap().replace('-', "_");
        let used = ["::", " as ", ";"].iter().any(|tail| sources.contains(&format!("{name}{tail}")));
        assert!(used, "{name} is in Cargo.toml and nowhere in src");
    }
}
