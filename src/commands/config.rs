//! `tollgate config`: checks a configuration completely and prints the effective one.

use std::io::Write as _;

use anyhow::Context as _;
use clap::CommandFactory as _;

use super::{Ended, Failure, compile_rules, load_config, memory, probe, usage};
use crate::cli::{Cli, ConfigArgs};
use crate::config::{Config, Profile};
use crate::formats::Compiled;
use crate::judge::Rules;
use crate::metrics;
use crate::ops::dashboard;

pub(super) fn run(args: &ConfigArgs) -> Result<Ended, Failure> {
    let text = if args.default {
        Config::default_toml()
    } else if args.rules {
        rules_table()?
    } else if args.metrics {
        metrics::markdown()
    } else if args.dashboard {
        dashboard::grafana()
    } else if let Some(shell) = args.completions {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut Cli::command(), "tollgate", &mut text);
        String::from_utf8(text)?
    } else if let Some(dir) = &args.man {
        std::fs::create_dir_all(dir).with_context(|| format!("--man {}", dir.display())).map_err(usage)?;
        clap_mangen::generate_to(Cli::command(), dir)?;
        format!("{}\n", dir.join("tollgate.1").display())
    } else {
        let config = load_config(args.config.as_deref())?;
        if args.probe {
            return probe::run(&config, args.json);
        }
        let rules = compile_rules(&config, args.config.as_deref())?;
        format!("# Rule set {}\n# {}\n{}", rules.hash(), memory::describe(&config), config.to_toml())
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(Ended::Well)
}

/// Every rule of every built-in format as Markdown: the text of `configs/RULES.md`.
fn rules_table() -> Result<String, Failure> {
    let rules = Rules::compile(&Config::default())?;
    let mut text = String::from(
        "# The rules of the formats\n\n\
         Made by `tollgate config --rules`; a test keeps it true. Rules of shape stand in `schemas/`. Each table follows\n\
         the format's module, which says in which order rules are checked. A rule is switched off by its name in the\n\
         format's `rules_off`.\n",
    );
    let mut told: Vec<&str> = Vec::new();
    for format in rules.formats() {
        if !told.contains(&format.family()) {
            told.push(format.family());
            text.push_str(&format_table(format));
        }
    }
    Ok(text)
}

fn format_table(format: &Compiled) -> String {
    let mut text = format!(
        "\n## {}\n\n| rule | demands | reason | source | page | strict | lenient | needs one of |\n|---|---|---|---|---|---|---|---|\n",
        format.family()
    );
    for rule in format.rules() {
        let [page, strict, lenient] = [Profile::Page, Profile::Strict, Profile::Lenient]
            .map(|profile| if rule.holds_in(profile) { "yes" } else { "" });
        let needs: Vec<_> = rule.needs.iter().map(|key| format!("`{key}`")).collect();
        text.push_str(&format!(
            "| `{}` | {} | `{}` | {} | {page} | {strict} | {lenient} | {} |\n",
            rule.name,
            rule.text,
            rule.reason.code(),
            rule.source.name(),
            needs.join(", ")
        ));
    }
    text
}
