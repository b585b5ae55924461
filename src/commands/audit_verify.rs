//! `tollgate audit --verify`: runs the audit of a report again, and says what differs.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, anyhow};

use super::audit::{Audited, Inputs, Task, audit, inputs};
use super::{Ended, Failure, compile_rules, usage};
use crate::audit::report::Report;
use crate::audit::shown::shown;
use crate::audit::sign::{self, Key, SignError};
use crate::audit::verify;
use crate::cli::Audit;
use crate::clock::Timestamp;
use crate::config::Config;

/// Runs the audit of a report again, and compares.
pub(super) fn verify(
    args: &Audit,
    config: &mut Config,
    file: Option<&Path>,
    path: &Path,
) -> Result<Ended, Failure> {
    let context = || format!("--verify {}", path.display());
    let bytes = std::fs::read(path).with_context(context).map_err(usage)?;
    let before: Report = serde_json::from_slice(&bytes).with_context(context).map_err(usage)?;
    let mut out = std::io::stdout();
    match check_signature(args, &bytes, &before)? {
        Ok(said) => writeln!(out, "{said}")?,
        Err(wrong) => {
            writeln!(out, "signature: {wrong}")?;
            return Ok(Ended::Findings);
        }
    }
    if !before.scope.complete {
        return Err(usage(anyhow!("{}: a partial report cannot be run again", context())));
    }
    if before.scope.continued && args.state.is_none() {
        return Err(usage(anyhow!(
            "{}: the audit went on from an earlier one: name a copy of the state that it began with by --state",
            context()
        )));
    }
    if let Some(state) = args.state.as_deref().filter(|state| !state.exists()) {
        return Err(usage(anyhow!("--state {}: found no such file", state.display())));
    }
    if args.format.is_none() {
        config.rules.format.clone_from(&before.rules.format);
    }
    if args.profile.is_none()
        && let Ok(profile) = before.rules.profile.parse()
    {
        config.rules.profile = profile;
    }
    let as_of = match before.rules.clock.as_str() {
        "record" => None,
        time => Some(
            Timestamp::from_rfc3339(time)
                .ok_or_else(|| usage(anyhow!("{}: clock `{}`", context(), shown(time, 40))))?,
        ),
    };
    let task = Task {
        inputs: inputs_of(args, &before)?,
        as_of,
        sample_one_in: before.scope.sample_one_in.unwrap_or(1).max(1),
        names: Some(before.inputs.iter().map(|input| input.name.clone()).collect()),
        // Whoever names files names none of those that were left out.
        left_out: Some(before.scope.left_out),
    };
    let rules = Arc::new(compile_rules(config, file)?);
    let Audited { report: now, unread, ended } = audit(args, config, &rules, &task)?;
    ended?;
    unread.into_result()?;
    if let Some(because) = now.scope.incomplete_because {
        return Err(anyhow!("--verify: nothing can be said, since {because}").into());
    }
    let differences = verify::differences(&bytes, &before, &now);
    for difference in &differences {
        writeln!(out, "{difference}")?;
    }
    if differences.is_empty() {
        writeln!(out, "the same: {} records, digest {}", now.totals.records, now.digest)?;
    }
    Ok(if differences.is_empty() { Ended::Well } else { Ended::Findings })
}

/// What the command line names, or else the files of the report.
fn inputs_of(args: &Audit, before: &Report) -> Result<Inputs, Failure> {
    if !args.paths.is_empty() || !args.topic.is_empty() {
        return inputs(args);
    }
    if before.inputs.iter().any(|input| input.kind == "partition") {
        return Err(usage(anyhow!("the report is about a topic: name its range again with --topic")));
    }
    let paths: Vec<_> = before.inputs.iter().map(|input| PathBuf::from(&input.name)).collect();
    // Names are shown without what would act on a terminal, and cut if they are very long.
    match paths.iter().find(|path| path.as_os_str() != "-" && !path.exists()) {
        Some(path) => Err(usage(anyhow!(
            "{}: the report names this input, and it is not there; name the inputs behind the options",
            shown(&path.to_string_lossy(), 400)
        ))),
        None => Ok(Inputs::Files(paths)),
    }
}

/// What is to be said of the signature: well, or what is wrong with it.
fn check_signature(
    args: &Audit,
    bytes: &[u8],
    report: &Report,
) -> Result<Result<String, SignError>, Failure> {
    let trusted = args.trusted_key.as_deref().map(read_key).transpose()?;
    let Some(signature) = &report.signature else {
        let said = "the report is not signed".to_owned();
        return Ok(if trusted.is_some() { Err(SignError::Unsigned) } else { Ok(said) });
    };
    Ok(sign::verify(bytes, signature, trusted.as_ref()).map(|fingerprint| {
        let whose = if trusted.is_some() { "the trusted key" } else { "a key that nobody vouched for" };
        format!("signed with {whose}: {fingerprint}")
    }))
}

/// A key that can sign.
pub(super) fn read_private_key(path: &Path) -> Result<Key, Failure> {
    match read_key(path)? {
        Key::Public(_) => {
            Err(usage(anyhow::Error::new(SignError::NotPrivate).context(path.display().to_string())))
        }
        key @ Key::Private(_) => Ok(key),
    }
}

fn read_key(path: &Path) -> Result<Key, Failure> {
    let context = || path.display().to_string();
    let file = zeroize::Zeroizing::new(std::fs::read(path).with_context(context).map_err(usage)?);
    Key::read(&file).with_context(context).map_err(usage)
}
