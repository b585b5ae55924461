//! Names for good, and names of one run.

use crate::credentials::digest;
use crate::credentials::names::Names;

/// Lengths at which XXH3 takes another way, and at which the room for parts ends.
const LENGTHS: [usize; 16] = [0, 1, 3, 8, 16, 17, 64, 120, 123, 124, 125, 128, 129, 240, 241, 1300];

#[test]
fn lasting_names_are_sha256() {
    let text = [b'x'; 300];
    for len in [0, 1, 64, 128, 300] {
        let part = &text[..len];
        assert_eq!(Names::Lasting.identity(&[part, b"y"]), digest::identity(&[part, b"y"]));
        assert_eq!(Names::Lasting.payload_tag(part, None), digest::content_tag(part, None));
        assert_eq!(
            Names::Lasting.payload_tag(part, Some(&[7; 32])),
            digest::content_tag(part, Some(&[7; 32]))
        );
        assert_eq!(Names::Lasting.content(part).bytes(), digest::sha256(&[part]));
    }
}

#[test]
fn names_of_a_run_depend_on_every_byte_and_on_the_secret() {
    let (run, other) = (Names::of_new_run(), Names::of_new_run());
    let named = |names: &Names, text: &[u8]| {
        (names.identity(&[text]), names.payload_tag(text, None), names.content(text))
    };
    for len in LENGTHS {
        let text = vec![b'x'; len];
        let (identity, tag, content) = named(&run, &text);
        assert_eq!(named(&run.clone(), &text), (identity, tag, content));
        let (other_identity, other_tag, other_content) = named(&other, &text);
        // Longer ones are of SHA-256 in any run.
        assert_eq!(other_identity == identity, len > 124, "{len}");
        assert_eq!(digest::identity(&[&text]) == identity, len > 124, "{len}");
        assert_ne!(other_tag, tag, "{len}");
        assert_ne!(other_content, content, "{len}");
        for at in 0..len {
            let mut changed = text.clone();
            changed[at] ^= 1;
            let (changed_identity, changed_tag, changed_content) = named(&run, &changed);
            assert_ne!(changed_identity, identity, "{len} {at}");
            assert_ne!(changed_tag, tag, "{len} {at}");
            assert_ne!(changed_content, content, "{len} {at}");
            assert_ne!(changed_content.tag(), content.tag(), "{len} {at}");
        }
    }
}

#[test]
fn parts_do_not_run_into_each_other() {
    for names in [Names::Lasting, Names::of_new_run()] {
        for len in LENGTHS {
            let text = vec![b'x'; len];
            let whole = names.identity(&[&text]);
            assert_eq!(whole, names.identity(&[&text]));
            assert_ne!(whole, names.identity(&[&text, b""]), "{len}");
            assert_ne!(whole, names.identity(&[b"", &text]), "{len}");
            for at in 1..len {
                let (left, right) = text.split_at(at);
                assert_ne!(names.identity(&[left, right]), whole, "{len} {at}");
                assert_ne!(
                    names.identity(&[left, right]),
                    names.identity(&[&text[..at - 1], &text[at - 1..]])
                );
            }
        }
    }
}
