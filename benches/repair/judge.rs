//! Runs the program on a case and judges its answer.
//!
//! The answer is right if the files equal upstream's again, apart from spaces and comment lines; failing that, if all
//! of upstream's tests pass, including the hidden ones. If no test was hidden, passing tests would say nothing, and
//! the answer only counts as `different`.
//! A check is right again if it passes, together with all of upstream's tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use serde::Serialize;
use serde_json::Value;

use super::case::{Case, Place, Set, apply, reset};
use super::process;

/// Time limit for all of upstream's tests.
const JUDGING: Duration = Duration::from_secs(120);
/// Additional time for the program to end.
const GRACE: Duration = Duration::from_secs(15);
/// The number of suspects that count.
const FIRST: usize = 5;
/// Maximum distance from the fault, in lines, for a suspect outside of functions.
const NEAR: u32 = 3;

#[derive(Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "snake_case")]
pub(super) enum Worth {
    /// Equal to upstream.
    Same,
    /// Different from upstream, but all of upstream's tests pass, some of which were hidden.
    HeldOut,
    /// Different from upstream, and nothing was hidden: a person must read it.
    Different,
    /// Passes the visible tests, but fails hidden ones.
    Wrong,
}

impl Worth {
    pub(super) fn is_right(self) -> bool {
        matches!(self, Self::Same | Self::HeldOut)
    }
}

/// The result of a case.
#[derive(Serialize, Default)]
pub(super) struct Verdict {
    pub(super) id: String,
    pub(super) language: String,
    pub(super) library: String,
    pub(super) operator: String,
    pub(super) kind: String,
    /// As reported by the program, or that it had to be ended.
    pub(super) outcome: String,
    /// The rung of the ladder that the answer is from.
    pub(super) rung: Option<String>,
    pub(super) posted: Option<Worth>,
    /// The first finding that was not posted.
    pub(super) unverified: Option<Worth>,
    pub(super) suspects: usize,
    /// The position of the changed function among the suspects, from 1.
    pub(super) rank: Option<usize>,
    pub(super) tried: Option<u64>,
    pub(super) seconds: f64,
    pub(super) patch: Option<String>,
    pub(super) message: Option<String>,
    /// An error in the benchmark itself.
    pub(super) broken: Option<String>,
}

impl Verdict {
    pub(super) fn is_located(&self) -> bool {
        self.rank.is_some_and(|rank| rank <= FIRST)
    }
}

pub(super) struct Judge {
    pub(super) binary: PathBuf,
    pub(super) at_most: Duration,
    pub(super) is_all_visible: bool,
    /// What the program leaves out.
    pub(super) without: Option<String>,
}

impl Judge {
    /// All errors become part of the verdict. `None` if there is nothing to judge: the check is green, or there
    /// was no fix before.
    pub(super) fn judge(&self, place: &Place, case: &Case) -> Option<Verdict> {
        let mut verdict = Verdict {
            id: case.id.clone(),
            language: case.language.clone(),
            library: case.library.clone(),
            operator: case.operator.clone(),
            kind: case.kind.clone(),
            ..Verdict::default()
        };
        match self.judge_into(place, case, &mut verdict) {
            Ok(is_case) => is_case.then_some(verdict),
            Err(error) => {
                verdict.broken = Some(format!("{error:#}"));
                Some(verdict)
            }
        }
    }

    fn judge_into(&self, place: &Place, case: &Case, verdict: &mut Verdict) -> anyhow::Result<bool> {
        let command = if self.is_all_visible {
            &case.all_command
        } else {
            &case.visible_command
        };
        let tree = place.set_up(case, command, self.at_most)?;
        // A tool that cannot fix all of it, or whose fix upstream's tests do not pass, is left out, too.
        let is_broken = || anyhow::Ok(passes(&tree, command)? || !fixes(&tree, case)?);
        if case.set == Set::Checks && is_broken()? {
            return Ok(false);
        }
        let data = tempfile::tempdir()?;
        if case.set == Set::Returning {
            let (before, _) = self.fix((&tree, data.path()), None)?;
            if before["outcome"] != "fixed" {
                return Ok(false);
            }
            reset(&tree)?;
        }
        let (document, wall) = self.fix((&tree, data.path()), self.without.as_deref())?;
        verdict.seconds = wall.as_secs_f64();
        verdict.rung = document["proposal"]["rung"].as_str().map(str::to_owned);
        verdict.outcome = document["outcome"].as_str().unwrap_or("ended").to_owned();
        verdict.message = document["message"].as_str().map(str::to_owned);
        verdict.tried = document["search"]["tried"].as_u64();
        let suspects = document["search"]["suspects"].as_array().cloned().unwrap_or_default();
        verdict.suspects = suspects.len();
        verdict.rank = suspects
            .iter()
            .position(|suspect| is_at(suspect, case))
            .map(|at| at + 1);
        let pristine = place.pristine(case)?;
        if let Some(patch) = document["proposal"]["patch"].as_str() {
            verdict.patch = Some(patch.to_owned());
            verdict.posted = Some(self.worth(case, &tree, &pristine, patch)?);
        }
        let unverified = &document["search"]["unverified"][0];
        if let Some(patch) = unverified["patch"].as_str().or_else(|| unverified["diff"].as_str()) {
            verdict.patch.get_or_insert_with(|| patch.to_owned());
            verdict.unverified = Some(self.worth(case, &tree, &pristine, patch)?);
        }
        Ok(true)
    }

    /// The number of candidates, the seconds of the search if the program reports them, and the seconds of the whole
    /// program.
    pub(super) fn timed(&self, place: &Place, case: &Case) -> anyhow::Result<(u64, f64, f64)> {
        let tree = place.set_up(case, &case.visible_command, self.at_most)?;
        let data = tempfile::tempdir()?;
        let (document, wall) = self.fix((&tree, data.path()), self.without.as_deref())?;
        let tried = document["search"]["tried"].as_u64().unwrap_or(0);
        let search = document["search"]["wall_ms"].as_f64().map(|millis| millis / 1000.0);
        Ok((tried, search.unwrap_or(wall.as_secs_f64()), wall.as_secs_f64()))
    }

    /// The program's document, which is null if it had to be ended.
    fn fix(&self, (tree, data): (&Path, &Path), without: Option<&str>) -> anyhow::Result<(Value, Duration)> {
        let variables = [("GREENLIGHT_DATA_DIR", data.display().to_string())];
        let [program, path] = [&*self.binary, tree].map(|path| path.display().to_string());
        let mut words = vec![&*program, "fix", "--json", "--yes", "--engine", "builtin", &path];
        words.extend(without.iter().flat_map(|parts| ["--without", *parts]));
        let ended = process::run(&words, tree, &variables, self.at_most + GRACE)?;
        let document = match ended.code {
            Some(_) => serde_json::from_str(&ended.printed).context("no document")?,
            None => Value::Null,
        };
        Ok((document, ended.wall))
    }

    fn worth(&self, case: &Case, tree: &Path, pristine: &Path, patch: &str) -> anyhow::Result<Worth> {
        reset(tree)?;
        apply(tree, patch)?;
        if case.set == Set::Checks {
            let is_right = passes(tree, &case.visible_command)? && passes(tree, &case.all_command)?;
            return Ok(if is_right { Worth::HeldOut } else { Worth::Wrong });
        }
        let names = patch.lines().filter_map(|line| line.strip_prefix("+++ b/"));
        let mut names = names.chain([case.path.as_str()]);
        if names.all(|name| is_same(&tree.join(name), &pristine.join(name), &case.language)) {
            return Ok(Worth::Same);
        }
        if self.is_all_visible {
            return Ok(Worth::Different);
        }
        Ok(match passes(tree, &case.all_command)? {
            true if !case.hidden.is_empty() => Worth::HeldOut,
            true => Worth::Different,
            false => Worth::Wrong,
        })
    }
}

/// Whether the tool's own fix makes its check pass, and upstream's tests; the tree is as before.
fn fixes(tree: &Path, case: &Case) -> anyhow::Result<bool> {
    let Some(fix) = &case.fix else { return Ok(true) };
    passes(tree, fix)?;
    let fixes = passes(tree, &case.visible_command)? && passes(tree, &case.all_command)?;
    reset(tree)?;
    Ok(fixes)
}

pub(super) fn passes(tree: &Path, command: &str) -> anyhow::Result<bool> {
    let ended = process::run(&["bash", "-c", command], tree, &variables_of_tests(tree), JUDGING)?;
    Ok(ended.code == Some(0))
}

/// The variables that tests see in a shell with the active environment.
#[expect(clippy::disallowed_methods, reason = "the bench is started from a shell")]
pub(super) fn variables_of_tests(tree: &Path) -> [(&'static str, String); 2] {
    let rest = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{rest}", tree.join(".venv/bin").display());
    [("PATH", path), ("PYTHONDONTWRITEBYTECODE", "1".into())]
}

fn is_at(suspect: &Value, case: &Case) -> bool {
    let (from, to) = case
        .function
        .unwrap_or((case.line.saturating_sub(NEAR), case.line + NEAR));
    let line = suspect["line"].as_u64().and_then(|line| u32::try_from(line).ok());
    suspect["path"] == *case.path && line.is_some_and(|line| (from..=to).contains(&line))
}

fn is_same(one: &Path, other: &Path, language: &str) -> bool {
    let read = |path| {
        fs::read_to_string(path)
            .ok()
            .map(|text: String| normalised(&text, language))
    };
    read(one) == read(other)
}

/// Without comment lines and empty lines; only Python's indentation counts.
fn normalised(text: &str, language: &str) -> Vec<String> {
    let is_python = language == "python";
    let comments: &[&str] = if is_python { &["#"] } else { &["//"] };
    let lines = text.lines().filter(|line| {
        let bare = line.trim();
        !bare.is_empty() && !comments.iter().any(|mark| bare.starts_with(mark))
    });
    let bare = |line: &str| {
        let depth = if is_python {
            line.len() - line.trim_start().len()
        } else {
            0
        };
        // Except in Rust, both kinds of quotes are equivalent.
        let line = if language == "rust" {
            line.to_owned()
        } else {
            line.replace('"', "'")
        };
        // A space matters only between names and words.
        let mut bare = String::new();
        for word in line.split_whitespace() {
            let is_name = |c: char| c.is_alphanumeric() || c == '_';
            if bare.ends_with(is_name) && word.starts_with(is_name) {
                bare.push(' ');
            }
            bare.push_str(word);
        }
        format!("{:depth$}{bare}", "")
    };
    lines.map(bare).collect()
}
