//! Texts at the edges of the formats, each with what its RFC says. The official suite has the common ones; these are
//! those where checkers tend to be too kind or too strict.

use serde_json::json;
use tollgate::program::{Options, Program, Scratch};
use tollgate::tape::Parser;

/// Format, texts that are of it, texts that are not.
type Edges = (&'static str, &'static [&'static str], &'static [&'static str]);

const EDGES: &[Edges] = &[
    (
        "date-time",
        &[
            "1998-12-31T23:59:60Z",
            "1998-12-31T15:59:60.123-08:00",
            "2021-01-01t00:00:00z",
            "2000-02-29T00:00:00.000000000001Z",
        ],
        &[
            "1998-12-31T23:58:60Z",
            "2020-02-30T00:00:00Z",
            "1990-12-31T15:59:59-24:00",
            "2021-01-01 00:00:00Z",
            "2021-01-01T00:00:00+0000",
            "2021-01-01T24:00:00Z",
            "2021-01-01T00:00:00.Z",
            "2021-01-01T00:00:00",
            "2021-01-01T00:00Z",
            "+2021-01-01T00:00:00Z",
            "2021-01-01T00:00:00Z\n",
            "2021-01-01T00:00:00,5Z",
            "2021-01-01T00:00:00٠Z",
            "2021-01-01T00:00:00+00:60",
            "2021-00-01T00:00:00Z",
            "2021-01-00T00:00:00Z",
        ],
    ),
    (
        "date",
        &["2000-02-29", "0001-01-01"],
        &["1900-02-29", "2021-1-01", "2021-04-31", "20210101", "2021-W01-1", "2021-001"],
    ),
    (
        "time",
        &["23:59:60+00:00", "00:59:60+01:00", "12:00:00.5z"],
        &["22:59:60Z", "12:00:00", "12:00Z", "12:00:00+1:00", "24:00:00Z"],
    ),
    (
        "duration",
        &["P1Y2M3DT4H5M6S", "P1W", "PT36H", "P0D", "PT0S"],
        &[
            "P", "PT", "P1W1D", "P1.5D", "PT1D", "P1YT", "P2D1Y", "P1", "1D", "P-1D", "p1d", "P1D ",
            "PT1S1M", "P٢Y",
        ],
    ),
    (
        "uuid",
        &["2EB8AA08-AA98-11EA-B4AA-73B441D16380", "00000000-0000-0000-0000-000000000000"],
        &[
            "2eb8aa08-aa98-11ea-b4aa73b441d16380",
            "{2eb8aa08-aa98-11ea-b4aa-73b441d16380}",
            "2eb8aa08-aa98-11ea-b4aa-73b441d1638g",
            "2eb8-aa08-aa98-11ea-b4aa73b44-1d16380",
        ],
    ),
    (
        "uri",
        &[
            "a:",
            "urn:isbn:1",
            "http://[v1.a]",
            "http://[1:2:3:4:5:6:7:8]:80/",
            "http://[::ffff:1.2.3.4]",
            "http://a:/",
            "file:///a",
            "http://a/?b?c/d",
            "a+b-c.d:e",
            "http://%41/",
        ],
        &[
            "//a",
            "http://[::1",
            "http://a b",
            "http://a:b",
            "1a:b",
            "http://a/%zz",
            "http://a/\\",
            "http://a?{",
            "http://a#b#c",
            "http://[::1]a",
            "http://[a]",
            "http://u@h@x",
            "http://a/%4",
            "",
            ":a",
            "http://ä",
            "http://a/<b>",
            "http://a/\"",
            "http://a^b",
            "http://a|b",
            "http://[1.2.3.4]",
            "http://[::1%25a]",
        ],
    ),
    (
        "uri-reference",
        &["//a", "", "#", "?", "a/b:c", "./a:b", "../a"],
        &["a b", "1:2", "\\a", "#a#b", "%", "[a]", "//[a", "é"],
    ),
    (
        "iri",
        &["http://ƒøø.ßår/?∂éœ=πîx#πîüx", "http://a/?\u{e000}"],
        &["http://a/\u{e000}", "http://a/#\u{e000}", "http://a/\u{fffe}", "http://a/\u{80}", "/ä"],
    ),
    ("iri-reference", &["/ä", "#ä", "?\u{e000}"], &["\\ä", "#ä#", "ä b", "\u{e000}"]),
    (
        "uri-template",
        &[
            "", "{a}", "{a,b}", "{+a*}", "{a:3}", "{a:9999}", "{%41}", "{.a}", "{a.b}", "x{?a}y", "ä",
            "{;a,b*}",
        ],
        &[
            "{",
            "}",
            "{}",
            "{a b}",
            "{a:0}",
            "{a:10000}",
            "{a..b}",
            "{a:}",
            "{a*:3}",
            "{a,}",
            "a%2",
            "{{a}}",
            "{a.}",
            "{-a}",
            "<",
            "a b",
            "\"",
        ],
    ),
    (
        "email",
        &[
            "a@b",
            "\"a b\"@c",
            "\"a\\\"b\"@c",
            "a@[127.0.0.1]",
            "a@[IPv6:::1]",
            "a+b!#$%&'*-/=?^_`{|}~@c.d",
            "\"\"@b",
        ],
        &[
            "a..b@c",
            ".a@b",
            "a.@b",
            "a@",
            "@b",
            "a@b..c",
            "a@-b",
            "a@b-",
            "a b@c",
            "a@b@c",
            "a@[1.2.3]",
            "a@[::1]",
            "\"a@b",
            "a@b.",
            "é@b",
            "a@é",
            "a@b_c",
            "\"a\"b@c",
        ],
    ),
    ("idn-email", &["é@b", "a@é", "실례@실례.테스트"], &["a@", "@é", "é é@b"]),
    (
        "hostname",
        &["a", "1.2", "a-b.c", "xn--4gbwdl.xn--wgbh1c", "A.B"],
        &["", "-a", "a-", "a..b", ".a", "a.", "a_b", "é", "a.-b", "a b", "a.b-.c"],
    ),
    (
        "ipv4",
        &["0.0.0.0", "255.255.255.255"],
        &[
            "0x7f.0.0.1",
            "1.2.3",
            "256.0.0.1",
            "01.2.3.4",
            "1.2.3.4.5",
            "1.2.3.",
            ".1.2.3",
            "1.2.3.4/8",
            "١.2.3.4",
            "1.2.3.+4",
            " 1.2.3.4",
        ],
    ),
    (
        "ipv6",
        &[
            "::",
            "::1.2.3.4",
            "1:2:3:4:5:6:1.2.3.4",
            "1:2:3:4:5:6:7::",
            "::2:3:4:5:6:7:8",
            "ABCD::ef01",
            "1::2",
        ],
        &[
            "1::2::3",
            ":::1",
            "1:2:3:4:5:6:7",
            "::1.2.3",
            "1:2:3:4:5:6:7:8:9",
            "::1%eth0",
            "12345::",
            "1:2:3:4:5:6:7:1.2.3.4",
            "::01.2.3.4",
            ":1",
            "1:",
            "1.2.3.4",
            "1.2.3.4::",
            "::1.2.3.4:5",
            "g::",
            "[::]",
            "::+1",
            "",
        ],
    ),
    ("json-pointer", &["", "/", "//", "/a~0~1", "/ä"], &["/~", "/~2", "a", "#/a", "/a~"]),
    (
        "relative-json-pointer",
        &["0", "0#", "1/a", "120/~1", "0/"],
        &["01", "-1/a", "0##", "+1/a", "", "/a", "0a", "1/~", "#"],
    ),
    (
        "regex",
        &["", "a|", "[]", "[^]", "(?:a)*?", "a{2}?", "a??", "a+?b*", "\\u{10FFFF}", "(?<n>a)\\k<n>"],
        &["a**", "a{2}{3}", "a*+", "a???", "(?a)", "[b-a]", "\\u{110000}", "+"],
    ),
];

#[test]
fn edges_of_every_format() {
    let mut wrong = Vec::new();
    for (format, good, bad) in EDGES {
        let schema = json!({"format": format}).to_string();
        let program = Program::compile(&schema, "format.json", &Options::default()).unwrap();
        let holds = |text: &str| {
            Parser::new(8).parse(json!(text).to_string().as_bytes(), |tape| {
                program.accepts(tape.unwrap(), &mut Scratch::default())
            })
        };
        wrong
            .extend(good.iter().filter(|text| !holds(text)).map(|text| format!("{format} refuses {text:?}")));
        wrong.extend(bad.iter().filter(|text| holds(text)).map(|text| format!("{format} takes {text:?}")));
        let (label, long) = ("a".repeat(63), "a".repeat(64));
        if *format == "hostname" {
            let name = [label.as_str(); 4].join(".");
            for (text, expected) in
                [(&label, true), (&long, false), (&name[..253].to_owned(), true), (&name, false)]
            {
                if holds(text) != expected {
                    wrong.push(format!("hostname of {} characters: {}", text.len(), !expected));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
