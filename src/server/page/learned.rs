//! What the runs of a repository show and taught, each run read once for each number of its steps.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::super::remembered::Remembered;
use super::Missing;
use super::text::shown;
use crate::domain::id::{Repository, RunId};
use crate::domain::memory::{self, Fix, Forgotten, MAX_FIXES, MAX_REJECTIONS, Memory, Rejection};
use crate::domain::run::Run;
use crate::journal::{Journal, RunRow};
use crate::summary::Counted;

/// How many runs of a repository are read, how many repositories are kept, and for how long.
const MAX_COUNTED: usize = 2_000;
const MAX_KEPT: usize = 16;
const KEPT_FOR: Duration = Duration::from_secs(60 * 60);
const MAX_TEXT: usize = 300;

/// What one run shows and taught.
struct Lesson {
    row: RunRow,
    /// `None` if it cannot be read.
    counted: Option<Counted>,
    started: Timestamp,
    command: Option<String>,
    entries: Vec<LearnedEntry>,
}

/// Something that greenlight remembers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LearnedEntry {
    pub(super) id: String,
    pub(super) is_fix: bool,
    pub(super) text: String,
    /// The changed files, or the reason for a rejection.
    pub(super) detail: String,
    pub(super) at: Timestamp,
}

/// What the runs of a repository show and taught.
#[derive(Default)]
pub(super) struct Learned {
    lessons: Vec<Arc<Lesson>>,
}

/// What is remembered.
pub(super) struct Recalled {
    /// The command that runs the tests.
    pub(super) command: Option<String>,
    pub(super) entries: Vec<LearnedEntry>,
}

type Slot = Arc<tokio::sync::Mutex<Arc<Learned>>>;

/// The repositories that somebody looked at lately.
#[derive(Clone, Default)]
pub(super) struct LearnedCache(Arc<Mutex<Remembered<String, Slot, MAX_KEPT>>>);

impl LearnedCache {
    /// What is known about a repository now.
    pub(super) async fn of(&self, journal: &Journal, repository: &Repository) -> Result<Arc<Learned>, Missing> {
        let key = repository.key();
        let slot = {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            let slot = kept.get(&key, now).cloned().unwrap_or_default();
            kept.keep(key, Arc::clone(&slot), now, KEPT_FOR);
            slot
        };
        // One person reads what is new, and the others wait for it.
        let mut slot = slot.lock().await;
        let mut known: HashMap<RunId, Arc<Lesson>> = slot
            .lessons
            .iter()
            .map(|lesson| (lesson.row.id.clone(), Arc::clone(lesson)))
            .collect();
        let mut lessons = Vec::new();
        for row in journal.rows_in(repository, MAX_COUNTED).await? {
            let same = known.remove(&row.id).filter(|lesson| lesson.row.is_same(&row));
            lessons.push(match same {
                Some(lesson) => lesson,
                None => Arc::new(Lesson::of(
                    journal.brief(&row.id).await?.map(|(run, _)| run).as_ref(),
                    row,
                )),
            });
        }
        *slot = Arc::new(Learned { lessons });
        Ok(Arc::clone(&slot))
    }
}

impl Lesson {
    fn of(run: Option<&Run>, row: RunRow) -> Self {
        // An unreadable run teaches nothing, but it is counted.
        let teaches = run.filter(|run| run.unreadable.is_none());
        let Memory {
            test_command,
            fixes,
            rejections,
            ..
        } = memory::recall(teaches, &Forgotten::default());
        let entries = fixes.iter().map(LearnedEntry::of_fix);
        Self {
            counted: run.map(Counted::of),
            started: run.map_or(Timestamp::MIN, |run| run.started.at),
            command: test_command,
            entries: entries
                .chain(rejections.iter().map(LearnedEntry::of_rejection))
                .collect(),
            row,
        }
    }
}

impl LearnedEntry {
    fn of_fix(fix: &Fix) -> Self {
        let paths: Vec<&str> = fix.patch.paths().map(crate::domain::id::RepoPath::as_str).collect();
        Self {
            id: fix.id(),
            is_fix: true,
            text: shown(&fix.summary, MAX_TEXT),
            detail: shown(&paths.join(", "), MAX_TEXT),
            at: fix.at,
        }
    }

    fn of_rejection(down: &Rejection) -> Self {
        Self {
            id: down.id(),
            is_fix: false,
            text: shown(&down.summary, MAX_TEXT),
            detail: shown(&down.reason, MAX_TEXT),
            at: down.at,
        }
    }
}

impl Learned {
    /// What statistics count, newest run first.
    pub(super) fn counted(&self) -> impl Iterator<Item = &Counted> {
        self.lessons.iter().filter_map(|lesson| lesson.counted.as_ref())
    }

    /// What is remembered, newest first, without what was forgotten: as [`memory::recall`] has it.
    pub(super) fn recalled(&self, forgotten: &Forgotten) -> Recalled {
        let counts = self.lessons.iter().filter(|lesson| forgotten.keeps_run(lesson.started));
        let entries: Vec<&LearnedEntry> = counts
            .clone()
            .flat_map(|lesson| &lesson.entries)
            .filter(|entry| forgotten.keeps(&entry.id, entry.at))
            .collect();
        let of_kind = |is_fix: bool, most: usize| {
            let entries = entries.iter().filter(move |entry| entry.is_fix == is_fix);
            entries
                .take(most)
                .map(|entry| LearnedEntry::clone(entry))
                .collect::<Vec<_>>()
        };
        let mut shown = of_kind(true, MAX_FIXES);
        shown.extend(of_kind(false, MAX_REJECTIONS));
        Recalled {
            command: counts.clone().find_map(|lesson| lesson.command.clone()),
            entries: shown,
        }
    }
}
