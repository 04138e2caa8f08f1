//! `greenlight completions` and `greenlight man`: what shells and `man` need, generated from the command line itself.

use std::path::{Path, PathBuf};

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::{Cli, Exit, terminal};

const NAME: &str = "greenlight";

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
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut page)?;
    terminal::print(String::from_utf8_lossy(&page).trim_end());
    Ok(())
}

fn pages(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(Cli::command(), folder)?;
    terminal::mention(&format!("wrote the pages to {}", folder.display()));
    Ok(())
}
