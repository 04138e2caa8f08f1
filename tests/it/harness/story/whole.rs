//! The whole of greenlight's posts for snapshots, without the parts that differ between runs.

use std::fmt::Write as _;

use github_double::{CheckRunView, ReviewView};

use super::Story;
use crate::harness::whole::stable;

impl Story {
    /// The sticky comment.
    #[track_caller]
    pub(crate) fn whole_sticky(&self) -> String {
        stable(&self.sticky())
    }

    /// The last answer to a comment, without its marker.
    #[track_caller]
    pub(crate) fn whole_answer(&self) -> String {
        let answer = self.answer();
        let (_, shown) = answer.split_once('\n').unwrap();
        stable(shown)
    }

    /// The only review, with its suggestions.
    #[track_caller]
    pub(crate) fn whole_review(&self) -> String {
        shown(&self.review())
    }

    /// greenlight's check run on the head, without its summary, which equals the sticky comment.
    #[track_caller]
    pub(crate) fn whole_check(&self) -> String {
        let check = self.check();
        stable(&without_summary(&check))
    }

    /// The message of the newest commit.
    #[track_caller]
    pub(crate) fn whole_message(&self) -> String {
        let commits = self.double.commits(self.number).unwrap();
        stable(&commits.last().unwrap().message)
    }
}

/// A review with its suggestions.
pub(crate) fn shown(review: &ReviewView) -> String {
    let mut text = review.body.clone();
    for comment in &review.comments {
        let (from, to) = comment.original;
        write!(text, "\n\n--- {}:{from}-{to}\n{}", comment.path, comment.body).unwrap();
    }
    stable(&text)
}

fn without_summary(check: &CheckRunView) -> String {
    let mut text = format!("{}\n", check.title.as_deref().unwrap_or_default());
    let conclusion = check.conclusion.as_deref().unwrap_or("none yet");
    writeln!(text, "{}, {conclusion}", check.status).unwrap();
    for note in &check.annotations {
        writeln!(text, "{}:{}: {}", note["path"], note["start_line"], note["message"]).unwrap();
    }
    for action in &check.actions {
        writeln!(text, "[{}] {}", action["label"], action["description"]).unwrap();
    }
    text
}
