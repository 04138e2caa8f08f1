//! Cuts real history into suggestions: every commit serves as a pull request, and the next one as a patch on it.
//!
//! `cargo bench --bench history -- REPOSITORY… [--commits N] [--span N]` follows the first parents of `HEAD` of each
//! repository, which may be bare, from the newest commit back. With a span, each pull request consists of this many
//! commits, which shows more lines to suggest on. The double's rules judge the suggestions and commit them, and `git
//! apply` applies the remainder. The result must equal the tree of the commit, byte for byte; otherwise the exit code
//! is 1.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "it reports, and is as much a test as a measurement"
)]

#[path = "../tests/it/suggestions/git_apply.rs"]
mod git_apply;
#[path = "../tests/it/suggestions/trees.rs"]
mod trees;

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use git2::{Delta, ObjectType, Oid, Repository, Tree};
use github_double::{Files, PullRequestDiff};
use greenlight::domain::anchor::{LeftOut, cut, proves};
use greenlight::domain::id::RepoPath;
use trees::{comment, diff_files, patch_between, patched};

/// Maximum number of comments in one review.
const BATCH: usize = 30;

/// The command line arguments.
struct Task {
    repositories: Vec<String>,
    /// Maximum number of commits, counted from the newest.
    commits: usize,
    /// The number of commits in a pull request.
    span: usize,
}

/// A repository's row of the table.
#[derive(Default)]
struct Row {
    commits: usize,
    patches: usize,
    suggestions: usize,
    /// Patches of which suggestions cover everything, a part, or nothing.
    whole: usize,
    partly: usize,
    remainder: usize,
    failed: usize,
    /// Time for cutting and verifying.
    engine: Duration,
    all: Duration,
    /// Number of files that are not, or only partly, suggested, by reason.
    left_out: BTreeMap<LeftOut, usize>,
}

fn main() -> anyhow::Result<ExitCode> {
    let task = task()?;
    if task.repositories.is_empty() {
        println!("no repository is given: cargo bench --bench history -- REPOSITORY… [--commits N] [--span N]");
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows = Vec::new();
    for path in &task.repositories {
        let row = walk(path, &task).with_context(|| format!("cannot read {path}"))?;
        rows.push((path.as_str(), row));
    }
    let mut sum = Row::default();
    for (_, row) in &rows {
        sum.add(row);
    }
    let failed = sum.failed;
    rows.push(("all", sum));
    show(&rows);
    Ok(if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn task() -> anyhow::Result<Task> {
    let mut task = Task {
        repositories: Vec::new(),
        commits: usize::MAX,
        span: 1,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            // Cargo adds this.
            "--bench" => {}
            "--commits" => task.commits = words.next().context("--commits needs a number")?.parse()?,
            "--span" => task.span = words.next().context("--span needs a number")?.parse::<usize>()?.max(1),
            flag if flag.starts_with('-') => bail!("there is no {flag}"),
            _ => task.repositories.push(word),
        }
    }
    Ok(task)
}

fn walk(path: &str, task: &Task) -> anyhow::Result<Row> {
    let begun = Instant::now();
    let git = Repository::open(path)?;
    let mut walk = git.revwalk()?;
    walk.push_head()?;
    walk.simplify_first_parent()?;
    let mut commits: Vec<Oid> = walk.take(task.commits).collect::<Result<_, _>>()?;
    commits.reverse();
    let mut row = Row {
        commits: commits.len(),
        ..Row::default()
    };
    for (index, pair) in commits.windows(2).enumerate() {
        let tree = |id: Oid| git.find_commit(id).and_then(|commit| commit.tree());
        // The very first pull request starts from an empty tree.
        let first = commits[(index + 1).saturating_sub(task.span)];
        let base = git.find_commit(first)?.parent_id(0).and_then(tree).ok();
        let trees = [base, Some(tree(pair[0])?), Some(tree(pair[1])?)];
        let paths = touched(&git, &trees)?;
        let [base, head, after] = trees.map(|tree| tree.map_or(Ok(Files::new()), |tree| files(&git, &tree, &paths)));
        if let Err(what) = row.judge(&base?, &head?, &after?) {
            row.failed += 1;
            println!("{path}: {} on {}: {what}", pair[1], pair[0]);
        }
    }
    row.all = begun.elapsed();
    Ok(row)
}

/// The files in which one of the trees differs from the next. Others do not matter, not even for renames.
fn touched(git: &Repository, trees: &[Option<Tree<'_>>; 3]) -> anyhow::Result<BTreeSet<RepoPath>> {
    let mut paths = BTreeSet::new();
    for pair in trees.windows(2) {
        let diff = git.diff_tree_to_tree(pair[0].as_ref(), pair[1].as_ref(), None)?;
        for delta in diff.deltas().filter(|delta| delta.status() != Delta::Unmodified) {
            let names = [delta.old_file().path_bytes(), delta.new_file().path_bytes()];
            let names = names.into_iter().flatten().map(std::str::from_utf8);
            // Names that greenlight rejects are rejected in a patch as well.
            paths.extend(names.filter_map(|name| name.ok()?.parse().ok()));
        }
    }
    Ok(paths)
}

fn files(git: &Repository, tree: &Tree<'_>, paths: &BTreeSet<RepoPath>) -> anyhow::Result<Files> {
    let mut files = Files::new();
    for path in paths {
        let Ok(entry) = tree.get_path(path.as_str().as_ref()) else {
            continue;
        };
        // Submodules are not files.
        if entry.kind() == Some(ObjectType::Blob) {
            let mode = match entry.filemode() {
                0o100_755 => 0o100_755,
                0o120_000 => 0o120_000,
                _ => 0o100_644,
            };
            let bytes = git.find_blob(entry.id())?.content().to_vec();
            files.insert(path.to_string(), (mode, bytes));
        }
    }
    Ok(files)
}

impl Row {
    /// Cuts the patch from `head` to `after` for the pull request from `base` to `head`. Returns an error if the
    /// result is wrong.
    fn judge(&mut self, base: &Files, head: &Files, after: &Files) -> Result<(), String> {
        let patch = patch_between(head, after);
        if patch.is_empty() {
            return Ok(());
        }
        self.patches += 1;
        let said = |error: github_double::DoubleError| error.to_string();
        let diff = PullRequestDiff::new(base, head).map_err(said)?;
        let shown = diff_files(&diff.files())?;
        let begun = Instant::now();
        let cut = cut(&patch, &shown);
        let proved = proves(&cut, &patch);
        self.engine += begun.elapsed();
        let of = cut.suggestions.len() + usize::from(!cut.remainder.is_empty());
        let comments: Vec<_> = cut.suggestions.iter().map(|one| comment(one, of)).collect();
        for batch in comments.chunks(BATCH) {
            diff.review(batch).map_err(said)?;
        }
        let committed = if comments.is_empty() {
            head.clone()
        } else {
            diff.commit(&comments).map_err(said)?
        };
        if !proved {
            return Err("the cut does not prove the patch".into());
        }
        if patched(committed.clone(), &cut.remainder)? != *after {
            return Err("suggestions and remainder are another tree".into());
        }
        let to_apply = !cut.remainder.is_empty() && git_apply::can_be_checked_out([&committed, after]);
        if to_apply && git_apply::git_apply(&committed, &cut.remainder.unified())? != *after {
            return Err("`git apply` of the remainder gives another tree".into());
        }
        self.suggestions += comments.len();
        match (comments.is_empty(), cut.remainder.is_empty()) {
            (_, true) => self.whole += 1,
            (false, false) => self.partly += 1,
            (true, false) => self.remainder += 1,
        }
        for reason in cut.left_out.into_values().flatten() {
            *self.left_out.entry(reason).or_default() += 1;
        }
        Ok(())
    }

    fn add(&mut self, other: &Self) {
        self.commits += other.commits;
        self.patches += other.patches;
        self.suggestions += other.suggestions;
        self.whole += other.whole;
        self.partly += other.partly;
        self.remainder += other.remainder;
        self.failed += other.failed;
        self.engine += other.engine;
        self.all += other.all;
        for (reason, count) in &other.left_out {
            *self.left_out.entry(*reason).or_default() += count;
        }
    }
}

fn show(rows: &[(&str, Row)]) {
    println!(
        "| Repository | Commits | Patches | Suggestions | Whole | Partly | Remainder | Failed | Engine, s | All, s |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    for (path, row) in rows {
        println!(
            "| {path} | {} | {} | {} | {} | {} | {} | {} | {:.2} | {:.1} |",
            row.commits,
            row.patches,
            row.suggestions,
            row.whole,
            row.partly,
            row.remainder,
            row.failed,
            row.engine.as_secs_f64(),
            row.all.as_secs_f64(),
        );
    }
    println!("\nFiles that are not, or not wholly, suggested, by reason:");
    for (path, row) in rows {
        let reasons: Vec<String> = row
            .left_out
            .iter()
            .map(|(reason, count)| format!("{reason:?} {count}"))
            .collect();
        println!("{path}: {}", reasons.join(", "));
    }
}
