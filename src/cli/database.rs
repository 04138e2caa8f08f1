//! Opens the journal of a service, and migrates it.

use super::{Exit, terminal};
use crate::config::addresses::JournalAddress;
use crate::config::environment::Environment;
use crate::config::flags::Flags;
use crate::config::settings::Settings;
use crate::journal::Database;

#[derive(Debug, clap::Args)]
pub(super) struct MigrateArguments {
    #[command(flatten)]
    flags: Flags,
}

/// `greenlight migrate`: creates or updates the tables, and exits.
pub(super) async fn migrate(arguments: MigrateArguments) -> Exit {
    let settings = match Settings::new(arguments.flags, &Environment::of_this_process()) {
        Ok(settings) => settings,
        Err(error) => return error.into(),
    };
    terminal::start_logging(&settings, None);
    match open(&settings).await {
        Ok(_) => {
            terminal::tell("The tables of the journal are up to date.");
            Exit::Done
        }
        Err(exit) => exit,
    }
}

/// Opens the journal that the settings name.
///
/// # Errors
/// When it cannot be opened, or is newer than this program.
pub(super) async fn open(settings: &Settings) -> Result<Database, Exit> {
    match settings.database()? {
        JournalAddress::File(file) => Database::open(&file).await.map_err(|error| {
            Exit::Usage(format!(
                "{error}; check GREENLIGHT_DATABASE_URL and GREENLIGHT_DATA_DIR ({})",
                file.display()
            ))
        }),
        JournalAddress::Postgres(url) => Database::connect(&url)
            .await
            .map_err(|error| Exit::Usage(format!("{error}; check GREENLIGHT_DATABASE_URL"))),
    }
}
