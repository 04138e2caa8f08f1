//! The rules of pull requests alone: the diff of two trees, which comments a review may have on it, and what "Commit
//! suggestion" does with them.
//!
//! There is no server, so that thousands of cases can be tested. The routes use the same code, which does not know
//! how suggestions are created.

use std::collections::BTreeMap;

use git2::build::TreeUpdateBuilder;
use git2::{FileMode, ObjectType, Oid, Repository, TreeWalkMode, TreeWalkResult};
use serde_json::Value;
use tempfile::TempDir;

use super::answer::{ResponseBody, RestAnswer};
use super::diff_rules::{self, FileDiff};
use super::state::CommentPosition;
use super::suggestions::{self, Suggestion};
use super::{DoubleError, placing, store, threads};

/// The files of a tree, by path: git's mode, such as `0o100644`, and the bytes.
pub type Files = BTreeMap<String, (u32, Vec<u8>)>;

/// A pull request that consists of its diff, and can be commented on.
pub struct PullRequestDiff {
    git: Repository,
    head: Oid,
    files: Vec<FileDiff>,
    /// The directory of the repository, which lives as long as this value.
    _home: TempDir,
}

/// What `/pulls/{number}/files` says about one file.
/// <https://docs.github.com/en/rest/pulls/pulls#list-pull-requests-files>
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownFile {
    /// The path in the head; in the base if the file was deleted.
    pub filename: String,
    /// The path in the base, if the file was renamed.
    pub previous_filename: Option<String>,
    /// `added`, `removed`, `modified` or `renamed`.
    pub status: &'static str,
    /// The hunks. `None` for binary files and those that are too large.
    pub patch: Option<String>,
}

impl PullRequestDiff {
    /// Compares two trees like a pull request's page.
    ///
    /// # Errors
    /// When the files do not form a tree, or cannot be stored.
    pub fn new(base: &Files, head: &Files) -> Result<Self, DoubleError> {
        let home = tempfile::tempdir()?;
        let git = store::init(&home.path().join("git"), None)?;
        let (base, head) = (write(&git, base)?, write(&git, head)?);
        let files = diff_rules::files(&store::tree_diff(&git, &git.find_tree(base)?, &git.find_tree(head)?)?)?;
        Ok(Self {
            git,
            head,
            files,
            _home: home,
        })
    }

    /// The files that the pull request changes.
    pub fn files(&self) -> Vec<ShownFile> {
        let shown = self.files.iter().map(|file| ShownFile {
            filename: file.path.clone(),
            previous_filename: file.previous.clone(),
            status: file.status,
            patch: file.patch(),
        });
        shown.collect()
    }

    /// Whether GitHub would accept a review with these comments, given in the API's format.
    /// <https://docs.github.com/en/rest/pulls/reviews#create-a-review-for-a-pull-request>
    ///
    /// # Errors
    /// [`DoubleError::Refused`] with GitHub's messages for all errors.
    pub fn review(&self, comments: &[Value]) -> Result<(), DoubleError> {
        self.place(comments).map(|_| ())
    }

    /// Commits the suggestions of these comments as one batch, and returns the tree of that commit.
    ///
    /// # Errors
    /// [`DoubleError::Refused`] with the text of GitHub's page if its button would be disabled.
    pub fn commit(&self, comments: &[Value]) -> Result<Files, DoubleError> {
        let tree = self.commit_on(self.head, self.place(comments)?)?;
        read(&self.git, tree)
    }

    /// Commits the suggestions of these comments one after another, and returns the tree of the last commit. The
    /// lines of a comment move with the lines around them.
    ///
    /// # Errors
    /// Those of [`Self::commit`], and when an earlier commit makes one of them outdated.
    pub fn commit_each(&self, comments: &[Value]) -> Result<Files, DoubleError> {
        let posted = self.git.find_tree(self.head)?;
        let mut tree = self.head;
        for (mut place, body) in self.place(comments)? {
            let moved = threads::moved_lines(&self.git, (&posted, &self.git.find_tree(tree)?), &place);
            let Some((first, last)) = moved else {
                return suggestions::refuse("Outdated suggestions cannot be applied.");
            };
            (place.start_line, place.line) = (Some(first), last);
            tree = self.commit_on(tree, vec![(place, body)])?;
        }
        read(&self.git, tree)
    }

    fn commit_on(&self, tree: Oid, comments: Vec<(CommentPosition, String)>) -> Result<Oid, DoubleError> {
        let mut batch: BTreeMap<String, Vec<Suggestion>> = BTreeMap::new();
        for (place, body) in comments {
            let suggestion = suggestion(place, &body)?;
            batch.entry(suggestion.path.clone()).or_default().push(suggestion);
        }
        let tree = self.git.find_tree(tree)?;
        let mut changes = Vec::new();
        for (path, suggestions) in batch {
            let before = self.git.find_blob(tree.get_path(path.as_ref())?.id())?;
            let after = suggestions::apply(before.content(), suggestions)?;
            changes.push((path, Some(after)));
        }
        Ok(store::write_changes(&self.git, Some(&tree), &changes)?)
    }

    fn place(&self, comments: &[Value]) -> Result<Vec<(CommentPosition, String)>, DoubleError> {
        let mut keys = comments
            .iter()
            .filter_map(Value::as_object)
            .flat_map(serde_json::Map::keys);
        if let Some(unknown) = keys.find(|key| !placing::COMMENT_KEYS.contains(&key.as_str())) {
            return suggestions::refuse(&format!("a review comment has the unknown key {unknown:?}"));
        }
        placing::place_in(&self.files, comments).map_err(|answer| DoubleError::Refused(words(&answer)))
    }
}

/// The errors in a response.
fn words(answer: &RestAnswer) -> String {
    match &answer.body {
        ResponseBody::Json(body) => body["errors"].to_string(),
        ResponseBody::Empty | ResponseBody::Bytes(..) => answer.status.to_string(),
    }
}

fn suggestion(place: CommentPosition, body: &str) -> Result<Suggestion, DoubleError> {
    if place.side != "RIGHT" || place.start_side.as_deref() == Some("LEFT") {
        return suggestions::refuse("Applying suggestions on deleted lines is not supported.");
    }
    let Some(text) = suggestions::block(body) else {
        return suggestions::refuse("The comment has no suggestion.");
    };
    Ok(Suggestion {
        path: place.path,
        first: place.start_line.unwrap_or(place.line),
        last: place.line,
        text,
        author: String::new(),
    })
}

fn write(git: &Repository, files: &Files) -> Result<Oid, DoubleError> {
    let mut update = TreeUpdateBuilder::new();
    for (path, (mode, bytes)) in files {
        let mode = match mode {
            0o100_755 => FileMode::BlobExecutable,
            0o120_000 => FileMode::Link,
            _ => FileMode::Blob,
        };
        update.upsert(path.as_str(), git.blob(bytes)?, mode);
    }
    let empty = git.find_tree(git.treebuilder(None)?.write()?)?;
    Ok(update.create_updated(git, &empty)?)
}

fn read(git: &Repository, tree: Oid) -> Result<Files, DoubleError> {
    let mut entries = Vec::new();
    git.find_tree(tree)?.walk(TreeWalkMode::PreOrder, |folder, entry| {
        if entry.kind() == Some(ObjectType::Blob) {
            let path = format!("{folder}{}", String::from_utf8_lossy(entry.name_bytes()));
            entries.push((path, entry.filemode().cast_unsigned(), entry.id()));
        }
        TreeWalkResult::Ok
    })?;
    let mut files = Files::new();
    for (path, mode, id) in entries {
        files.insert(path, (mode, git.find_blob(id)?.content().to_vec()));
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tree(text: &str) -> Files {
        Files::from([("a b/f".into(), (0o100_755, text.into()))])
    }

    fn diff() -> PullRequestDiff {
        PullRequestDiff::new(&tree("1\n2\n3\n4\n5\n6\n7\n8\n"), &tree("1\n2\n3\n4\n5\n6\n7\nVIII\n")).unwrap()
    }

    fn comment(line: u32, body: &str) -> Value {
        json!({ "path": "a b/f", "side": "RIGHT", "line": line, "body": body })
    }

    #[test]
    fn a_batch_is_committed_and_keeps_the_mode() {
        let batch = [
            comment(8, "```suggestion\neight\n```"),
            comment(6, "Why?\n```suggestion\n```"),
        ];
        assert_eq!(diff().commit(&batch).unwrap(), tree("1\n2\n3\n4\n5\n7\neight\n"));
        let [file] = &diff().files()[..] else {
            panic!("one file is changed")
        };
        assert_eq!((file.filename.as_str(), file.status), ("a b/f", "modified"));
        assert_eq!(file.patch.as_deref(), Some("@@ -5,4 +5,4 @@\n 5\n 6\n 7\n-8\n+VIII"));
    }

    #[test]
    fn comments_move_with_their_lines_when_they_are_committed_one_by_one() {
        let five = comment(5, "```suggestion\n5\n5.5\n```");
        let eight = comment(8, "```suggestion\neight\n```");
        let expected = tree("1\n2\n3\n4\n5\n5.5\n6\n7\neight\n");
        assert_eq!(diff().commit_each(&[five, eight.clone()]).unwrap(), expected);
        let twice = diff().commit_each(&[eight.clone(), eight]).unwrap_err();
        assert!(twice.to_string().contains("Outdated"));
    }

    #[test]
    fn one_bad_comment_refuses_the_review() {
        let refused = |comment: Value| {
            let good = self::comment(8, "Fine.");
            diff().review(&[good, comment]).unwrap_err().to_string()
        };
        assert!(refused(comment(2, "x")).contains("must be part of the diff"));
        assert!(refused(comment(8, " ")).contains("blank"));
        assert!(refused(comment(8, &"x".repeat(65_537))).contains("too long"));
        let mut odd = comment(8, "x");
        odd["lines"] = json!(1);
        assert!(refused(odd).contains("unknown key"));
    }
}
