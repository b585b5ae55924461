//! Where an audit's report goes: its forms as files, and what is shown of it. Nothing here counts or decides.

use std::io::{IsTerminal as _, Write as _};

use anyhow::Context as _;

use super::{Failure, memory};
use crate::audit::report::Report;
use crate::audit::{html, lines, text};
use crate::cli::Audit;
use crate::files::Target;

/// The forms of a report, as files.
const FORMS: [&str; 4] = ["report.json", "report.html", "findings.ndjson", "findings.csv"];

/// The files that are written in the end.
pub(super) fn written(args: &Audit) -> Vec<Target> {
    if args.verify.is_some() {
        return Vec::new();
    }
    let forms = args.out.iter().flat_map(|dir| FORMS.map(|name| dir.join(name)));
    let state = args.state.iter().flat_map(|file| [file.clone(), memory::beside(file)]);
    forms.chain(state).map(Target::Path).collect()
}

/// Writes the report in all its forms.
pub(super) fn write_out(args: &Audit, report: &Report) -> Result<(), Failure> {
    let Some(dir) = &args.out else { return Ok(()) };
    let context = || format!("--out {}", dir.display());
    let json = format!("{}\n", serde_json::to_string_pretty(report)?);
    let contents = [json, html::render(report), lines::ndjson(report), lines::csv(report)];
    for (name, content) in FORMS.into_iter().zip(contents) {
        std::fs::write(dir.join(name), content).with_context(context)?;
    }
    Ok(())
}

/// Whether the split goes where the report would.
pub(super) fn has_records_on_stdout(args: &Audit) -> bool {
    [&args.accepted, &args.rejected].into_iter().flatten().any(|path| path.as_os_str() == "-")
}

/// Shows the report, or what is to be seen of it where records stand on standard output.
pub(super) fn show(args: &Audit, report: &Report) -> Result<(), Failure> {
    // With records on standard output, the report must not stand among them.
    if has_records_on_stdout(args) {
        let style = text::Style { width: 100, colours: false };
        write!(std::io::stderr(), "{}", text::render(report, style))?;
        return Ok(());
    }
    let mut out = std::io::stdout();
    if args.json {
        writeln!(out, "{}", serde_json::to_string(report)?)?;
        return Ok(());
    }
    let is_terminal = out.is_terminal();
    let width = if is_terminal { usize::from(console::Term::stdout().size().1) } else { 100 };
    let colours = is_terminal && text::wants_colours(std::env::var_os("NO_COLOR"), std::env::var_os("TERM"));
    write!(out, "{}", text::render(report, text::Style { width, colours }))?;
    if let Some(dir) = args.out.as_ref().filter(|dir| dir.join("report.html").exists()) {
        writeln!(out, "report {}", dir.join("report.html").display())?;
    }
    Ok(())
}
