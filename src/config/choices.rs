//! The choices that `[format.NAME]` keys offer, each with its names.

use super::read::choice;

choice! {
    /// What happens to a message that comes again.
    ReplayGuard "\"off\", \"warn\" or \"enforce\"" {
        /// Nothing.
        Off = "off",
        /// It is counted.
        Warn = "warn",
        /// It is rejected as a duplicate.
        Enforce = "enforce",
    }
}

choice! {
    /// Where the knobs of agh start from.
    AghPreset "\"default\" or \"agh-runtime\"" {
        /// The published page, with the reference where the page is silent.
        Default = "default",
        /// The reference implementation throughout.
        Runtime = "agh-runtime",
    }
}

choice! {
    /// How thread ids are spelled.
    ThreadGrammar "\"any\" or \"ref\"" {
        /// Any text that is not blank.
        Any = "any",
        /// `thread_` and 3 to 96 characters.
        Ref = "ref",
    }
}

choice! {
    /// What happens to top-level members that the format does not know.
    UnknownFields "\"reject\" or \"ignore\"" {
        /// They are rejected.
        Reject = "reject",
        /// They are ignored.
        Ignore = "ignore",
    }
}

choice! {
    /// What null means in optional members whose type has no null.
    NullOptionals "\"reject\" or \"as_absent\"" {
        /// A wrong type.
        Reject = "reject",
        /// As if the member were not there.
        AsAbsent = "as_absent",
    }
}

choice! {
    /// Which members make a message the same as another.
    DedupKey "\"sender\" or \"id\"" {
        /// Workspace, sender and id.
        Sender = "sender",
        /// The id alone.
        Id = "id",
    }
}

choice! {
    /// What happens to a direct message whose room is not that of its two peers.
    DirectBinding "\"filter\" or \"reject\"" {
        /// It passes; whoever delivers it filters.
        Filter = "filter",
        /// It is rejected.
        Reject = "reject",
    }
}

choice! {
    /// What happens to names that stand twice in an object.
    DuplicateNames "\"reject\" or \"last_wins\"" {
        /// The envelope is rejected.
        Reject = "reject",
        /// The last one counts; only on topics that are bound to agh.
        LastWins = "last_wins",
    }
}

choice! {
    /// Whether proofs of the trust profile are verified.
    VerifyProof "\"off\", \"when_present\" or \"required\"" {
        /// Proofs are opaque.
        Off = "off",
        /// A proof that is there must verify.
        WhenPresent = "when_present",
        /// Every envelope needs a proof.
        Required = "required",
    }
}

choice! {
    /// How responses are compared with their requests.
    Correlation "\"auto\", \"off\", \"warn\" or \"enforce\"" {
        /// `enforce` in the profile strict, otherwise `off`.
        Auto = "auto",
        /// Not at all.
        Off = "off",
        /// Those that do not fit are counted.
        Warn = "warn",
        /// Those that do not fit are rejected.
        Enforce = "enforce",
    }
}

choice! {
    /// How a family of sequence rules is applied.
    Enforcement "\"auto\", \"off\", \"warn\" or \"enforce\"" {
        /// As the profile says.
        Auto = "auto",
        /// Not at all.
        Off = "off",
        /// What breaks it is counted and accepted.
        Warn = "warn",
        /// What breaks it is rejected.
        Enforce = "enforce",
    }
}

choice! {
    /// What happens when the replay window is full.
    OnFull "\"stop\", \"evict_oldest\" or \"reject\"" {
        /// The run stops; nothing is forgotten.
        Stop = "stop",
        /// The oldest ids are forgotten, counted and told.
        EvictOldest = "evict_oldest",
        /// Records with new ids are rejected as `window-full`.
        Reject = "reject",
    }
}

choice! {
    /// Where the members of a payload stand.
    PayloadShape "\"auto\", \"flat\", \"nested\" or \"either\"" {
        /// `either` in the profile lenient, otherwise `flat`.
        Auto = "auto",
        /// In `payload` itself.
        Flat = "flat",
        /// In `payload.payload`, beside `payload.type`.
        Nested = "nested",
        /// As it comes.
        Either = "either",
    }
}

choice! {
    /// A version of JSON Schema.
    DraftChoice "\"7\" or \"2020-12\"" {
        /// Draft 7.
        V7 = "7",
        /// Draft 2020-12.
        V2020 = "2020-12",
    }
}

choice! {
    /// How a signature is written.
    SignatureEncoding "\"hex\" or \"base64\"" {
        /// 64 lower-case hex digits.
        Hex = "hex",
        /// Standard Base64 with padding.
        Base64 = "base64",
    }
}

choice! {
    /// How a time is written.
    TimestampForm "\"rfc3339\", \"unix_s\" or \"unix_ms\"" {
        /// A text by RFC 3339.
        Rfc3339 = "rfc3339",
        /// A whole number of seconds since the epoch.
        UnixS = "unix_s",
        /// A whole number of milliseconds since the epoch.
        UnixMs = "unix_ms",
    }
}
