//! Reads the journals on this machine: a service's database, and the files of interrupted runs on checkouts.

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;

use super::super::Exit;
use super::Shown;
use crate::config::addresses::JournalAddress;
use crate::config::settings::Settings;
use crate::domain::id::{RepositoryName, RunId};
use crate::domain::run::Run;
use crate::engine::worktree::INSTALLED;
use crate::journal::{self, Database, Journal};
use crate::summary::{RunSummary, Timeline, TimelineEntry, ended_at};

/// How many runs statistics count at most.
pub(super) const MAX_COUNTED: usize = 2_000;
/// How many repositories and files are read at most, and how large a file may be, in bytes.
const MAX_REPOSITORIES: usize = 200;
const MAX_FILES: usize = 200;
const MAX_FILE: u64 = 64 << 20;
/// How many steps are read at a time.
const STEPS: usize = 500;

/// A run, and its timeline.
type WithTimeline = (Run, Vec<TimelineEntry>);

/// The newest runs, at most `limit`.
pub(super) async fn newest(
    settings: &Settings,
    repository: Option<&RepositoryName>,
    limit: usize,
) -> Result<Vec<Run>, Exit> {
    let mut runs = Vec::new();
    if let Some(journal) = open(settings).await? {
        let repositories = journal.repositories(MAX_REPOSITORIES).await.map_err(unusable)?;
        let is_wanted = |name: &RepositoryName| {
            repository.is_none_or(|wanted| wanted.to_string().eq_ignore_ascii_case(&name.to_string()))
        };
        for repository in repositories.iter().filter(|repository| is_wanted(&repository.name)) {
            runs.extend(journal.runs_in(repository, limit).await.map_err(unusable)?);
        }
    }
    if repository.is_none() {
        runs.extend(of_checkouts(settings)?.into_iter().map(|(run, _)| run));
    }
    runs.sort_by_key(|run| std::cmp::Reverse(run.started.at));
    runs.truncate(limit);
    Ok(runs)
}

/// One run with its timeline.
pub(super) async fn run(settings: &Settings, id: &str) -> Result<Option<Shown>, Exit> {
    let (run, timeline) = match of_checkouts(settings)?.into_iter().find(|(run, _)| run.id().0 == id) {
        Some(found) => found,
        None => {
            let Some(journal) = open(settings).await? else {
                return Ok(None);
            };
            let id = RunId(id.into());
            let Some(run) = journal.find(&id).await.map_err(unusable)? else {
                return Ok(None);
            };
            (run, timeline(&journal, &id).await?)
        }
    };
    Ok(Some(Shown {
        summary: RunSummary::of(&run, jiff::Timestamp::now()).ended(ended_at(&timeline)),
        timeline,
    }))
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

/// The runs of checkouts that can be resumed, with their steps. A run that is over has no file.
fn of_checkouts(settings: &Settings) -> Result<Vec<WithTimeline>, Exit> {
    let folder = settings.data_dir()?.join(INSTALLED).join("local");
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Ok(Vec::new());
    };
    let files = entries.flatten().map(|entry| entry.path());
    let files = files
        .filter(|path| path.to_string_lossy().ends_with(".run.jsonl"))
        .take(MAX_FILES);
    Ok(files.filter_map(|path| of_checkout(&path)).collect())
}

fn of_checkout(path: &PathBuf) -> Option<WithTimeline> {
    let mut text = String::new();
    File::open(path).ok()?.take(MAX_FILE).read_to_string(&mut text).ok()?;
    // Somebody may be writing the last line.
    text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
    let run = journal::fold(&text).ok()?;
    let mut timeline = Timeline::default();
    let steps = text.lines().filter_map(|line| serde_json::from_str(line).ok());
    for (place, step) in steps.enumerate() {
        timeline.take((place, &step, None));
    }
    Some((run, timeline.entries()))
}

fn unusable(error: journal::Error) -> Exit {
    Exit::Usage(format!(
        "{error}; check GREENLIGHT_DATABASE_URL and GREENLIGHT_DATA_DIR. `greenlight migrate` updates a journal of an \
         older version"
    ))
}
