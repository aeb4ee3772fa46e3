//! Completion scripts.

use clap::{ArgMatches, Command};
use clap_complete::{Shell, generate};

use crate::failure::Failure;

/// Prints the script of the shell.
///
/// # Errors
/// Standard output cannot be written.
pub fn run(matches: &ArgMatches, tree: &mut Command) -> Result<(), Failure> {
    let shell = match matches.get_one::<String>("shell").map(String::as_str) {
        Some("zsh") => Shell::Zsh,
        Some("fish") => Shell::Fish,
        Some("powershell") => Shell::PowerShell,
        _ => Shell::Bash,
    };
    let mut script = Vec::new();
    generate(shell, tree, "fleet", &mut script);
    let script = String::from_utf8_lossy(&script);
    crate::output::print(script.trim_end())
}
