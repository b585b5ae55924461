//! `tollgate config`: checks a configuration completely and prints the effective one.

use std::io::Write as _;

use super::{Ended, Failure, load_config, usage};
use crate::cli::ConfigArgs;
use crate::config::Config;
use crate::judge::Rules;

pub(super) fn run(args: &ConfigArgs) -> Result<Ended, Failure> {
    let text = if args.default {
        Config::default_toml()
    } else {
        let config = load_config(args.config.as_deref())?;
        let rules = Rules::compile(&config).map_err(usage)?;
        format!("# Rule set {}\n{}", rules.hash(), config.to_toml())
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(Ended::Well)
}
