//! `tollgate tap`: a sample of verdicts with their reasons, as they fall.

use std::io::Write as _;

use anyhow::{Context as _, anyhow};
use serde_json::Value;

use super::visible;
use super::{Ended, Failure, ops_client, usage};
use crate::cli::Tap;
use crate::verdict::Reason;

pub(super) fn run(args: &Tap) -> Result<Ended, Failure> {
    for wanted in &args.reason {
        if !Reason::ALL.iter().any(|reason| reason.code() == wanted) {
            let all: Vec<_> = Reason::ALL.iter().map(|reason| reason.code()).collect();
            return Err(usage(anyhow!("--reason: found `{wanted}`, allowed: {}", all.join(", "))));
        }
    }
    let client = ops_client(&args.port)?;
    let mut out = std::io::stdout();
    let mut shown = 0;
    for event in client.events(&format!("/tap?per_s={}", args.per_s))? {
        let event = event.with_context(|| format!("{}: the stream broke off", client.address()))?;
        let verdict: Value = serde_json::from_str(&event)?;
        let reason = text(&verdict, "reason");
        let is_reject = reason != "ok";
        if (args.rejected && !is_reject)
            || (!args.reason.is_empty() && !args.reason.iter().any(|it| it == reason))
        {
            continue;
        }
        if args.json {
            writeln!(out, "{event}")?;
        } else {
            writeln!(out, "{}", line(&verdict))?;
        }
        shown += 1;
        if args.count == Some(shown) {
            break;
        }
    }
    Ok(Ended::Well)
}

fn text<'v>(verdict: &'v Value, name: &str) -> &'v str {
    verdict.get(name).and_then(Value::as_str).unwrap_or("")
}

fn line(verdict: &Value) -> String {
    let word = if text(verdict, "verdict") == "accept" { "accept" } else { "REJECT" };
    let reason = text(verdict, "reason");
    let (format, at, src) = (text(verdict, "format"), text(verdict, "at"), text(verdict, "src"));
    // A pointer holds names that a sender chose, a place the name of a file.
    let (at, src) = (visible(at), visible(src));
    format!("{word}  {reason:<20} {format:<18} {src}  {at}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_cannot_write_to_the_terminal() {
        let hostile = serde_json::json!({
            "verdict": "reject", "reason": "unknown-field", "format": "agh", "src": "agents/0/7",
            "at": "/a\u{1b}[2J\naccept  ok\u{202e}",
        });
        let line = line(&hostile);
        assert!(!line.contains(|c: char| c.is_control() || c == '\u{202e}'), "{line:?}");
        assert!(line.starts_with("REJECT") && line.contains("\\u001b[2J\\u000aaccept"), "{line:?}");
    }
}
