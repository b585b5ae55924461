//! Schemas of up to 64 KB and documents of up to 1 MB that are made to be slow: compiling and checking take at most a
//! second in a release build, whoever listens.
//!
//! Without optimisation documents and `steps_max` are smaller, since the point of those builds is that nothing panics.
//! Times are printed; `cargo test --release --test program adversaries -- --nocapture` shows them.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate::program::{Failure, Limits, Observer, Options, Program, Scratch};
use tollgate::tape::Parser;

const SCHEMA_BYTES_MAX: usize = 64 << 10;
const DOCUMENT_BYTES: usize = if cfg!(debug_assertions) { 20_000 } else { 1_000_000 };
const TIME_MAX: Duration = Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 1 });
const STEPS_MAX: u64 = if cfg!(debug_assertions) { 200_000 } else { 20_000_000 };
/// Stack of a thread that nobody configured; frames are larger without optimisation.
const STACK_BYTES: usize = if cfg!(debug_assertions) { 16 << 20 } else { 2 << 20 };

/// The processor's time of this thread where the system tells it, so that a busy machine fails no test; else the wall's.
struct Clock(Instant, Option<Duration>);

impl Clock {
    fn start() -> Self {
        Self(Instant::now(), Self::on_processor())
    }

    fn elapsed(&self) -> Duration {
        match (self.1, Self::on_processor()) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            _ => self.0.elapsed(),
        }
    }

    fn on_processor() -> Option<Duration> {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
    }
}

/// Counts failures and wants them all.
#[derive(Default)]
struct Count(usize);

impl Observer for Count {
    fn failed(&mut self, _: Failure) -> ControlFlow<()> {
        self.0 += 1;
        ControlFlow::Continue(())
    }
}

/// Compiles and checks within the time; says how long it took.
pub(crate) fn check(name: &str, schema: &str, document: &str) {
    assert!(schema.len() <= SCHEMA_BYTES_MAX, "{name}: the schema has {} bytes", schema.len());
    assert!(document.len() <= 1 << 20, "{name}: the document has {} bytes", document.len());
    let (schema, document) = (schema.to_owned(), document.to_owned());
    let run = move || {
        let start = Clock::start();
        let limits = Limits { steps_max: STEPS_MAX, ..Limits::default() };
        let program = Program::compile(&schema, "adversary.json", &Options { limits, ..Options::default() });
        let compiled = start.elapsed();
        let program = match program {
            Ok(program) => program,
            Err(error) => {
                return (compiled, Duration::ZERO, Duration::ZERO, format!("refused: {}", error.problem));
            }
        };
        Parser::new(1024).parse(document.as_bytes(), |tape| {
            let (tape, mut scratch, mut count) = (tape.unwrap(), Scratch::default(), Count::default());
            let start = Clock::start();
            let valid = program.accepts(tape, &mut scratch);
            let silent = start.elapsed();
            program.execute(tape, &mut scratch, &mut count);
            (
                compiled,
                silent,
                start.elapsed().saturating_sub(silent),
                format!("valid {valid}, {} failures", count.0),
            )
        })
    };
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(run).unwrap();
    let (compiled, silent, reporting, outcome) = thread.join().unwrap();
    let outcome: String = outcome.chars().take(100).collect();
    println!("{name}: compiled in {compiled:?}, silent {silent:?}, reporting {reporting:?}; {outcome}");
    for taken in [compiled, silent, reporting] {
        assert!(
            taken < TIME_MAX,
            "{name}: compiled in {compiled:?}, silent {silent:?}, reporting {reporting:?}"
        );
    }
}

/// Items, repeated until they fill a document.
fn array_of(item: &str) -> String {
    let count = DOCUMENT_BYTES / (item.len() + 1);
    format!("[{}]", vec![item; count].join(","))
}

/// `count` parts, made from their number, joined.
pub(crate) fn parts(count: usize, make: impl Fn(usize) -> String) -> String {
    (0..count).map(make).collect::<Vec<_>>().join(",")
}

/// A string that fills a document.
fn long_string(part: &str) -> String {
    json!(part.repeat(DOCUMENT_BYTES / part.len())).to_string()
}

fn object_of(count: usize) -> String {
    format!("{{{}}}", parts(count, |number| format!(r#""n{number}":{number}"#)))
}

#[test]
fn trees_of_branches() {
    // Thirty levels of two branches each: a thousand million ways, all of which fail at the end.
    for keyword in ["anyOf", "oneOf", "allOf"] {
        let levels = parts(30, |level| {
            let next = format!(r##"{{"$ref":"#/$defs/l{}"}}"##, level + 1);
            format!(r#""l{level}":{{"{keyword}":[{next},{next}]}}"#)
        });
        let schema = format!(r##"{{"$ref":"#/$defs/l0","$defs":{{{levels},"l30":{{"type":"null"}}}}}}"##);
        check(&format!("tree of {keyword}"), &schema, "1");
        check(
            &format!("tree of {keyword} on items"),
            &schema.replace(r##"{"$ref":"#/$defs/l0","##, r##"{"items":{"$ref":"#/$defs/l0"},"##),
            &array_of("1"),
        );
    }
    let branches = parts(1500, |number| format!(r#"{{"required":["n{number}"]}}"#));
    check(
        "wide oneOf",
        &format!(r#"{{"items":{{"oneOf":[{branches}]}}}}"#),
        &array_of(r#"{"n1499":1,"n1":2}"#),
    );
    let conditions = parts(600, |number| {
        format!(
            r#"{{"if":{{"required":["n{number}"]}},"then":{{"minProperties":9}},"else":{{"maxProperties":9}}}}"#
        )
    });
    check("many conditions", &format!(r#"{{"items":{{"allOf":[{conditions}]}}}}"#), &array_of(r#"{"n5":1}"#));
    let nots = format!("{}{{}}{}", r#"{"not":"#.repeat(100), "}".repeat(100));
    check("nested not", &format!(r#"{{"items":{nots}}}"#), &array_of("1"));
}

#[test]
fn large_values_in_enum_and_const() {
    let numbers = parts(9000, |number| format!("{number}.5"));
    check("numbers", &format!(r#"{{"items":{{"enum":[{numbers}]}}}}"#), &array_of("1"));
    let texts = parts(4000, |number| format!(r#""text-{number}""#));
    check("strings", &format!(r#"{{"items":{{"enum":[{texts}]}}}}"#), &array_of(r#""text-3999x""#));
    let mixed = parts(4000, |number| format!(r#"{{"a":{number}}}"#));
    check("objects", &format!(r#"{{"items":{{"enum":[{mixed}]}}}}"#), &array_of(r#"{"a":-1}"#));
    // Equal but for the last member, and in the opposite order.
    let large = object_of(4000);
    let reversed =
        parts(4000, |number| format!(r#""n{0}":{0}"#, 3999 - number)).replace(r#""n0":0"#, r#""n0":1"#);
    check(
        "a large object",
        &format!(r#"{{"items":{{"const":{large}}}}}"#),
        &array_of(&format!("{{{reversed}}}")),
    );
    let enumeration = format!("[{large},1]");
    check(
        "a large object in an enum",
        &format!(r#"{{"items":{{"enum":{enumeration}}}}}"#),
        &array_of(&format!("{{{reversed}}}")),
    );
    let array = format!("[{}]", parts(12_000, |_| "1".to_owned()));
    check(
        "arrays",
        &format!(r#"{{"items":{{"enum":[{array},{array}]}}}}"#),
        &array_of(&array.replace("1]", "2]")),
    );
    let digits = "9".repeat(60_000);
    check("a long number", &format!(r#"{{"items":{{"const":{digits}}}}}"#), "[1]");
    check(
        "long numbers in the document",
        r#"{"items":{"multipleOf":0.1,"maximum":1e300}}"#,
        &array_of(&digits),
    );
    check("far exponents", r#"{"items":{"multipleOf":1e-300}}"#, &array_of("1e300"));
    check("near zero", r#"{"items":{"multipleOf":3e300}}"#, &array_of("1e-300"));
}

#[test]
fn unique_items_and_contains() {
    check(
        "equal hashes",
        r#"{"uniqueItems":true}"#,
        &format!("[{}]", parts(DOCUMENT_BYTES / 8, |number| number.to_string())),
    );
    let objects =
        format!("[{}]", parts(DOCUMENT_BYTES / 40, |number| format!(r#"{{"a":{{"b":[{number},1,2]}}}}"#)));
    check("unique objects", r#"{"uniqueItems":true,"items":{"uniqueItems":true}}"#, &objects);
    let large = object_of(DOCUMENT_BYTES / 60);
    check(
        "two large objects",
        r#"{"uniqueItems":true}"#,
        &format!("[{large},{}]", large.replace(":0,", ":-1,")),
    );
    let nested = format!("{}1{}", "[".repeat(500), "]".repeat(500));
    check("nested unique", r##"{"uniqueItems":true,"items":{"$ref":"#"}}"##, &array_of(&nested));
    let contains = parts(1200, |number| format!(r#"{{"contains":{{"const":{number}}},"minContains":0}}"#));
    check("many contains", &format!(r#"{{"allOf":[{contains}]}}"#), &array_of("-1"));
    check(
        "nested contains",
        r##"{"contains":{"$ref":"#"},"not":{"contains":{"type":"string"}}}"##,
        &array_of(&nested),
    );
}

#[test]
fn patterns() {
    for (name, pattern) in [
        ("repeated repetition", "^((a{1,50}){1,50}){1,50}$"),
        ("nested stars", "^(a*)*b$"),
        ("alternatives", "^(a|aa|aaa)+b$"),
        ("classes", r"^(\p{L}|\p{N}|[^\u0000-\u00ff]){1,20}$"),
        ("long repetition", "^[a-z]{1000}$"),
        ("huge repetition", "a{100000}"),
        ("word boundaries", r"(\ba\b|\Ba\B){20}"),
    ] {
        check(name, &json!({"pattern": pattern}).to_string(), &long_string("a"));
    }
    let many = parts(1500, |number| format!(r#"{{"pattern":"^[a-c]*{number}x[d-f]*$"}}"#));
    check("many patterns", &format!(r#"{{"items":{{"allOf":[{many}]}}}}"#), &array_of(r#""abcabcabc12x""#));
    let many = parts(1000, |number| format!(r#""^.*{number}.?x":{{"type":"null"}}"#));
    let members = format!("{{{}}}", parts(DOCUMENT_BYTES / 24, |number| format!(r#""member-{number}":1"#)));
    check("patternProperties × members", &format!(r#"{{"patternProperties":{{{many}}}}}"#), &members);
    let long = format!("{{{}:1}}", long_string("x"));
    check("patternProperties × a long name", &format!(r#"{{"patternProperties":{{{many}}}}}"#), &long);
    let costly = parts(120, |number| format!(r#"{{"pattern":"(a|b|c|d|{number}){{1,30}}x(y|z){{1,30}}$"}}"#));
    check("patterns that are costly to build", &format!(r#"{{"allOf":[{costly}]}}"#), &long_string("a"));
    let classes = parts(400, |number| format!(r#"{{"pattern":"\\p{{L}}{{3}}{number}\\p{{N}}"}}"#));
    check("Unicode classes", &format!(r#"{{"anyOf":[{classes}]}}"#), &long_string("ä"));
}

#[test]
fn formats_on_long_texts() {
    let parts = [
        "a", "1", ".", ":", "a.", "a@", "%41", "{a}", "/~0", "(", "(a)", "[a]", r"\p{L}", "(?:a|b)", "a{9}",
        "1:", "P1D", "[\\w-z]", "\"a\"@", "a|", "\\u{61}", "(?<a>", "[^", "é.", "xn--a.", "::", "1e",
    ];
    let formats = [
        "date-time",
        "date",
        "time",
        "duration",
        "uuid",
        "uri",
        "uri-reference",
        "iri",
        "iri-reference",
        "uri-template",
        "email",
        "idn-email",
        "hostname",
        "ipv4",
        "ipv6",
        "json-pointer",
        "relative-json-pointer",
        "regex",
    ];
    for format in formats {
        for part in parts {
            let schema = json!({"format": format}).to_string();
            let program = Program::compile(&schema, "format.json", &Options::default()).unwrap();
            let document = long_string(part);
            let start = Clock::start();
            Parser::new(8)
                .parse(document.as_bytes(), |tape| program.accepts(tape.unwrap(), &mut Scratch::default()));
            let taken = start.elapsed();
            assert!(taken < TIME_MAX, "{format} takes {taken:?} on {part:?} repeated");
        }
        check(
            &format!("many of {format}"),
            &json!({"items": {"format": format}}).to_string(),
            &array_of(r#""(a{9}){9}""#),
        );
    }
}

#[test]
fn many_names() {
    let members = object_of(DOCUMENT_BYTES / 16);
    check("open", "{}", &members);
    let known = parts(3000, |number| format!(r#""n{number}":{{"minimum":1}}"#));
    check("known names", &format!(r#"{{"properties":{{{known}}},"additionalProperties":false}}"#), &members);
    let required = parts(6000, |number| format!(r#""n{number}""#));
    check(
        "dependentRequired",
        &format!(r#"{{"items":{{"dependentRequired":{{"a":[{required}]}}}}}}"#),
        &array_of(r#"{"a":1}"#),
    );
    check(
        "propertyNames",
        r#"{"propertyNames":{"anyOf":[{"pattern":"^x"},{"maxLength":1},{"format":"uuid"}]}}"#,
        &members,
    );
    let twice = format!("[{}]", vec![object_of(50); DOCUMENT_BYTES / 500].join(","));
    check("duplicates among many", r#"{"items":{"minProperties":60}}"#, &twice);
}

#[test]
fn unevaluated() {
    let members = object_of(DOCUMENT_BYTES / 16);
    let all =
        parts(900, |number| format!(r#"{{"properties":{{"n{number}":true}},"unevaluatedProperties":true}}"#));
    check(
        "many unevaluatedProperties",
        &format!(r#"{{"allOf":[{all}],"unevaluatedProperties":false}}"#),
        &members,
    );
    let nested = |depth: usize, keyword: &str| {
        format!(r"{}{{}}{}", format!(r#"{{"{keyword}":true,"allOf":["#).repeat(depth), "]}".repeat(depth))
    };
    check("nested unevaluatedProperties", &nested(60, "unevaluatedProperties"), &members);
    check("nested unevaluatedItems", &nested(60, "unevaluatedItems"), &array_of("1"));
    let any = parts(1000, |number| format!(r#"{{"patternProperties":{{"{number}":true}}}}"#));
    check(
        "anyOf with notes",
        &format!(r#"{{"anyOf":[{any}],"unevaluatedProperties":{{"type":"string"}}}}"#),
        &members,
    );
    let items = parts(1500, |number| format!(r#"{{"contains":{{"const":{number}}},"minContains":0}}"#));
    check(
        "contains with notes",
        &format!(r#"{{"allOf":[{items}],"unevaluatedItems":false}}"#),
        &array_of("1"),
    );
    let chain = parts(300, |level| {
        format!(r##""l{level}":{{"$ref":"#/$defs/l{}","unevaluatedProperties":true}}"##, level + 1)
    });
    let schema =
        format!(r##"{{"$ref":"#/$defs/l0","$defs":{{{chain},"l300":{{"properties":{{"n1":true}}}}}}}}"##);
    check("a chain with notes", &schema, &members);
}

#[test]
fn references() {
    let chain = parts(1800, |level| format!(r##""l{level}":{{"$ref":"#/$defs/l{}"}}"##, level + 1));
    let schema =
        format!(r##"{{"items":{{"$ref":"#/$defs/l0"}},"$defs":{{{chain},"l1800":{{"type":"null"}}}}}}"##);
    check("a chain of references", &schema, &array_of("1"));
    let resources = parts(500, |level| {
        format!(
            r#""l{level}":{{"$id":"r{level}","$ref":"r{}","$defs":{{"x":{{"$dynamicAnchor":"n"}}}}}}"#,
            level + 1
        )
    });
    let schema = format!(
        r##"{{"$id":"http://a/","items":{{"$ref":"r0"}},"$defs":{{{resources},"end":{{"$id":"r500","$dynamicRef":"#n","$defs":{{"x":{{"$dynamicAnchor":"n","type":"null"}}}}}}}}}}"##
    );
    check("a chain of resources", &schema, &array_of("1"));
    // Each resource is found only through the anchor of the one before.
    let found = parts(500, |level| {
        format!(
            r##""r{level}":{{"$id":"r{level}","$defs":{{"x":{{"$dynamicAnchor":"n","not":{{"$ref":"r{}#/$defs/y"}}}},"y":{{"not":{{"$dynamicRef":"#n"}}}}}}}}"##,
            level + 1
        )
    });
    let schema = format!(
        r#"{{"$id":"http://a/","items":{{"$ref":"r0#/$defs/y"}},"$defs":{{{found},"end":{{"$id":"r500","$defs":{{"y":{{"type":"null"}}}}}}}}}}"#
    );
    check("dynamic anchors found one by one", &schema, "[1]");
    let tree = r##"{"anyOf":[{"type":"integer"},{"type":"array","items":{"$ref":"#"}},{"type":"array","items":{"$ref":"#"}}]}"##;
    check("recursion with two ways", tree, &format!("{}\"x\"{}", "[".repeat(60), "]".repeat(60)));
    let names = Value::from("a/".repeat(20_000)).to_string();
    check("a long reference", &format!(r#"{{"$ref":{names}}}"#), "1");
    let long = format!("../{}", "../".repeat(10_000));
    check("a long identifier", &json!({"$id": long, "$ref": format!("{long}x")}).to_string(), "1");
}

/// Work beside the ops themselves has to be paid for as well.
#[test]
fn work_beside_the_ops() {
    // A report prepares a place for every known name of every object, however empty the object is.
    let known = parts(3000, |number| format!(r#""n{number}":{{"minimum":1}}"#));
    check(
        "known names × empty objects",
        &format!(r#"{{"items":{{"properties":{{{known}}}}},"not":{{}}}}"#),
        &array_of("{}"),
    );
    // There could be two thousand million failures.
    let required = parts(6000, |number| format!(r#""n{number}""#));
    check(
        "required × empty objects",
        &format!(r#"{{"items":{{"required":[{required}]}}}}"#),
        &array_of("{}"),
    );
    // A report sorts the members of one object again for each schema.
    let members = object_of(DOCUMENT_BYTES / 16);
    let dependent = parts(2300, |number| format!(r#""n{number}":{{"required":["x"]}}"#));
    check("dependentSchemas", &format!(r#"{{"dependentSchemas":{{{dependent}}}}}"#), &members);
    // Items are hashed and sorted again for each schema.
    let all = parts(2000, |_| r#"{"uniqueItems":true}"#.to_owned());
    check("many times unique", &format!(r#"{{"allOf":[{all}]}}"#), &array_of("[]").replacen("[]", "1", 1));
    // No scope on the way defines the anchor, but many resources elsewhere do.
    let plain = parts(400, |level| format!(r#""p{level}":{{"$id":"p{level}","$ref":"p{}"}}"#, level + 1));
    let anchored = parts(400, |number| format!(r#""q{number}":{{"$id":"q{number}","$dynamicAnchor":"n"}}"#));
    let used = parts(400, |number| format!(r#""q{number}":{{"$ref":"q{number}"}}"#));
    let schema = format!(
        r##"{{"$id":"http://a/","items":{{"$ref":"p0"}},"properties":{{{used}}},"$defs":{{{plain},{anchored},"end":{{"$id":"p400","$dynamicRef":"#m","$defs":{{"x":{{"$dynamicAnchor":"m","$dynamicRef":"end#n"}}}}}},"z":{{"$id":"end","$dynamicAnchor":"n"}}}}}}"##
    );
    check("dynamic references far from their anchors", &schema, &array_of("1"));
}

/// Digits are looked up in the payload and compared one by one, which has to be paid for as well.
#[test]
fn numbers_of_many_digits() {
    let digits = "7".repeat(DOCUMENT_BYTES);
    let bounds = parts(2000, |_| r#"{"minimum":1e400}"#.to_owned());
    check("bounds × one long number", &format!(r#"{{"allOf":[{bounds}]}}"#), &digits);
    let values = parts(6000, |number| format!("{number}e400"));
    check("enum × one long number", &format!(r#"{{"enum":[{values}]}}"#), &digits);
    let divisors = parts(900, |number| format!(r#"{{"multipleOf":{}}}"#, (1_u128 << 126) + number as u128));
    check("multipleOf × one long number", &format!(r#"{{"anyOf":[{divisors}]}}"#), &digits);
    check(
        "multipleOf × far exponents",
        r#"{"items":{"multipleOf":7.3e-999999999}}"#,
        &array_of("1e999999999"),
    );
    check("bounds × far exponents", r#"{"items":{"maximum":1e999999999}}"#, &array_of("1e999999999"));
    check("bounds × numbers on the bound", r#"{"items":{"maximum":1}}"#, &array_of("1.0"));
    check("unique doubles", r#"{"uniqueItems":true}"#, &array_of("1e400").replacen("1e400", "1e401", 1));
    let many = format!("[{}]", parts(DOCUMENT_BYTES / 20, |number| format!("{number}.00000000001")));
    check("unique decimals", r#"{"uniqueItems":true}"#, &many);
    let inexact = parts(2000, |number| format!("0.1000000000000000000{number}"));
    check("inexact numbers in a schema", &format!(r#"{{"enum":[{inexact}]}}"#), "0.1");
}

/// Pairs that multiply branches, names, patterns and notes.
#[test]
fn products() {
    let chain = parts(700, |number| {
        format!(r##""d{number}":{{"anyOf":[{{"$ref":"#/$defs/d{}"}},{{"type":"null"}}]}}"##, number + 1)
    });
    check(
        "references with branches × items",
        &format!(r##"{{"items":{{"$ref":"#/$defs/d0"}},"$defs":{{{chain},"d700":{{"type":"string"}}}}}}"##),
        &array_of("1"),
    );
    let patterns = parts(1200, |number| format!(r#""^n.*{number}$":{{"minimum":1}}"#));
    check(
        "patternProperties × names",
        &format!(r#"{{"patternProperties":{{{patterns}}}}}"#),
        &object_of(DOCUMENT_BYTES / 16),
    );
    let branches = parts(900, |number| format!(r#"{{"properties":{{"n{number}":true,"m{number}":{{}}}}}}"#));
    check(
        "unevaluatedProperties under branches",
        &format!(r#"{{"anyOf":[{branches}],"unevaluatedProperties":{{"type":"null"}}}}"#),
        &object_of(DOCUMENT_BYTES / 16),
    );
    let contains = parts(900, |number| {
        format!(r#"{{"contains":{{"const":{number}}},"minContains":0,"maxContains":3}}"#)
    });
    check("contains × items", &format!(r#"{{"allOf":[{contains}]}}"#), &array_of("1"));
    check(
        "propertyNames with a counted pattern",
        r#"{"propertyNames":{"pattern":"^([a-z]{1,20}[0-9]{0,20}){1,8}$"}}"#,
        &object_of(DOCUMENT_BYTES / 16),
    );
}

/// A schema that asks `leaf` of the same value a million times.
fn asked_again(leaf: &str) -> String {
    let levels = parts(20, |level| {
        let below = format!(r##"{{"$ref":"#/$defs/l{level}"}}"##);
        format!(r#""l{}":{{"allOf":[{below},{below}]}}"#, level + 1)
    });
    format!(r##"{{"$ref":"#/$defs/l20","$defs":{{"l0":{leaf},{levels}}}}}"##)
}

#[test]
fn one_value_that_is_checked_again_and_again() {
    let half = DOCUMENT_BYTES / 2;
    for (name, leaf, document) in [
        ("uri", r#"{"items":{"format":"uri"}}"#, format!(r#"["a:{}"]"#, "a".repeat(half))),
        ("regex", r#"{"items":{"format":"regex"}}"#, format!(r#"["{}"]"#, "(a)*".repeat(half / 4))),
        ("minLength", r#"{"items":{"minLength":490}}"#, format!(r#"["{}"]"#, "é".repeat(495))),
        (
            "pattern",
            r#"{"properties":{"s":{"pattern":"a.*b|^a*$"}}}"#,
            format!(r#"{{"s":"{}"}}"#, "a".repeat(half)),
        ),
        ("short pattern", r#"{"items":{"pattern":"a.*b|^a*$"}}"#, array_of(r#""aaaaaaaaaaaaaaa""#)),
        ("multipleOf", r#"{"multipleOf":12345678901234567890123456789012345677}"#, "9".repeat(half)),
        ("integer", r#"{"type":"integer"}"#, format!("1.{}", "0".repeat(half))),
        ("dependentRequired", r#"{"dependentRequired":{"a":["b"]}}"#, object_of(half / 16)),
    ] {
        check(&format!("{name}, again"), &asked_again(leaf), &document);
    }
    let large = object_of(3000);
    check("a large const, again", &asked_again(&format!(r#"{{"const":{large}}}"#)), &large);
    let name = "n".repeat(30_000);
    let members = parts(DOCUMENT_BYTES / 30_000, |number| format!(r#""{name}{number:02}":1"#));
    check(
        "long names, again",
        &asked_again(&format!(r#"{{"dependentRequired":{{"{name}zz":["a"]}}}}"#)),
        &format!("{{{members}}}"),
    );
}

#[test]
fn texts_of_the_schema_that_are_hard_to_tell_apart() {
    let alike = parts(2000, |number| format!(r#""abcdefghabcdefgh{number:03x}abcdefgh""#));
    check(
        "equal ends",
        &format!(r#"{{"items":{{"enum":[{alike}]}}}}"#),
        &array_of(r#""abcdefghabcdefgh7cfabcdefgh""#),
    );
    let names = parts(1800, |number| format!(r#""abcdefghabcdefgh{number:03x}abcdefgh":{{}}"#));
    check(
        "names with equal ends",
        &format!(r#"{{"items":{{"properties":{{{names}}}}}}}"#),
        &array_of(r#"{"abcdefghabcdefgh707abcdefgh":1}"#),
    );
    let digits = "3".repeat(60_000);
    check(
        "a long bound",
        &format!(r#"{{"items":{{"maximum":0.{digits}}}}}"#),
        &array_of("0.33333333333333331"),
    );
}
