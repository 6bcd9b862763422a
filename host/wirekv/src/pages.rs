//! `wirekv pages`: man pages and completions, from the command line's own definitions. They are those of the program that
//! is distributed, so what this feature adds is not in them.

use std::path::Path;

use anyhow::{Context, Result};
use clap::{Command, CommandFactory};
use clap_complete::{generate_to, Shell};

use crate::args::CommandLine;

pub fn write(folder: &Path) -> Result<()> {
    let mut program = without_pages(&CommandLine::command());
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        generate_to(shell, &mut program, "wirekv", folder)
            .with_context(|| format!("no completions in {}", folder.display()))?;
    }
    // Those of subcommands are pages of their own: wirekv-serve(1).
    let program = program.disable_help_subcommand(true);
    clap_mangen::generate_to(program, folder)
        .with_context(|| format!("no man pages in {}", folder.display()))
}

fn without_pages(program: &Command) -> Command {
    let mut shown = Command::new("wirekv").version(env!("CARGO_PKG_VERSION"));
    if let Some(about) = program.get_about() {
        shown = shown.about(about.clone());
    }
    // A page's name is that of its subcommand, and not the program's.
    let others = program.get_subcommands().filter(|command| command.get_name() != "pages");
    shown.subcommands(others.cloned().map(|command| {
        let name = format!("wirekv-{}", command.get_name());
        command.display_name(name)
    }))
}
