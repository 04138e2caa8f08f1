//! Reads the journals on this machine: a service's database, and the files of runs on checkouts.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::super::{Exit, folder};
use super::Shown;
use crate::config::addresses::JournalAddress;
use crate::config::settings::Settings;
use crate::domain::id::{RepositoryName, RunId};
use crate::domain::run::Run;
use crate::journal::{self, Database, Journal};
use crate::summary::{RunSummary, Timeline, TimelineEntry, ended_at};

/// How many runs statistics count at most.
pub(super) const MAX_COUNTED: usize = 2_000;
/// How many repositories and files are read at most, and how large a file may be, in bytes.
const MAX_REPOSITORIES: usize = 200;
const MAX_FILES: usize = 400;
const MAX_FILE: u64 = 64 << 20;
/// How many steps are read at a time.
const STEPS: usize = 500;

/// A run, and the folder of its checkout, if it is on one and that is known.
type WithFolder = (Run, Option<String>);

/// The newest runs, at most `limit`.
pub(super) async fn newest(
    settings: &Settings,
    repository: Option<&RepositoryName>,
    limit: usize,
) -> Result<Vec<WithFolder>, Exit> {
    let mut runs = Vec::new();
    if let Some(journal) = open(settings).await? {
        let repositories = journal.repositories(MAX_REPOSITORIES).await.map_err(unusable)?;
        let is_wanted = |name: &RepositoryName| {
            repository.is_none_or(|wanted| wanted.to_string().eq_ignore_ascii_case(&name.to_string()))
        };
        for repository in repositories.iter().filter(|repository| is_wanted(&repository.name)) {
            let of_repository = journal.runs_in(repository, limit).await.map_err(unusable)?;
            runs.extend(of_repository.into_iter().map(|run| (run, None)));
        }
    }
    if repository.is_none() {
        let of_checkouts = files(settings)?;
        runs.extend(of_checkouts.iter().filter_map(|path| Some(on_checkout(&text(path)?)?)));
    }
    runs.sort_by_key(|(run, _)| std::cmp::Reverse(run.started.at));
    runs.truncate(limit);
    Ok(runs)
}

/// One run with its timeline.
pub(super) async fn run(settings: &Settings, id: &str) -> Result<Option<Shown>, Exit> {
    let on_checkouts = files(settings)?;
    let on_checkouts = on_checkouts.iter().filter_map(|path| {
        let text = text(path)?;
        let (run, folder) = on_checkout(&text)?;
        (run.id().0 == id).then(|| (run, folder, steps_of(&text)))
    });
    let found = match { on_checkouts }.next() {
        Some(found) => Some(found),
        None => in_database(settings, &RunId(id.into())).await?,
    };
    Ok(found.map(|(run, folder, timeline)| Shown {
        summary: RunSummary::of(&run, jiff::Timestamp::now())
            .ended(ended_at(&timeline))
            .in_folder(folder),
        timeline,
    }))
}

async fn in_database(
    settings: &Settings,
    id: &RunId,
) -> Result<Option<(Run, Option<String>, Vec<TimelineEntry>)>, Exit> {
    let Some(journal) = open(settings).await? else {
        return Ok(None);
    };
    match journal.find(id).await.map_err(unusable)? {
        Some(run) => Ok(Some((run, None, timeline(&journal, id).await?))),
        None => Ok(None),
    }
}

async fn timeline(journal: &Journal, id: &RunId) -> Result<Vec<TimelineEntry>, Exit> {
    let mut timeline = Timeline::default();
    let mut from = 0;
    loop {
        let some = journal.steps(id, from, STEPS).await.map_err(unusable)?;
        for stored in &some {
            // A step that cannot be read ends what can be shown.
            let Ok(Some(step)) = stored.step() else {
                return Ok(timeline.entries());
            };
            timeline.take((stored.place, &step, stored.at));
        }
        from += some.len();
        if some.len() < STEPS {
            return Ok(timeline.entries());
        }
    }
}

/// The database, if there is one.
async fn open(settings: &Settings) -> Result<Option<Journal>, Exit> {
    let database = match settings.database()? {
        JournalAddress::File(file) if !file.exists() => return Ok(None),
        JournalAddress::File(file) => Database::look(&file).await,
        JournalAddress::Postgres(url) => Database::look_at(&url).await,
    };
    database
        .map(|database| Some(Journal::Database(database)))
        .map_err(unusable)
}

/// The journals of runs on checkouts: of those that can be resumed, and of those that are over.
fn files(settings: &Settings) -> Result<Vec<PathBuf>, Exit> {
    let data = settings.data_dir()?;
    let folders = [folder::unfinished_runs(&data), folder::ended_runs(&data)];
    let entries = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok());
    let paths = entries.flatten().flatten().map(|entry| entry.path());
    let journals = paths.filter(|path| path.to_string_lossy().ends_with(".run.jsonl"));
    Ok(journals.take(MAX_FILES).collect())
}

/// The whole lines of a journal.
fn text(path: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(MAX_FILE).read_to_string(&mut text).ok()?;
    // Somebody may be writing the last line.
    text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
    Some(text)
}

fn on_checkout(text: &str) -> Option<WithFolder> {
    let folder = journal::folder_of(text).map(|folder| folder.display().to_string());
    Some((journal::fold(text).ok()?, folder))
}

fn steps_of(text: &str) -> Vec<TimelineEntry> {
    let mut timeline = Timeline::default();
    let steps = text.lines().filter_map(|line| serde_json::from_str(line).ok());
    for (place, step) in steps.enumerate() {
        timeline.take((place, &step, None));
    }
    timeline.entries()
}

fn unusable(error: journal::Error) -> Exit {
    Exit::Usage(format!(
        "{error}; check GREENLIGHT_DATABASE_URL and GREENLIGHT_DATA_DIR. `greenlight migrate` updates a journal of an \
         older version"
    ))
}
