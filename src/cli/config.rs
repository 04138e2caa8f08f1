//! `greenlight config`: checks a `greenlight.toml`, shows the settings in effect, and prints the JSON schema.

use std::path::{Path, PathBuf};

use super::checkout_settings::{SettingsFile, read};
use super::{Exit, exit, folder, serve, terminal};
use crate::config::environment::Environment;
use crate::config::flags::Flags;
use crate::config::settings::Settings;
use crate::config::{RepoConfig, schema};
use crate::engine::worktree::CONFIG_FILE;

#[derive(Debug, clap::Args)]
pub(super) struct ConfigArguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Check a greenlight.toml, and list every mistake with its line
    #[command(after_help = exit::OF_CONFIG)]
    Check {
        /// The file, or the checkout that contains it
        #[arg(default_value = ".")]
        file: PathBuf,
    },
    /// Show the settings in effect: those of a checkout with every default, and those of flags and environment
    #[command(after_help = exit::OF_CONFIG)]
    Show {
        /// The checkout
        #[arg(default_value = ".")]
        path: PathBuf,
    },
    /// Print the JSON schema of greenlight.toml
    #[command(after_help = exit::OF_CONFIG)]
    Schema,
}

pub(super) fn config(arguments: ConfigArguments) -> Exit {
    let done = match arguments.verb {
        Verb::Check { file } => check(&file),
        Verb::Show { path } => show(&path),
        Verb::Schema => {
            terminal::show_exactly(schema::schema_text().trim_end());
            Ok(())
        }
    };
    done.err().unwrap_or(Exit::Done)
}

fn check(named: &Path) -> Result<(), Exit> {
    let (shown, text) = if named.is_dir() {
        let shown = named.join(CONFIG_FILE);
        let shown = shown.strip_prefix(".").unwrap_or(&shown).display().to_string();
        match SettingsFile::of(&folder::checkout(named)?)? {
            Some(file) if file.is_own() => (shown, file.text),
            Some(file) => (file.path().display().to_string(), file.text),
            None => {
                terminal::show(&format!("there is no {shown}, so the defaults count"));
                return Ok(());
            }
        }
    } else {
        let missing = || Exit::Usage(format!("{}: there is no such file", named.display()));
        let file = named.canonicalize().map_err(|_| missing())?;
        let (folder, name) = file.parent().zip(file.file_name()).ok_or_else(missing)?;
        let text = read(folder, name.as_ref())?.ok_or_else(missing)?;
        (named.display().to_string(), text)
    };
    let mistakes = RepoConfig::mistakes(&text);
    for mistake in &mistakes {
        let line = mistake.line.map(|line| format!(":{line}")).unwrap_or_default();
        let field = mistake
            .field
            .as_ref()
            .map(|field| format!(" `{field}`:"))
            .unwrap_or_default();
        terminal::show(&format!("{shown}{line}:{field} {}", mistake.problem));
    }
    match mistakes.len() {
        0 => {
            terminal::show(&format!("{shown} is fine"));
            Ok(())
        }
        1 => Err(Exit::Usage(
            "there is a mistake, and greenlight refuses to work until it is fixed".into(),
        )),
        number => Err(Exit::Usage(format!(
            "there are {number} mistakes, and greenlight refuses to work until they are fixed"
        ))),
    }
}

fn show(path: &Path) -> Result<(), Exit> {
    let root = folder::checkout(path)?;
    let file = SettingsFile::of(&root)?;
    let source = match &file {
        Some(file) => format!("{} with every default{}", file.path().display(), file.limits()),
        None => format!(
            "there is no {CONFIG_FILE} in {}, so these are the defaults",
            root.display()
        ),
    };
    let config = match &file {
        Some(file) => file.config().map_err(|error| file.mistaken(&error))?,
        None => RepoConfig::default(),
    };
    let environment = Environment::of_this_process();
    let settings = Settings::new(Flags::default(), &environment)?.with_stored_app()?;
    let mut own = settings.shown(&environment)?;
    own.extend(serve::shown(&environment)?);
    let own: Vec<String> = own.iter().map(|(name, value)| format!("# {name}: {value}")).collect();
    terminal::show(&format!(
        "# {source}\n{config}\n# Settings that come from the environment, or from the App that the setup page stored:\n{}",
        own.join("\n")
    ));
    Ok(())
}
