//! `greenlight completions` and `greenlight man`: what shells and `man` need, generated from the command line itself.

use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory as _};
use clap_complete::Shell;

use super::{Cli, Exit, terminal};

const NAME: &str = "greenlight";

/// The section of the text after the options, as the library names it, and as other manual pages do.
const EXTRA: &str = "\n.SH EXTRA\n";
const EXIT_STATUS: &str = "\n.SH \"EXIT STATUS\"\n";
/// How that text begins in the help.
const CODES: &str = "Exit codes: ";

#[derive(Debug, clap::Args)]
pub(super) struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    shell: Known,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Known {
    Bash,
    Zsh,
    Fish,
}

#[derive(Debug, clap::Args)]
pub(super) struct ManArguments {
    /// The folder for the pages of greenlight and of each command; without it, the page of greenlight is printed
    folder: Option<PathBuf>,
}

pub(super) fn completions(CompletionsArguments { shell }: CompletionsArguments) -> Exit {
    let shell = match shell {
        Known::Bash => Shell::Bash,
        Known::Zsh => Shell::Zsh,
        Known::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), NAME, &mut script);
    terminal::print(String::from_utf8_lossy(&script).trim_end());
    Exit::Done
}

pub(super) fn man(ManArguments { folder }: ManArguments) -> Exit {
    let written = match folder {
        Some(folder) => pages(&folder).map_err(|error| Exit::Usage(format!("{}: {error}", folder.display()))),
        None => page().map_err(|error| Exit::Fault(error.to_string())),
    };
    written.err().unwrap_or(Exit::Done)
}

fn page() -> std::io::Result<()> {
    terminal::print(rendered(Cli::command())?.1.trim_end());
    Ok(())
}

/// The name of a command's page, and its text.
fn rendered(command: Command) -> std::io::Result<(String, String)> {
    // Subcommands have no version, and the library would leave it out.
    let page = clap_mangen::Man::new(command).source(format!("{NAME} {}", env!("GREENLIGHT_VERSION")));
    let mut text = Vec::new();
    page.render(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    let text = text.replacen(&format!("{EXTRA}{CODES}"), EXIT_STATUS, 1);
    Ok((page.get_filename(), text))
}

fn pages(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    write_all(command, folder)?;
    terminal::mention(&format!("wrote the pages to {}", folder.display()));
    Ok(())
}

/// The page of a command, and those of its subcommands.
fn write_all(command: Command, folder: &Path) -> std::io::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        write_all(below.clone(), folder)?;
    }
    let (name, text) = rendered(command)?;
    std::fs::write(folder.join(name), text)
}
