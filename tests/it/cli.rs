//! The command line, as a user sees it: outputs, exit codes, golden explanations.
