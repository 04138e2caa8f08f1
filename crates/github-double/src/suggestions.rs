//! The "Commit suggestion" button: what GitHub does with suggestion blocks, and when it refuses.
//!
//! It works on the bytes of the blob at the head: replaced lines keep the file's line endings, and a last line
//! without a newline stays without one. The error messages are those of GitHub's pages.

use std::collections::BTreeMap;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use super::names::Role;
use super::play::{Work, commit_on, known};
use super::state::{ReviewComment, State};
use super::store::{self, Change};
use super::{Double, DoubleError, threads};

/// One suggestion, with the lines of the head that it replaces.
pub(super) struct Suggestion {
    pub(super) path: String,
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) text: String,
    pub(super) author: String,
}

impl Double {
    /// Commits the suggestions of these review comments as one batch; delivers `pull_request.synchronize`. Returns
    /// the SHA of the commit.
    ///
    /// # Errors
    /// [`DoubleError::Refused`] with the text of GitHub's page if its button would be disabled.
    pub async fn commit_suggestions(&self, comments: &[u64], login: &str) -> Result<String, DoubleError> {
        let sha = self.act(login, |state| commit(state, comments, login))?;
        self.delivered().await;
        Ok(sha)
    }
}

pub(super) fn refuse<T>(text: &str) -> Result<T, DoubleError> {
    Err(DoubleError::Refused(text.into()))
}

fn commit(state: &mut State, ids: &[u64], login: &str) -> Result<String, DoubleError> {
    let Some(first) = ids.first() else {
        return refuse("There is nothing to commit.");
    };
    let first = state.review_comments.get(first).ok_or(DoubleError::Missing {
        what: "review comment",
        id: *first,
    })?;
    let pull = known(state, first.number)?;
    let mut files: BTreeMap<String, Vec<Suggestion>> = BTreeMap::new();
    for id in ids {
        let comment = state.review_comments.get(id).ok_or(DoubleError::Missing {
            what: "review comment",
            id: *id,
        })?;
        if comment.number != pull.number {
            return refuse("Suggestions of one batch belong to one pull request.");
        }
        let suggestion = read(state, comment)?;
        files.entry(suggestion.path.clone()).or_default().push(suggestion);
    }
    let may = state
        .repository(pull.head_repository)
        .map_or(Role::None, |head| head.role(login))
        >= Role::Write;
    if !may {
        return refuse("You must have write access to the head branch to commit suggestions.");
    }
    let authors: Vec<String> = files.values().flatten().map(|one| one.author.clone()).collect();
    let mut changes: Vec<Change> = Vec::new();
    for (path, suggestions) in files {
        let home = state.repository(pull.head_repository).ok_or(DoubleError::Missing {
            what: "repository",
            id: 0,
        })?;
        let Some(before) = store::file_at(&home.git, pull.head, &path) else {
            return refuse("Outdated suggestions cannot be applied.");
        };
        changes.push((path, Some(apply(&before, suggestions)?)));
    }
    let message = message(state, authors);
    let id = commit_on(
        state,
        pull.head_repository,
        pull.head,
        &Work {
            author: login,
            message: &message,
            changes: &changes,
        },
    )?;
    state.move_reference(pull.head_repository, &pull.head_reference(), id, login)?;
    Ok(id.to_string())
}

fn message(state: &State, mut authors: Vec<String>) -> String {
    let title = if authors.len() == 1 {
        "Apply suggestion from code review"
    } else {
        "Apply suggestions from code review"
    };
    authors.sort();
    authors.dedup();
    let trailers = authors.iter().map(|login| {
        let who = state.identity(login);
        format!("Co-authored-by: {} <{}>", who.name, who.email)
    });
    format!("{title}\n\n{}", trailers.collect::<Vec<_>>().join("\n"))
}

/// Extracts the suggestion of a comment, or says why its button is disabled.
fn read(state: &State, comment: &ReviewComment) -> Result<Suggestion, DoubleError> {
    let pull = known(state, comment.number)?;
    if !pull.open {
        return refuse("Suggestions cannot be applied while the pull request is closed.");
    }
    if threads::is_pending(state, comment) {
        return refuse("Suggestions cannot be applied from pending reviews.");
    }
    if comment.place.side != "RIGHT" || comment.place.start_side.as_deref() == Some("LEFT") {
        return refuse("Applying suggestions on deleted lines is not supported.");
    }
    let Some(text) = block(&comment.body) else {
        return refuse("The comment has no suggestion.");
    };
    let Some((first, last)) = threads::current_lines(state, comment) else {
        return refuse("Outdated suggestions cannot be applied.");
    };
    Ok(Suggestion {
        path: comment.place.path.clone(),
        first,
        last,
        text,
        author: comment.author.clone(),
    })
}

/// The content of the first fenced block whose info string is `suggestion`.
pub(super) fn block(body: &str) -> Option<String> {
    let body = body.replace("\r\n", "\n");
    let mut text: Option<String> = None;
    for event in Parser::new(&body) {
        match (event, &mut text) {
            (Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))), None) if &*info == "suggestion" => {
                text = Some(String::new());
            }
            (Event::Text(part), Some(text)) => text.push_str(&part),
            (Event::End(TagEnd::CodeBlock), Some(_)) => break,
            _ => {}
        }
    }
    text
}

/// Replaces the lines of every suggestion, starting with the last one, so that line numbers stay valid.
pub(super) fn apply(before: &[u8], mut suggestions: Vec<Suggestion>) -> Result<Vec<u8>, DoubleError> {
    suggestions.sort_by_key(|one| one.first);
    if suggestions.windows(2).any(|pair| pair[0].last >= pair[1].first) {
        return refuse("Only one suggestion per line can be applied in a batch.");
    }
    let lines: Vec<&[u8]> = before.split_inclusive(|byte| *byte == b'\n').collect();
    let mut after: Vec<Vec<u8>> = lines.iter().map(|line| line.to_vec()).collect();
    for one in suggestions.iter().rev() {
        let range = (one.first as usize).saturating_sub(1)..one.last as usize;
        let Some(old) = lines.get(range.clone()).filter(|old| !old.is_empty()) else {
            return refuse("Outdated suggestions cannot be applied.");
        };
        let new = replacement(old, &one.text);
        if old.concat() == new {
            return refuse("This suggestion is invalid because no changes were made to the code.");
        }
        after.splice(range, [new]);
    }
    Ok(after.concat())
}

fn replacement(old: &[&[u8]], text: &str) -> Vec<u8> {
    let ending = if old[0].ends_with(b"\r\n") { "\r\n" } else { "\n" };
    let mut new = text.replace('\n', ending);
    let closed = old.last().is_some_and(|line| line.ends_with(b"\n"));
    if !closed && new.ends_with(ending) {
        new.truncate(new.len() - ending.len());
    }
    new.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(first: u32, last: u32, text: &str) -> Suggestion {
        Suggestion {
            path: "f".into(),
            first,
            last,
            text: text.into(),
            author: "bot".into(),
        }
    }

    #[track_caller]
    fn check(before: &str, suggestions: Vec<Suggestion>, expected: Result<&str, &str>) {
        let after = apply(before.as_bytes(), suggestions).map_err(|error| error.to_string());
        let after = after.map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(after, expected.map(str::to_owned).map_err(str::to_owned));
    }

    #[test]
    fn lines_are_replaced_on_the_bytes() {
        check("a\nb\nc\n", vec![one(2, 2, "B\n")], Ok("a\nB\nc\n"));
        check("a\nb\nc\n", vec![one(1, 2, "x\ny\nz\n")], Ok("x\ny\nz\nc\n"));
        check("a\r\nb\r\n", vec![one(2, 2, "B\nC\n")], Ok("a\r\nB\r\nC\r\n"));
        check("a\nb", vec![one(2, 2, "B\n")], Ok("a\nB"));
        check("a\nb\nc\n", vec![one(2, 2, "")], Ok("a\nc\n"));
        check("a\nb\nc\n", vec![one(2, 2, "\n")], Ok("a\n\nc\n"));
        check(
            "a\nb\nc\n",
            vec![one(3, 3, "C\n"), one(1, 1, "A\nAA\n")],
            Ok("A\nAA\nb\nC\n"),
        );
    }

    #[test]
    fn what_the_page_would_not_apply_is_refused() {
        check(
            "a\nb\n",
            vec![one(1, 1, "a\n")],
            Err("This suggestion is invalid because no changes were made to the code."),
        );
        check(
            "a\nb",
            vec![one(2, 2, "b\n")],
            Err("This suggestion is invalid because no changes were made to the code."),
        );
        check(
            "a\nb\n",
            vec![one(1, 2, "x\n"), one(2, 2, "y\n")],
            Err("Only one suggestion per line can be applied in a batch."),
        );
        check(
            "a\n",
            vec![one(2, 2, "y\n")],
            Err("Outdated suggestions cannot be applied."),
        );
    }

    #[test]
    fn the_block_is_found_as_markdown_has_it() {
        assert_eq!(block("Hi\n\n```suggestion\na\n```\n").as_deref(), Some("a\n"));
        assert_eq!(block("````suggestion\r\n```\r\n````\r\n").as_deref(), Some("```\n"));
        assert_eq!(block("```suggestion\n```").as_deref(), Some(""));
        assert_eq!(block("```suggestion\n\n```").as_deref(), Some("\n"));
        assert_eq!(block("```rust\na\n```"), None);
    }
}
