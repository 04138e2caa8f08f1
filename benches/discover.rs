//! Finds the test command of checkouts, and finds it again without each of the ways in which greenlight finds one.
//!
//! `cargo bench --bench discover -- PATH…` prints a row for each checkout: the first command, its framework, the file
//! that it was found in, and the ways without which another command is found, or none. Nothing of the checkouts runs.
//! A way is left out by hiding in memory what it reads: its files, or the names that it looks for in them.
//!
//! `benches/discover/projects.tsv` says what the CI of some projects runs, and whether a command is the same. A project
//! is recognised by the name of its folder.

#![expect(clippy::print_stdout, reason = "this is what a bench is for")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use greenlight::checkout::Checkout;
use greenlight::domain::id::RepoPath;
use greenlight::suite::{Hints, TestCommand, TestSettings, find, test_steps};

/// In place of a command, and its verdict, where none is found.
const NOTHING: &str = "nothing";

/// A way in which greenlight finds tests.
struct Way {
    name: &'static str,
    /// The files that it reads, by what their paths end with.
    files: &'static [&'static str],
    /// What it looks for in them, and what it does not know. Without any, the files are hidden.
    names: &'static [(&'static str, &'static str)],
}

const WAYS: &[Way] = &[
    renamed("GitHub's workflows", &[".yml", ".yaml"], &[("\njobs:", "\nun-jobs:")]),
    hidden("Cargo", &["/Cargo.toml"]),
    hidden("Go", &["/go.mod", "/go.work"]),
    hidden("Maven", &["/pom.xml"]),
    hidden(
        "Gradle",
        &[
            "/build.gradle",
            "/build.gradle.kts",
            "/settings.gradle",
            "/settings.gradle.kts",
        ],
    ),
    hidden(
        "all of Python",
        &[
            ".py",
            "/pyproject.toml",
            "/tox.ini",
            "/tox.toml",
            "/setup.cfg",
            "/pytest.ini",
            "/.pytest.ini",
        ],
    ),
    renamed(
        "pytest's settings",
        &[
            "/pyproject.toml",
            "/tox.ini",
            "/setup.cfg",
            "/pytest.ini",
            "/.pytest.ini",
            "/pytest.toml",
            "/.pytest.toml",
        ],
        &[
            ("[tool.pytest", "[tool.un-pytest"),
            ("[pytest]", "[un-pytest]"),
            ("[tool:pytest]", "[un-pytest]"),
        ],
    ),
    hidden("conftest.py", &["/conftest.py"]),
    hidden(
        "Python's test files",
        &["_test.py", "/test.py", "/tests.py", "/test_*.py"],
    ),
    renamed(
        "tox",
        &["/tox.ini", "/setup.cfg", "/tox.toml", "/pyproject.toml"],
        &[
            ("[testenv", "[un-testenv"),
            ("[env", "[un-env"),
            ("[tool.tox", "[tool.un-tox"),
        ],
    ),
    renamed("nox", &["/noxfile.py"], &[("session.run", "session.un-run")]),
    renamed("Hatch", &["/pyproject.toml"], &[("[tool.hatch", "[tool.un-hatch")]),
    renamed(
        "scripts of package.json",
        &["/package.json"],
        &[("\"scripts\"", "\"un-scripts\"")],
    ),
    renamed("nyc, c8", &["/package.json"], &[("nyc ", "un-nyc "), ("c8 ", "un-c8 ")]),
    hidden("Deno", &["/deno.json", "/deno.jsonc"]),
    hidden("RSpec", &["/.rspec", "_spec.rb"]),
    hidden("Minitest", &["/Rakefile", "_test.rb", "/test_*.rb"]),
    renamed(
        "scripts of composer.json",
        &["/composer.json"],
        &[("\"scripts\"", "\"un-scripts\"")],
    ),
    hidden(
        "PHPUnit's settings",
        &["/phpunit.xml", "/phpunit.xml.dist", "/phpunit.dist.xml"],
    ),
    hidden(".NET", &[".sln", ".slnx", ".csproj", ".fsproj", ".vbproj"]),
    hidden("CTest", &["/CMakeLists.txt"]),
    hidden("Meson", &["/meson.build"]),
    hidden("autotools", &["/Makefile.am", "/Makefile.in"]),
    hidden("Bats", &[".bats"]),
    hidden("Perl", &["/Makefile.PL", "/Build.PL", "/cpanfile", "/dist.ini"]),
    hidden("make", &["/GNUmakefile", "/makefile", "/Makefile"]),
    hidden("just", &["/justfile", "/Justfile", "/.justfile"]),
    hidden("Task", &["/Taskfile.yml", "/Taskfile.yaml", "/taskfile.yml"]),
];

const fn hidden(name: &'static str, files: &'static [&'static str]) -> Way {
    renamed(name, files, &[])
}

const fn renamed(
    name: &'static str,
    files: &'static [&'static str],
    names: &'static [(&'static str, &'static str)],
) -> Way {
    Way { name, files, names }
}

/// A command of a project, with the verdict on it.
struct Judged {
    /// The name of the project's folder.
    project: String,
    command: String,
    verdict: String,
}

/// A way's row: in how many projects it decides, how often these commands are right, and those without it.
#[derive(Default)]
struct Row {
    decides: usize,
    with: Counts,
    without: Counts,
}

/// Commands of projects that are not judged are in none of these.
#[derive(Default)]
struct Counts {
    right: usize,
    wrong: usize,
    nothing: usize,
}

fn main() -> anyhow::Result<()> {
    let words = std::env::args().skip(1).filter(|word| word != "--bench");
    let paths: Vec<PathBuf> = words.map(PathBuf::from).collect();
    if paths.is_empty() {
        println!("no checkout is given: cargo bench --bench discover -- PATH…");
        return Ok(());
    }
    let judged = judged()?;
    let mut rows: Vec<Row> = WAYS.iter().map(|_| Row::default()).collect();
    let mut verdicts = BTreeMap::<String, usize>::new();
    println!("| project | command | framework | file | decided by | verdict |\n|---|---|---|---|---|---|");
    for path in &paths {
        let verdict = show(path, &judged, &mut rows)?;
        *verdicts.entry(verdict).or_default() += 1;
    }
    let all: Vec<String> = verdicts
        .iter()
        .map(|(verdict, count)| format!("{verdict} {count}"))
        .collect();
    println!("\n{} projects: {}\n", paths.len(), all.join(", "));
    println!("| way | decides | right | wrong | without it: right | wrong | nothing |\n|---|--:|--:|--:|--:|--:|--:|");
    for (way, Row { decides, with, without }) in WAYS.iter().zip(&rows) {
        println!(
            "| {} | {decides} | {} | {} | {} | {} | {} |",
            way.name, with.right, with.wrong, without.right, without.wrong, without.nothing
        );
    }
    Ok(())
}

/// Prints what is found in a checkout, with all ways and without each, and gives the verdict on the former.
fn show(path: &Path, judged: &[Judged], rows: &mut [Row]) -> anyhow::Result<String> {
    let name = path.file_name().and_then(|name| name.to_str());
    let project = name.context("a path has no name")?;
    let checkout = Checkout::exported(path, &[]).with_context(|| format!("cannot read {project}"))?;
    let first = first(&checkout);
    let command = shown(first.as_ref());
    let verdict = verdict(judged, project, &command);
    let (mut decided, mut without) = (Vec::new(), Vec::new());
    for (way, row) in WAYS.iter().zip(rows) {
        let Some(rest) = way.left_out(&checkout) else { continue };
        let other = shown(self::first(&rest).as_ref());
        if other != command {
            let other_verdict = self::verdict(judged, project, &other);
            row.decides += 1;
            row.with.add(verdict);
            row.without.add(other_verdict);
            decided.push(way.name);
            without.push(format!("  without {}: {other} ({other_verdict})", way.name));
        }
    }
    let (framework, file) = first.map_or_else(Default::default, |command| {
        (command.framework.to_string(), command.source.to_string())
    });
    let decided = decided.join(", ");
    println!("| {project} | `{command}` | {framework} | {file} | {decided} | {verdict} |");
    without.iter().for_each(|line| println!("{line}"));
    Ok(verdict.to_string())
}

impl Counts {
    fn add(&mut self, verdict: &str) {
        match verdict {
            "same" | "equivalent" => self.right += 1,
            "wrong" => self.wrong += 1,
            "nothing" => self.nothing += 1,
            _ => {}
        }
    }
}

impl Way {
    /// The tree without what this way reads. `None` if there is nothing of that.
    fn left_out(&self, checkout: &Checkout) -> Option<Checkout> {
        let mut rest = checkout.clone();
        let mut is_changed = false;
        let files: Vec<RepoPath> = checkout
            .paths()
            .into_iter()
            .filter(|path| self.reads(path))
            .cloned()
            .collect();
        for path in files {
            if self.names.is_empty() {
                rest.edit(path, None);
                is_changed = true;
            } else if let Some(text) = checkout.read_text(path.as_str()) {
                let other = self
                    .names
                    .iter()
                    .fold(text.clone(), |text, (from, to)| text.replace(from, to));
                is_changed |= other != text;
                rest.edit_text(path, other);
            }
        }
        is_changed.then_some(rest)
    }

    fn reads(&self, path: &RepoPath) -> bool {
        let path = format!("/{path}");
        self.files.iter().any(|file| match file.split_once('*') {
            Some((start, end)) => {
                let name = &path[path.rfind('/').unwrap_or_default()..];
                name.starts_with(start) && name.ends_with(end)
            }
            None => path.ends_with(file),
        })
    }
}

fn first(checkout: &Checkout) -> Option<TestCommand> {
    let hints = Hints {
        ci: test_steps(checkout.paths(), &mut |path| checkout.read_text(path)),
        ..Hints::default()
    };
    find(checkout, &TestSettings::default(), &hints).ok()
}

fn shown(command: Option<&TestCommand>) -> String {
    command.map_or(NOTHING.into(), ToString::to_string)
}

/// What was judged by reading the CI of the projects: repository, commit, what its CI runs, a command, and a verdict on it.
fn judged() -> anyhow::Result<Vec<Judged>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/discover/projects.tsv");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let rows = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('\t').collect();
        let [repository, _commit, _ci, command, verdict] = cells[..] else {
            anyhow::bail!("a row of projects.tsv has not 5 cells: {row}");
        };
        Ok(Judged {
            project: repository.rsplit('/').next().unwrap_or(repository).into(),
            command: command.into(),
            verdict: verdict.into(),
        })
    })
    .collect()
}

/// The verdict on a command. Without a command, there is nothing to judge.
fn verdict<'a>(judged: &'a [Judged], project: &str, command: &'a str) -> &'a str {
    let known = judged
        .iter()
        .find(|row| row.project == project && row.command == command);
    match known {
        Some(row) => &row.verdict,
        None if command == NOTHING => NOTHING,
        None => "not judged",
    }
}
