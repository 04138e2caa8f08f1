//! Reads the history of one commit: its ancestors, who last changed a line, and what a commit changed. Only what is
//! reachable from that commit is shown, from its objects alone, and within bounds.
//!
//! Names and messages are untrusted text; callers must sanitise them before showing them.

use std::collections::{BinaryHeap, HashMap, HashSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use git2::{BlameOptions, Commit, DiffFormat, DiffOptions, Oid, Repository};

use super::store::{broken, local_head, objects};
use super::{Error, LocalRepository};
use crate::domain::id::{CommitSha, RepoPath};

/// How many commits are visited, and for how long.
const MAX_COMMITS: usize = 5_000;
const MAX_TIME: Duration = Duration::from_secs(10);
/// The maximum number of commits in a list.
const MAX_LISTED: usize = 50;
/// The maximum number of lines in one blame.
const MAX_LINES: usize = 200;
/// The maximum size of a change's text, in bytes.
const MAX_CHANGE: usize = 64 << 10;
/// The last line of a history that is cut off in this copy.
const CUT: &str = "[older commits are not in this copy of the repository]\n";

/// The objects of the repository whose work tree has this very directory as its root, and the checked-out commit.
pub fn local_history(root: &Path) -> Option<(PathBuf, CommitSha)> {
    let root = root.canonicalize().ok()?;
    let repository = LocalRepository::open(&root).ok()?;
    let is_root = repository.work_tree()?.canonicalize().ok()? == root;
    is_root.then(|| Some((repository.objects_directory().to_path_buf(), local_head(&root)?)))?
}

/// The newest ancestors of `head`, or those of them that changed a path.
///
/// # Errors
/// When the commit does not exist.
pub fn log(objects: &Path, head: &CommitSha, path: Option<&RepoPath>, limit: usize) -> Result<String, Error> {
    let repository = open(objects)?;
    let (commits, is_whole) = walk(&repository, head)?;
    let changes = |commit: &Commit<'_>| {
        path.is_none_or(|path| {
            let own = at(commit, path);
            let mut parents = (0..commit.parent_count())
                .filter_map(|index| commit.parent(index).ok())
                .peekable();
            // Without its parents, it is unknown what it changed.
            (parents.peek().is_some() || commit.parent_count() == 0)
                && parents.all(|parent| at(&parent, path) != own)
                && (own.is_some() || commit.parent_count() > 0)
        })
    };
    let limit = limit.clamp(1, MAX_LISTED);
    let until = Instant::now() + MAX_TIME;
    let mut text = String::new();
    let mut found = 0;
    for commit in commits
        .iter()
        .take_while(|_| Instant::now() < until)
        .filter(|commit| changes(commit))
    {
        if found == limit {
            return Ok(text + "[there are older ones; ask for more with `limit`]\n");
        }
        found += 1;
        let subject = first_line(commit.message_bytes());
        let _infallible = writeln!(
            text,
            "{} {} {}: {subject}",
            short(commit.id()),
            date(commit),
            author(commit)
        );
    }
    if found == 0 {
        text.push_str("no commit.\n");
    }
    if !is_whole {
        text.push_str(CUT);
    }
    Ok(text)
}

/// Which commit last changed each line of a file. Lines are counted from 1.
///
/// # Errors
/// When the commit or the file does not exist.
pub fn blame(objects: &Path, head: &CommitSha, path: &RepoPath, (from, to): (usize, usize)) -> Result<String, Error> {
    let repository = open(objects)?;
    let (commits, is_whole) = walk(&repository, head)?;
    let (Some(newest), Some(oldest)) = (commits.first(), commits.last()) else {
        return Err(Error::Missing(head.to_string()));
    };
    let blob = at(newest, path).and_then(|id| repository.find_blob(id).ok());
    let blob = blob.ok_or_else(|| Error::Local(format!("there is no file `{path}` in {}", head.short())))?;
    if commits.len() == 1 && !is_whole {
        return Ok(CUT.into());
    }
    let content = String::from_utf8_lossy(blob.content());
    let lines: Vec<&str> = content.lines().collect();
    let from = from.clamp(1, lines.len().max(1));
    let to = to.clamp(from, lines.len().max(from)).min(from + MAX_LINES - 1);
    let mut options = BlameOptions::new();
    options.newest_commit(newest.id()).min_line(from).max_line(to);
    if !is_whole {
        options.oldest_commit(oldest.id());
    }
    let blame = repository
        .blame_file(Path::new(path.as_str()), Some(&mut options))
        .map_err(|error| broken(&error))?;
    let known: HashMap<Oid, &Commit<'_>> = commits.iter().map(|commit| (commit.id(), commit)).collect();
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate().take(to).skip(from - 1) {
        let hunk = blame.get_line(number + 1);
        let commit = hunk.and_then(|hunk| known.get(&hunk.final_commit_id()).copied());
        let who = commit.map_or_else(
            || "unknown".to_owned(),
            |commit| format!("{} {} {}", short(commit.id()), date(commit), author(commit)),
        );
        let _infallible = writeln!(text, "{}\t{who}\t{line}", number + 1);
    }
    if to < lines.len() {
        let _infallible = writeln!(
            text,
            "[the file has {} lines; read on with from={}]",
            lines.len(),
            to + 1
        );
    }
    if !is_whole {
        text.push_str(CUT);
    }
    Ok(text)
}

/// The message and the changes of a commit that is reachable from `head`, for all files or one path.
///
/// # Errors
/// When there is no such commit.
pub fn show(objects: &Path, head: &CommitSha, name: &str, path: Option<&RepoPath>) -> Result<String, Error> {
    let repository = open(objects)?;
    let (commits, _) = walk(&repository, head)?;
    let name = name.trim().to_ascii_lowercase();
    let is_name = (4..=40).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let found = commits
        .iter()
        .find(|commit| is_name && commit.id().to_string().starts_with(&name));
    let Some(commit) = found else {
        return Err(Error::Local(format!(
            "no commit of this history begins with `{name}`; see git_log"
        )));
    };
    let mut text = format!("commit {}\n{} {}\n\n", commit.id(), date(commit), author(commit));
    text.push_str(String::from_utf8_lossy(commit.message_bytes()).trim());
    text.push_str("\n\n");
    let parent = match commit.parent_count() {
        0 => None,
        _ => match commit.parent(0).and_then(|parent| parent.tree()) {
            Ok(tree) => Some(tree),
            Err(_) => return Ok(text + CUT),
        },
    };
    let mut options = DiffOptions::new();
    options.disable_pathspec_match(true);
    if let Some(path) = path {
        options.pathspec(path.as_str());
    }
    let tree = commit.tree().map_err(|error| broken(&error))?;
    let diff = repository
        .diff_tree_to_tree(parent.as_ref(), Some(&tree), Some(&mut options))
        .map_err(|error| broken(&error))?;
    let whole = diff.print(DiffFormat::Patch, |_, _, line| {
        if matches!(line.origin(), ' ' | '+' | '-') {
            text.push(line.origin());
        }
        text.push_str(&String::from_utf8_lossy(line.content()));
        text.len() <= MAX_CHANGE
    });
    if whole.is_err() {
        text.push_str("\n[the rest is left out; give a `path`]\n");
    }
    Ok(text)
}

fn open(directory: &Path) -> Result<Repository, Error> {
    objects(&[directory])
}

/// The ancestors of a commit, newest first, and whether the list is complete.
fn walk<'r>(repository: &'r Repository, head: &CommitSha) -> Result<(Vec<Commit<'r>>, bool), Error> {
    let missing = |_| Error::Missing(head.to_string());
    let head = Oid::from_str(head.as_str()).map_err(missing)?;
    let first = repository.find_commit(head).map_err(missing)?;
    let (mut waiting, mut seen) = (
        BinaryHeap::from([(first.time().seconds(), head)]),
        HashSet::from([head]),
    );
    let (mut commits, mut is_whole) = (Vec::new(), true);
    let until = Instant::now() + MAX_TIME;
    while let Some((_, id)) = waiting.pop() {
        let Ok(commit) = repository.find_commit(id) else {
            is_whole = false;
            continue;
        };
        if commits.len() >= MAX_COMMITS || Instant::now() > until {
            return Ok((commits, false));
        }
        for parent in commit.parent_ids().filter(|parent| seen.insert(*parent)) {
            match repository.find_commit(parent) {
                Ok(parent) => waiting.push((parent.time().seconds(), parent.id())),
                Err(_) => is_whole = false,
            }
        }
        commits.push(commit);
    }
    Ok((commits, is_whole))
}

/// The object at a path of a commit.
fn at(commit: &Commit<'_>, path: &RepoPath) -> Option<Oid> {
    let entry = commit.tree().ok()?.get_path(Path::new(path.as_str())).ok()?;
    Some(entry.id())
}

fn short(id: Oid) -> String {
    id.to_string().chars().take(10).collect()
}

fn author(commit: &Commit<'_>) -> String {
    let name = String::from_utf8_lossy(commit.author().name_bytes()).into_owned();
    first_line(name.as_bytes())
}

/// The date by its author's clock.
fn date(commit: &Commit<'_>) -> String {
    let seconds = commit.author().when().seconds();
    let day = jiff::Timestamp::from_second(seconds).map(|at| at.strftime("%Y-%m-%d").to_string());
    day.unwrap_or_else(|_| "unknown day".into())
}

fn first_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.trim_start()
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(100)
        .collect()
}

#[cfg(test)]
mod tests {
    use git2::Signature;

    use super::*;

    fn commit(repository: &Repository, text: &str, message: &str, second: i64) -> CommitSha {
        let blob = repository.blob(text.as_bytes()).unwrap();
        let mut tree = repository.treebuilder(None).unwrap();
        tree.insert("a.txt", blob, 0o100_644).unwrap();
        let tree = repository.find_tree(tree.write().unwrap()).unwrap();
        let who = Signature::new("Ann x", "a@example.org", &git2::Time::new(second, 0)).unwrap();
        let parent = repository.head().ok().and_then(|head| head.peel_to_commit().ok());
        let parents: Vec<_> = parent.iter().collect();
        let id = repository
            .commit(Some("HEAD"), &who, &who, message, &tree, &parents)
            .unwrap();
        id.to_string().parse().unwrap()
    }

    #[test]
    fn a_history_is_listed_blamed_and_shown() {
        let directory = tempfile::tempdir().unwrap();
        let repository = Repository::init(directory.path()).unwrap();
        let first = commit(&repository, "one\ntwo\n", "First\n\nbody", 86_400);
        let second = commit(&repository, "one\n2\n", "Second", 2 * 86_400);
        let third = commit(&repository, "one\n2\n", "Third", 3 * 86_400);
        let (objects, head) = local_history(directory.path()).unwrap();
        assert_eq!(head, third);
        let path: RepoPath = "a.txt".parse().unwrap();

        let name = |sha: &CommitSha| sha.as_str()[..10].to_owned();
        let (one, two) = (name(&first), name(&second));
        assert_eq!(log(&objects, &head, None, 9).unwrap().lines().count(), 3);
        assert_eq!(
            log(&objects, &head, Some(&path), 9).unwrap(),
            format!("{two} 1970-01-03 Ann x: Second\n{one} 1970-01-02 Ann x: First\n")
        );
        assert!(
            log(&objects, &head, None, 1)
                .unwrap()
                .ends_with("ask for more with `limit`]\n")
        );
        assert_eq!(
            blame(&objects, &head, &path, (1, 9)).unwrap(),
            format!("1\t{one} 1970-01-02 Ann x\tone\n2\t{two} 1970-01-03 Ann x\t2\n")
        );
        let shown = show(&objects, &head, &two, Some(&path)).unwrap();
        assert!(shown.contains("Second\n\n") && shown.contains("-two\n+2\n"), "{shown}");
        for nothing in ["HEAD", "", "refs/heads/main", "zzzz", "../..", "--all"] {
            assert!(show(&objects, &head, nothing, None).is_err(), "{nothing}");
        }
        // Commits that are not ancestors are not shown.
        assert!(show(&objects, &first, &two, None).is_err());
        assert!(blame(&objects, &head, &"b".parse().unwrap(), (1, 1)).is_err());
        assert!(log(&objects, &CommitSha::none(), None, 1).is_err());
    }
}
