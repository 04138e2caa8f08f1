//! Narrates what happens on the pull request, as its page would show it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use github_double::{CheckRunView, Double, Entry, What};

use super::super::terminal;
use super::markdown;

/// After a pause of this length, changes are printed.
const PAUSE: Duration = Duration::from_millis(100);
/// After this many changes without a pause, they are printed anyway.
const MAX_PAUSES: usize = 50;

/// Prints what is new in the conversation.
#[derive(Clone)]
pub(super) struct Narrator {
    double: Double,
    state: Arc<Mutex<NarratorState>>,
}

#[derive(Default)]
struct NarratorState {
    number: Option<u64>,
    /// The printed text of each entry, in the order of the conversation.
    entries: Vec<EntryText>,
    /// How often anything other than a receipt was printed.
    times: usize,
}

/// The text of an entry.
struct EntryText {
    text: String,
    reactions: Vec<(String, String)>,
}

impl Narrator {
    pub(super) fn new(double: Double) -> Self {
        Self {
            double,
            state: Arc::default(),
        }
    }

    /// Follows this pull request from now on, under a heading.
    pub(super) fn follow(&self, number: u64, heading: &str) {
        // The lock keeps [`Self::listen`] from printing before the heading.
        let mut state = self.state();
        self.say(heading);
        state.number = Some(number);
    }

    /// Prints changes as they arrive, forever. A change that takes several requests is printed once it is complete.
    pub(super) async fn listen(self) {
        let mut changes = self.double.changes();
        while changes.changed().await.is_ok() {
            for _ in 0..MAX_PAUSES {
                if tokio::time::timeout(PAUSE, changes.changed()).await.is_err() {
                    break;
                }
            }
            self.catch_up();
        }
    }

    /// Prints what is new: first new entries, then changes of old ones, and checks last.
    pub(super) fn catch_up(&self) {
        let mut state = self.state();
        let Some(entries) = state.number.and_then(|number| self.double.conversation(number).ok()) else {
            return;
        };
        let known = state.entries.len().min(entries.len());
        let mut order: Vec<usize> = (known..entries.len()).chain(0..known).collect();
        order.sort_by_key(|&place| match entries[place].what {
            What::Checked(_) if place < known => 1,
            What::Checked(_) => 2,
            _ => 0,
        });
        for &place in &order {
            let now = shown(&entries[place]);
            let before = state.entries.get(place);
            if before.is_none_or(|before| before.text != now.text) {
                terminal::show_story(&headed(&entries[place], before.is_some(), &now.text));
                state.times += 1;
            }
            let known = state.entries.get(place).map_or(0, |before| before.reactions.len());
            for (content, who) in now.reactions.iter().skip(known) {
                terminal::show_story(&format!("  {} {who}", picture(content)));
            }
        }
        state.entries = entries.iter().map(shown).collect();
    }

    /// Prints a sentence of the narrator.
    pub(super) fn say(&self, sentence: &str) {
        terminal::show_story(&format!("\n── {sentence}"));
    }

    /// How often something was printed so far, except receipts.
    pub(super) fn times(&self) -> usize {
        self.state().times
    }

    /// greenlight's check run on the head, if there is one.
    pub(super) fn check(&self) -> Option<CheckRunView> {
        let number = self.state().number?;
        let head = self.double.head(number).ok()?;
        let mut runs = self.double.check_runs(&head).into_iter();
        runs.rfind(|run| run.name == "greenlight")
    }

    /// Whether greenlight's check run on the head waits for an answer.
    pub(super) fn waits_for_an_answer(&self) -> bool {
        self.check()
            .is_some_and(|check| check.conclusion.as_deref() == Some("action_required"))
    }

    fn state(&self) -> MutexGuard<'_, NarratorState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A block with a bar for somebody's text, or one line for a check.
fn headed(entry: &Entry, is_edit: bool, text: &str) -> String {
    let who = &entry.who;
    let does = match &entry.what {
        What::Checked(_) => return format!("\n{text}"),
        What::Closed => return format!("\n● {who} closes the pull request"),
        What::Committed(commit) => format!("pushes {}", short(&commit.sha)),
        What::Commented(_) if is_edit => "edits the comment".into(),
        What::Commented(_) => "comments".into(),
        What::Reviewed(_) if is_edit => "edits the review".into(),
        What::Reviewed(_) => "reviews".into(),
        What::Replied(_) if is_edit => "edits the reply".into(),
        What::Replied(_) => "replies".into(),
    };
    let indented: Vec<String> = text
        .lines()
        .map(|line| format!("  │ {line}").trim_end().to_string())
        .collect();
    format!("\n● {who} {does}\n{}", indented.join("\n"))
}

fn shown(entry: &Entry) -> EntryText {
    let mut reactions = Vec::new();
    let text = match &entry.what {
        What::Commented(comment) => {
            reactions.clone_from(&comment.reactions);
            markdown::plain(&comment.body)
        }
        What::Reviewed(review) => {
            let mut parts = vec![markdown::plain(&review.body)];
            for comment in &review.comments {
                let (start, line) = comment.original;
                let lines = if start == line {
                    format!("{line}")
                } else {
                    format!("{start}-{line}")
                };
                let old = last_lines(&comment.hunk, line - start);
                let body = markdown::plain(&markdown::with_suggestions(&comment.body, &old));
                parts.push(format!("{}:{lines}\n{body}", comment.path));
            }
            parts.join("\n\n")
        }
        What::Replied(reply) => {
            reactions.clone_from(&reply.reactions);
            markdown::plain(&reply.body)
        }
        What::Checked(run) => check(run),
        What::Committed(commit) => commit.message.trim_end().to_string(),
        What::Closed => String::new(),
    };
    EntryText { text, reactions }
}

fn check(run: &CheckRunView) -> String {
    let state = run.conclusion.as_deref().unwrap_or(&run.status);
    let mark = match state {
        "success" => '✓',
        "failure" | "timed_out" => '✗',
        "action_required" => '!',
        "queued" | "in_progress" => '…',
        _ => '–',
    };
    let name = if run.app == run.name {
        run.name.clone()
    } else {
        format!("{} / {}", run.app, run.name)
    };
    let title = run.title.as_deref().filter(|title| !title.is_empty());
    let title = title.map_or_else(String::new, |title| format!(": {title}"));
    format!(
        "{mark} {name} on {}, {}{title}",
        short(&run.head),
        state.replace('_', " ")
    )
}

/// The lines that a comment is about: the last lines of its hunk, without diff markers.
fn last_lines(hunk: &str, more: u32) -> Vec<&str> {
    let lines: Vec<&str> = hunk.lines().filter(|line| !line.starts_with('-')).collect();
    let from = lines.len().saturating_sub(more as usize + 1);
    lines[from..]
        .iter()
        .map(|line| line.get(1..).unwrap_or_default())
        .collect()
}

fn picture(reaction: &str) -> &str {
    match reaction {
        "eyes" => "👀",
        "+1" => "👍",
        "-1" => "👎",
        "rocket" => "🚀",
        other => other,
    }
}

fn short(sha: &str) -> &str {
    sha.get(..7).unwrap_or(sha)
}
