//! `git_log`, `git_blame` and `git_show`: reading the history of the code. The creator of the shell provides the
//! answers. Strangers wrote their content, so the model gets it as data.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{MAX_RESULT, repo_path};
use crate::agent::Shell;
use crate::agent::history::Question;
use crate::domain::id::RepoPath;
use crate::domain::redact::{bounded, fenced};

/// How long an answer may take.
const WAIT: Duration = Duration::from_secs(30);
/// How many commits are listed by default.
const LISTED: usize = 15;

/// Arguments of `git_log`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::agent) struct GitLog {
    /// A file or folder; everything if left out.
    #[serde(default)]
    path: Option<String>,
    /// How many commits, at most 50.
    #[serde(default)]
    limit: Option<usize>,
}

/// Arguments of `git_blame`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::agent) struct GitBlame {
    path: String,
    /// First line, from 1.
    from: usize,
    /// Last line.
    to: usize,
}

/// Arguments of `git_show`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::agent) struct GitShow {
    /// The beginning of the commit's id, as git_log has it.
    commit: String,
    /// Show only its changes to this path.
    #[serde(default)]
    path: Option<String>,
}

impl GitLog {
    pub(super) fn question(&self) -> Result<Question, String> {
        Ok(Question::Log {
            path: optional(self.path.as_deref())?,
            limit: self.limit.unwrap_or(LISTED),
        })
    }
}

impl GitBlame {
    pub(super) fn question(&self) -> Result<Question, String> {
        Ok(Question::Blame {
            path: repo_path(&self.path)?,
            from: self.from,
            to: self.to,
        })
    }
}

impl GitShow {
    pub(super) fn question(&self) -> Result<Question, String> {
        Ok(Question::Show {
            commit: self.commit.chars().take(64).collect(),
            path: optional(self.path.as_deref())?,
        })
    }
}

fn optional(path: Option<&str>) -> Result<Option<RepoPath>, String> {
    let path = path
        .map(|path| path.trim().trim_end_matches('/'))
        .filter(|path| !matches!(*path, "" | "."));
    path.map(repo_path).transpose()
}

/// Answers a question.
pub(super) async fn ask(question: Result<Question, String>, shell: &Shell<'_>) -> String {
    let question = match question {
        Ok(question) => question,
        Err(sentence) => return sentence,
    };
    let Some(history) = shell.history.clone() else {
        return "the history cannot be read here.".into();
    };
    let answered = tokio::task::spawn_blocking(move || history(&question));
    match tokio::time::timeout(WAIT, answered).await {
        Ok(Ok(text)) => fenced("text", &bounded(&text, MAX_RESULT - 512), MAX_RESULT - 512),
        Ok(Err(_)) => "the history cannot be read.".into(),
        Err(_) => "that takes too long; ask for less.".into(),
    }
}
