//! Reads the journals on this machine: a service's database, and the files of runs on checkouts.

use std::fs::{File, TryLockError};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

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

/// A run of this machine.
pub(super) struct LocalRun {
    pub(super) run: Run,
    /// The folder of its checkout, if it is on one and that is known.
    folder: Option<String>,
    /// Whether it is on a checkout, is not over, and no process works on it.
    is_interrupted: bool,
}

impl LocalRun {
    fn of_service(run: Run) -> Self {
        Self {
            run,
            folder: None,
            is_interrupted: false,
        }
    }

    /// As it is now. `ended_at` is when it ended, as far as that is known.
    pub(super) fn summary(self, ended_at: Option<Timestamp>) -> RunSummary {
        let summary = match self.is_interrupted {
            true => RunSummary::of_interrupted(&self.run),
            false => RunSummary::of(&self.run, Timestamp::now()),
        };
        summary.ended(ended_at).in_folder(self.folder)
    }
}

/// The newest runs, at most `limit`.
pub(super) async fn newest(
    settings: &Settings,
    repository: Option<&RepositoryName>,
    limit: usize,
) -> Result<Vec<LocalRun>, Exit> {
    let mut runs = Vec::new();
    if let Some(journal) = open(settings).await? {
        let repositories = journal.repositories(MAX_REPOSITORIES).await.map_err(unusable)?;
        let is_wanted = |name: &RepositoryName| {
            repository.is_none_or(|wanted| wanted.to_string().eq_ignore_ascii_case(&name.to_string()))
        };
        for repository in repositories.iter().filter(|repository| is_wanted(&repository.name)) {
            let of_repository = journal.runs_in(repository, limit).await.map_err(unusable)?;
            runs.extend(of_repository.into_iter().map(LocalRun::of_service));
        }
    }
    if repository.is_none() {
        let of_checkouts = files(settings)?;
        runs.extend(of_checkouts.iter().filter_map(|path| Some(on_checkout(path)?.0)));
    }
    runs.sort_by_key(|local| std::cmp::Reverse(local.run.started.at));
    runs.truncate(limit);
    Ok(runs)
}

/// One run with its timeline.
pub(super) async fn run(settings: &Settings, id: &str) -> Result<Option<Shown>, Exit> {
    let mut on_checkouts = files(settings)?;
    // Those that are over are named after their run.
    let name = format!("{id}.run.jsonl");
    on_checkouts.sort_by_key(|path| path.file_name().is_none_or(|own| own != name.as_str()));
    let mut on_checkouts = on_checkouts.iter().filter_map(|path| {
        let (local, text) = on_checkout(path)?;
        (local.run.id().0 == id).then(|| (local, steps_of(&text)))
    });
    let found = match on_checkouts.next() {
        Some(found) => Some(found),
        None => in_database(settings, &RunId(id.into())).await?,
    };
    Ok(found.map(|(local, timeline)| Shown {
        summary: local.summary(ended_at(&timeline)),
        timeline,
    }))
}

async fn in_database(settings: &Settings, id: &RunId) -> Result<Option<(LocalRun, Vec<TimelineEntry>)>, Exit> {
    let Some(journal) = open(settings).await? else {
        return Ok(None);
    };
    match journal.find(id).await.map_err(unusable)? {
        Some(run) => Ok(Some((LocalRun::of_service(run), timeline(&journal, id).await?))),
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

/// The run in a journal, and its whole lines.
fn on_checkout(path: &Path) -> Option<(LocalRun, String)> {
    let mut file = File::open(path).ok()?;
    // Who works on a run has its journal locked. The lock is only looked at, and given back with the file.
    let is_worked_on = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
    let mut text = String::new();
    file.by_ref().take(MAX_FILE).read_to_string(&mut text).ok()?;
    // Somebody may be writing the last line.
    text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
    let run = journal::fold(&text).ok()?;
    let local = LocalRun {
        folder: journal::folder_of(&text).map(|folder| folder.display().to_string()),
        is_interrupted: run.end.is_none() && !is_worked_on,
        run,
    };
    Some((local, text))
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
