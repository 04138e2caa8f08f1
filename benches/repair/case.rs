//! The stored cases, and the tree that is laid out for each.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde::Deserialize;

use super::{judge, process};

/// Maximum length of a test command in the settings.
const MAX_COMMAND: usize = 2_000;
/// Time limit of one download or installation.
const LAYING_OUT: Duration = Duration::from_secs(900);
/// Time limit of git.
const QUICK: Duration = Duration::from_secs(60);
/// Files that a person installed beside the sources, or built there.
const INSTALLED: [&str; 3] = [".venv", "node_modules", "target"];

/// What the cases are about.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Set {
    /// Faults of mutation tools, with everything committed on one branch.
    #[default]
    Faults,
    /// The same, each on a separate branch on top of upstream's tree.
    PullRequests,
    /// The same, each fixed once before.
    Returning,
    /// Libraries that do not pass a check whose tool could fix them.
    Checks,
}

impl Set {
    pub(super) fn named(name: &str) -> anyhow::Result<Self> {
        Ok(match name {
            "faults" => Self::Faults,
            "pull-requests" => Self::PullRequests,
            "returning" => Self::Returning,
            "checks" => Self::Checks,
            _ => anyhow::bail!("there is no set {name}: faults, pull-requests, returning, checks"),
        })
    }
}

#[derive(Deserialize, Clone)]
pub(super) struct Case {
    #[serde(skip)]
    pub(super) set: Set,
    pub(super) id: String,
    pub(super) language: String,
    pub(super) library: String,
    pub(super) path: String,
    pub(super) line: u32,
    /// First and last line of the changed function, in the file with the fault.
    pub(super) function: Option<(u32, u32)>,
    pub(super) operator: String,
    pub(super) kind: String,
    pub(super) fault: String,
    pub(super) seen_by: Vec<String>,
    pub(super) hidden: Vec<String>,
    pub(super) visible_command: String,
    /// All tests that pass upstream; from the file beside the cases.
    #[serde(default)]
    pub(super) all_command: String,
    /// What lies in the tree besides the library.
    #[serde(default)]
    pub(super) files: BTreeMap<String, String>,
    /// What the tool itself does about the check; one hunk of that is taken back. `None` where the files are red.
    #[serde(default)]
    pub(super) fix: Option<String>,
    /// Packages besides those of the library's tests.
    #[serde(default)]
    pub(super) also: Vec<String>,
}

#[derive(Deserialize)]
struct Made {
    command: String,
}

/// Every case in the folder.
pub(super) fn read(folder: &Path) -> anyhow::Result<Vec<Case>> {
    let mut cases = Vec::new();
    for language in ["python", "javascript", "rust"] {
        let made = fs::read(folder.join(format!("{language}.made.json")));
        let Ok(text) = fs::read_to_string(folder.join(format!("{language}.jsonl"))) else {
            continue;
        };
        let made: BTreeMap<String, Made> = serde_json::from_slice(&made?)?;
        for line in text.lines() {
            let mut case: Case = serde_json::from_str(line).context("a case")?;
            let library = made.get(&case.library).context("the library of a case")?;
            case.all_command.clone_from(&library.command);
            cases.push(case);
        }
    }
    Ok(cases)
}

impl Case {
    /// Whether the case is a tiny project, not a library.
    fn is_tiny(&self) -> bool {
        self.set == Set::Checks && self.library == self.id
    }
}

/// The folder of the libraries: original sources, and for each worker a tree with the dependencies of the tests.
pub(super) struct Place {
    pub(super) root: PathBuf,
    pub(super) scripts: PathBuf,
    pub(super) worker: usize,
}

impl Place {
    /// The sources without the fault.
    pub(super) fn pristine(&self, case: &Case) -> anyhow::Result<PathBuf> {
        let into = self
            .root
            .join("pristine")
            .join(format!("{}.{}", case.library.replace('/', "+"), self.worker));
        if case.is_tiny() {
            fs::create_dir_all(&into)?;
        } else {
            self.lay_out(case, &into, &["--sources"])?;
        }
        Ok(into)
    }

    /// The tree of this worker, with the fault and the settings, committed.
    pub(super) fn set_up(&self, case: &Case, command: &str, wall: Duration) -> anyhow::Result<PathBuf> {
        let pristine = self.pristine(case)?;
        let trees = if case.set == Set::Checks { "checks" } else { "trees" };
        let into = self
            .root
            .join(format!("{trees}.{}", self.worker))
            .join(case.library.replace('/', "+"));
        if case.is_tiny() {
            fs::create_dir_all(&into)?;
        } else {
            let also: Vec<&str> = case.also.iter().map(String::as_str).collect();
            self.lay_out(case, &into, &also)?;
        }
        clear(&into)?;
        copy(&pristine, &into)?;
        for (path, text) in &case.files {
            let path = into.join(path);
            fs::create_dir_all(path.parent().unwrap_or(&into))?;
            fs::write(path, text)?;
        }
        let mut settings = toml::Table::new();
        let table = |name: &str, value: String| toml::Table::from_iter([(name.to_owned(), value.into())]);
        settings.insert("test".into(), table("command", fitting(command).to_owned()).into());
        settings.insert("limits".into(), table("wall", format!("{}s", wall.as_secs())).into());
        fs::write(into.join("greenlight.toml"), settings.to_string())?;
        git(&into, &["init", "-q", "-b", "main"])?;
        if case.set == Set::PullRequests {
            commit(&into, "Upstream")?;
            git(&into, &["checkout", "-q", "-b", "change"])?;
        }
        if !case.fault.is_empty() {
            apply(&into, &case.fault)?;
        }
        if let Some(fix) = &case.fix {
            commit(&into, "Upstream")?;
            judge::passes(&into, fix)?;
            take_back_a_hunk(&into)?;
        }
        commit(&into, "One change")?;
        Ok(into)
    }

    fn lay_out(&self, case: &Case, into: &Path, words: &[&str]) -> anyhow::Result<()> {
        let done = into.with_extension("done");
        if done.exists() {
            return Ok(());
        }
        fs::create_dir_all(into)?;
        let script = self.scripts.join("library.py").display().to_string();
        let [cache, tree] = [&self.root, into].map(|path| path.display().to_string());
        let line = [&["python3", &script, &case.library, &cache, &tree], words].concat();
        let ended = process::run(&line, into.parent().unwrap_or(into), &[], LAYING_OUT)?;
        ensure!(
            ended.code == Some(0),
            "{} cannot be laid out: {}",
            case.library,
            ended.printed
        );
        Ok(fs::write(done, "")?)
    }
}

/// A command without the last of its hidden tests, shortened to the limit of the settings.
fn fitting(command: &str) -> &str {
    let mut fitting = command;
    while fitting.len() > MAX_COMMAND {
        let hidden = [" --deselect ", " --skip "]
            .iter()
            .filter_map(|option| fitting.rfind(option));
        let Some(last) = hidden.max() else { break };
        fitting = &fitting[..last];
    }
    fitting
}

/// Applies a patch to the tree.
pub(super) fn apply(tree: &Path, patch: &str) -> anyhow::Result<()> {
    let file = tempfile::NamedTempFile::new()?;
    fs::write(file.path(), patch)?;
    git(
        tree,
        &["apply", "--whitespace=nowarn", &file.path().display().to_string()],
    )
}

/// Resets the tree to the committed state, with the fault.
pub(super) fn reset(tree: &Path) -> anyhow::Result<()> {
    git(tree, &["reset", "-q", "--hard"])?;
    git(tree, &["clean", "-qfd"])
}

/// Takes back the middle hunk of what was done to the tree.
fn take_back_a_hunk(tree: &Path) -> anyhow::Result<()> {
    let diff = process::run(&["git", "diff", "-U0", "--no-color"], tree, &[], QUICK)?.printed;
    let mut hunks: Vec<String> = Vec::new();
    let mut head = String::new();
    let mut is_head = false;
    for line in diff.split_inclusive('\n') {
        if line.starts_with("diff --git ") {
            (head, is_head) = (String::new(), true);
        } else if line.starts_with("@@ ") {
            is_head = false;
            hunks.push(head.clone());
        }
        match hunks.last_mut() {
            Some(hunk) if !is_head => hunk.push_str(line),
            _ => head.push_str(line),
        }
    }
    let Some(hunk) = hunks.get(hunks.len() / 2) else {
        return Ok(());
    };
    let file = tempfile::NamedTempFile::new()?;
    fs::write(file.path(), hunk)?;
    let path = file.path().display().to_string();
    git(tree, &["apply", "-R", "--unidiff-zero", "--whitespace=nowarn", &path])
}

fn commit(tree: &Path, message: &str) -> anyhow::Result<()> {
    git(tree, &["add", "-A"])?;
    let me = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"];
    git(
        tree,
        &[&me[..], &["commit", "-q", "--allow-empty", "-m", message]].concat(),
    )
}

fn git(tree: &Path, words: &[&str]) -> anyhow::Result<()> {
    let ended = process::run(&[&["git"], words].concat(), tree, &[], QUICK)?;
    ensure!(ended.code == Some(0), "git {words:?}: {}", ended.printed);
    Ok(())
}

fn clear(tree: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(tree)? {
        let path = entry?.path();
        if INSTALLED.iter().any(|name| path.ends_with(name)) {
            continue;
        }
        if path.is_dir() && !path.is_symlink() {
            fs::remove_dir_all(path)?;
        } else {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

fn copy(from: &Path, into: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(into)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = into.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
