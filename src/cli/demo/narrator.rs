//! Tells what happens on the pull request, as it happens, the way its page would show it.

use std::sync::{Arc, Mutex, PoisonError};

use crate::demo::{Double, Entry, What};

use super::super::terminal;

/// Prints what is new in the conversation.
#[derive(Clone)]
pub(super) struct Narrator {
    double: Double,
    told: Arc<Mutex<Told>>,
}

#[derive(Default)]
struct Told {
    number: Option<u64>,
    /// What was printed of each entry, in the order of the conversation.
    entries: Vec<String>,
}

impl Narrator {
    pub(super) fn new(double: Double) -> Self {
        Self {
            double,
            told: Arc::default(),
        }
    }

    /// Follows this pull request from now on.
    pub(super) fn follow(&self, number: u64) {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).number = Some(number);
    }

    /// Tells changes as they come, for ever.
    pub(super) async fn listen(self) {
        let mut changes = self.double.changes();
        while changes.changed().await.is_ok() {
            self.catch_up();
        }
    }

    /// Tells what was not told yet.
    pub(super) fn catch_up(&self) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(entries) = told.number.and_then(|number| self.double.conversation(number).ok()) else {
            return;
        };
        for (place, entry) in entries.iter().enumerate() {
            let text = shown(entry);
            match told.entries.get(place) {
                Some(before) if *before == text => {}
                Some(_) => {
                    terminal::show(&headed(entry, "edits it", &text));
                    told.entries[place] = text;
                }
                None => {
                    terminal::show(&headed(entry, verb(entry), &text));
                    told.entries.push(text);
                }
            }
        }
    }

    /// A sentence of the narrator's own.
    pub(super) fn say(&self, sentence: &str) {
        terminal::show(&format!("\n── {sentence}"));
    }

    /// Whether greenlight's check run on the head asks for somebody's action.
    pub(super) fn waits_for_an_answer(&self) -> bool {
        let number = self.told.lock().unwrap_or_else(PoisonError::into_inner).number;
        let Some(head) = number.and_then(|number| self.double.head(number).ok()) else {
            return false;
        };
        let runs = self.double.check_runs(&head);
        runs.iter()
            .any(|run| run.name == "greenlight" && run.conclusion.as_deref() == Some("action_required"))
    }
}

fn verb(entry: &Entry) -> &'static str {
    match entry.what {
        What::Commented(_) => "comments",
        What::Reviewed(_) => "reviews",
        What::Replied(_) => "replies",
        What::Checked(_) => "checks",
        What::Committed(_) => "commits",
        What::Closed => "closes the pull request",
    }
}

fn headed(entry: &Entry, verb: &str, text: &str) -> String {
    let indented: Vec<String> = text
        .lines()
        .map(|line| format!("  │ {line}").trim_end().to_string())
        .collect();
    format!("\n● {} {verb}\n{}", entry.who, indented.join("\n"))
}

fn shown(entry: &Entry) -> String {
    match &entry.what {
        What::Commented(comment) => {
            let reactions: String = comment
                .reactions
                .iter()
                .map(|(content, who)| format!("\n[{content} by {who}]"))
                .collect();
            plain(&comment.body) + &reactions
        }
        What::Reviewed(review) => {
            let mut text = plain(&review.body);
            for comment in &review.comments {
                let (start, line) = comment.original;
                let lines = if start == line {
                    format!("{line}")
                } else {
                    format!("{start}-{line}")
                };
                text += &format!(
                    "\n\n{}:{lines}\n{}\n{}",
                    comment.path,
                    last_lines(&comment.hunk, line - start),
                    plain(&comment.body)
                );
            }
            text
        }
        What::Replied(reply) => plain(&reply.body),
        What::Checked(run) => {
            let state = run.conclusion.as_deref().unwrap_or(&run.status);
            format!(
                "{} / {}: {state}, {}",
                run.app,
                run.name,
                run.title.as_deref().unwrap_or_default()
            )
        }
        What::Committed(commit) => format!("{} {}", &commit.sha[..7], commit.message.trim_end()),
        What::Closed => String::new(),
    }
}

/// The lines a comment is about: the last of its hunk.
fn last_lines(hunk: &str, more: u32) -> String {
    let lines: Vec<&str> = hunk.lines().collect();
    let from = lines.len().saturating_sub(more as usize + 1);
    lines[from..].join("\n")
}

/// Markdown as a terminal shows it: no hidden markers, folded details closed.
fn plain(body: &str) -> String {
    let mut text = String::new();
    let mut depth = 0usize;
    for line in body.lines() {
        if let Some(rest) = line.strip_prefix("<details><summary>") {
            if depth == 0 {
                text += &format!("▸ {}\n", rest.trim_end_matches("</summary>"));
            }
            depth += 1;
        } else if line == "</details>" {
            depth = depth.saturating_sub(1);
        } else if depth == 0 && !(line.starts_with("<!--") && line.ends_with("-->")) {
            text += &format!(
                "{}\n",
                line.replace("<sub>", "").replace("</sub>", "").replace("**", "")
            );
        }
    }
    while text.contains("\n\n\n") {
        text = text.replace("\n\n\n", "\n\n");
    }
    text.trim().to_string()
}
