//! Identities, digests, file hashes and proofs.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{as_is_and_compact, at, text};
use crate::credentials::canonical::{self, Buffers};
use crate::credentials::digest::{self, FileHash};
use crate::credentials::proof::{self, ProofError, Trust};
use crate::tape::{NodeIndex, Parser};

const IDENTITY: &str = include_str!("../../../tests/vectors/identity-vectors.json");
const PROOFS: &str = include_str!("../../../tests/vectors/agh-proofs.json");

#[derive(Deserialize)]
struct IdentityVectors {
    #[serde(borrow)]
    vectors: Vec<IdentityVector<'static>>,
}

#[derive(Deserialize)]
struct IdentityVector<'a> {
    name: String,
    canonical: String,
    sha256: String,
    #[serde(borrow)]
    envelope: &'a RawValue,
}

/// What makes two envelopes of Bluelabel one logical message.
const LOGICAL: [&str; 6] = ["payload", "recipient_id", "sender_id", "task_id", "trace_id", "type"];

#[test]
fn identity_vectors() {
    let vectors: IdentityVectors = serde_json::from_str(IDENTITY).unwrap();
    let mut buffers = Buffers::default();
    let mut logical = 0;
    for vector in vectors.vectors {
        for envelope in as_is_and_compact(vector.envelope) {
            Parser::new(64).parse(envelope.as_bytes(), |tape| {
                let tape = tape.unwrap();
                let is_logical = vector.name.ends_with("/logical");
                logical += u32::from(is_logical);
                let payload = envelope.as_bytes();
                let (whole, some) = canonical::whole_and_members(tape, payload, &LOGICAL, &mut buffers);
                let form = if is_logical { some } else { whole }.unwrap();
                assert_eq!(form, vector.canonical.as_bytes(), "{}", vector.name);
                assert_eq!(digest::hex(&digest::sha256(&[form])), vector.sha256);
            });
        }
    }
    assert!(logical > 0);
}

#[test]
fn identities_and_tags_are_sha256_whatever_their_length() {
    let text = [b'x'; 300];
    for len in 0..text.len() {
        let part = &text[..len];
        let whole = digest::sha256(&[&(len as u32).to_le_bytes(), part]);
        assert_eq!(digest::identity(&[part]), whole[..16], "{len}");
        let mac = [len as u8; 32];
        let checksum = twox_hash::XxHash3_64::oneshot(part).to_le_bytes();
        let whole = digest::sha256(&[&mac, &checksum]);
        assert_eq!(digest::content_tag(part, Some(&mac)).to_le_bytes(), whole[..8], "{len}");
    }
}

#[test]
fn identities_do_not_run_into_each_other() {
    assert_ne!(digest::identity(&[b"ab", b"c"]), digest::identity(&[b"a", b"bc"]));
    assert_ne!(digest::identity(&[b"a"]), digest::identity(&[b"a", b""]));
    assert_eq!(digest::identity(&[b"a", b"b"]), digest::identity(&[b"a", b"b"]));
}

#[test]
fn content_tags_tell_payloads_apart() {
    use digest::content_tag;
    let (mac, other) = ([7; 32], [8; 32]);
    for mac in [None, Some(&mac)] {
        assert_eq!(content_tag(b"a", mac), content_tag(b"a", mac));
        assert_ne!(content_tag(b"a", mac), content_tag(b"b", mac));
        // These two have the same CRC-32.
        assert_ne!(content_tag(b"plumless", mac), content_tag(b"buckeroo", mac));
    }
    assert_ne!(content_tag(b"a", Some(&mac)), content_tag(b"a", Some(&other)));
    assert_ne!(content_tag(b"a", Some(&mac)), content_tag(b"a", None));
    // The checksum is bound to the tag: what it can be steered to does not make up for another tag.
    let xored = |mac: &[u8; 32], payload: &[u8]| {
        content_tag(payload, Some(mac)) ^ twox_hash::XxHash3_64::oneshot(payload)
    };
    assert_ne!(xored(&mac, b"a"), xored(&mac, b"b"));
}

#[test]
fn a_capability_has_its_digest() {
    let digest = "sha256:edb42ce4ca23d905aeeba399001ca6d23420610775ba41ef66e90f47f14dba0d";
    let plain = r#"{"id":"review-fix","summary":"Review Fix Flow","outcome":"A reusable review fix workflow.","version":"1.0.0","execution_outline":["Inspect the issue","Draft the fix"],"requirements":["workspace-write"]}"#;
    let spaced = r#"{"digest":"x","requirements":["  workspace-write\n"],"unknown":1,"version":" 1.0.0","examples":["  "],"constraints":[],
        "execution_outline":["Inspect the issue","","Draft the fix "],"id":"review-fix","outcome":"A reusable review fix workflow.","summary":"Review Fix Flow"}"#;
    let mut buffers = Buffers::default();
    for capability in [plain, spaced] {
        Parser::new(8).parse(capability.as_bytes(), |tape| {
            let tape = tape.unwrap();
            assert!(digest::capability_fits(tape, NodeIndex(0), digest, &mut buffers), "{capability}");
            assert!(digest::capability_fits(tape, NodeIndex(0), &format!("\t{digest} "), &mut buffers));
            for wrong in ["", "sha256:", &digest.to_uppercase(), &digest[7..], &digest[..70]] {
                assert!(!digest::capability_fits(tape, NodeIndex(0), wrong, &mut buffers), "{wrong}");
            }
        });
    }
    let odd = r#"{"id":"<&>","summary":"\u2028\u2029\u007f/\u001f\b\f\n\r\t\"\\é😀","outcome":"","version":"","requirements":["b","a","é","B"],"context_needed":[1,null,"x"]}"#;
    Parser::new(8).parse(odd.as_bytes(), |tape| {
        let form = canonical::capability::capability(tape.unwrap(), NodeIndex(0), &mut buffers);
        let expected = concat!(
            r#"{"id":"\u003c\u0026\u003e","summary":"\u2028\u2029"#,
            "\u{7f}",
            r#"/\u001f\b\f\n\r\t\"\\é😀","outcome":"","context_needed":["x"],"requirements":["B","a","b","é"]}"#
        );
        // A blank summary is trimmed: the separators in front are white space, too.
        assert_eq!(String::from_utf8_lossy(form), expected.replace(r"\u2028\u2029", ""));
    });
}

#[test]
fn direct_rooms_have_their_ids() {
    for (workspace, channel, one, other, expected) in [
        (
            "wks_test",
            "builders",
            "coder.sess-abc",
            "reviewer.sess-xyz",
            "direct_fd3aece517c733f67bb4f4c6505a66dc",
        ),
        (
            "ws_alpha",
            "builders",
            "ops-coordinator.session-42",
            "patch-worker.session-19",
            "direct_a610973e3c0d915853982f4bfe1534e8",
        ),
    ] {
        assert_eq!(digest::direct_id(workspace, channel, one, other), expected);
        assert_eq!(digest::direct_id(workspace, channel, other, &format!(" {one}\n")), expected);
        assert!(digest::direct_id_fits(expected, workspace, channel, one, other));
        assert!(!digest::direct_id_fits(&expected.to_uppercase(), workspace, channel, one, other));
        assert!(!digest::direct_id_fits(expected, workspace, "other", one, other));
    }
}

#[test]
fn a_files_hash_is_read_strictly() {
    let file = digest::sha256(&[b"# plan 42\n"]);
    let text = format!("sha256:{}", digest::hex(&file));
    assert!(FileHash::of(&text).fits(&file));
    assert!(!FileHash::of(&text).fits(&digest::sha256(&[b"other"])));
    let zeros = format!("sha256:{}", "0".repeat(64));
    assert_eq!(FileHash::of(&zeros), FileHash::Placeholder);
    assert!(!FileHash::of(&zeros).fits(&[0; 32]));
    for broken in [
        "",
        "sha256:",
        &text[..70],
        &text.to_uppercase(),
        &text.replace("sha256", "sha512"),
        &format!("{text} "),
    ] {
        assert_eq!(FileHash::of(broken), FileHash::Malformed, "{broken}");
    }
}

#[derive(Deserialize)]
struct ProofVectors {
    #[serde(borrow)]
    vectors: Vec<ProofVector<'static>>,
}

#[derive(Deserialize)]
struct ProofVector<'a> {
    name: String,
    canonical_bytes: usize,
    sha256: String,
    #[serde(borrow)]
    envelope: &'a RawValue,
}

fn trust(envelope: &str) -> Trust {
    Parser::new(64).parse(envelope.as_bytes(), |tape| {
        let tape = tape.unwrap();
        let proof = at(tape, "/proof");
        proof::verify(tape, envelope.as_bytes(), text(tape, "/from"), proof, &mut Buffers::default())
    })
}

#[test]
fn proofs_verify_and_every_defect_has_its_name() {
    let vectors: ProofVectors = serde_json::from_str(PROOFS).unwrap();
    for vector in &vectors.vectors {
        for envelope in as_is_and_compact(vector.envelope) {
            assert_eq!(trust(&envelope), Trust::Verified, "{}", vector.name);
            Parser::new(64).parse(envelope.as_bytes(), |tape| {
                let (tape, mut buffers) = (tape.unwrap(), Buffers::default());
                let omit = at(tape, "/proof/sig");
                let form =
                    canonical::jcs(tape, envelope.as_bytes(), NodeIndex(0), omit, &mut buffers).unwrap();
                assert_eq!(form.pieces().concat().len(), vector.canonical_bytes, "{}", vector.name);
                assert_eq!(digest::hex(&digest::sha256(&form.pieces())), vector.sha256, "{}", vector.name);
            });
        }
    }
    let good = vectors.vectors[1].envelope.get();
    let rejected = Trust::Rejected;
    for (from, to, expected) in [
        ("example only", "example onlY", rejected(ProofError::Signature)),
        ("\"ext\": {}", "\"ext\": null", rejected(ProofError::Signature)),
        ("ed25519-jcs/v1", "other/v1", Trust::UnknownProfile),
        ("\"profile\"", "\"profil\"", rejected(ProofError::Profile)),
        ("\"Ed25519\"", "\"ed25519\"", rejected(ProofError::Algorithm)),
        ("A6EHv_", "A6EHv/", rejected(ProofError::PublicKey)),
        ("A6EHv_", "A6EHv", rejected(ProofError::PublicKey)),
        ("A6EHv_", "B6EHv_", rejected(ProofError::KeyId)),
        ("sha256:5", "sha256:6", rejected(ProofError::KeyId)),
        ("patch-worker@", "Patch-worker@", rejected(ProofError::Handle)),
        ("patch-worker@", "", rejected(ProofError::Handle)),
        ("@5647", "@6647", rejected(ProofError::Fingerprint)),
        ("SynBA\"", "SynB\"", rejected(ProofError::SignatureForm)),
        ("SynBA\"", "SynBB\"", rejected(ProofError::SignatureForm)),
        ("aXPSC", "bXPSC", rejected(ProofError::Signature)),
        ("\"proof\"", "\"prooof\"", rejected(ProofError::Stripped)),
        ("1775606300", "17756063000000000000000", rejected(ProofError::Unfit)),
    ] {
        assert!(good.contains(from), "{from}");
        assert_eq!(trust(&good.replacen(from, to, 1)), expected, "{from} to {to}");
    }
    for (envelope, expected) in [
        (r#"{"from":"a.b"}"#, Trust::Unverified),
        (r#"{"from":"a.b","proof":null}"#, Trust::Unverified),
        (r#"{"from":"a@b","proof":null}"#, rejected(ProofError::Stripped)),
        (r#"{"from":"a.b","proof":[]}"#, Trust::NotAnObject),
        (r#"{"from":"a.b","proof":{}}"#, rejected(ProofError::Profile)),
    ] {
        assert_eq!(trust(envelope), expected, "{envelope}");
    }
}
