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
use greenlight::suite::{Hints, TestCommand, TestSettings, find};

/// A way in which greenlight finds tests.
struct Way {
    name: &'static str,
    /// The files that it reads, by what their paths end with.
    files: &'static [&'static str],
    /// What it looks for in them, and what it does not know. Without any, the files are hidden.
    names: &'static [(&'static str, &'static str)],
}

const WAYS: &[Way] = &[
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
    renamed("PDM", &["/pyproject.toml"], &[("[tool.pdm", "[tool.un-pdm")]),
    renamed("Rye", &["/pyproject.toml"], &[("[tool.rye", "[tool.un-rye")]),
    renamed("Poe", &["/pyproject.toml"], &[("[tool.poe.", "[tool.un-poe.")]),
    renamed(
        "taskipy",
        &["/pyproject.toml"],
        &[("[tool.taskipy", "[tool.un-taskipy")],
    ),
    renamed(
        "scripts of package.json",
        &["/package.json"],
        &[("\"scripts\"", "\"un-scripts\"")],
    ),
    renamed("wireit", &["/package.json"], &[("\"wireit\"", "\"un-wireit\"")]),
    renamed("nyc, c8", &["/package.json"], &[("nyc ", "un-nyc "), ("c8 ", "un-c8 ")]),
    hidden(
        "settings of Jest, Vitest, Mocha",
        &["/jest.config.*", "/vitest.config.*", "/.mocharc.*"],
    ),
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

/// What is known of one command of one project, or of a project of which none is found.
struct Judged {
    /// The name of the project's folder.
    project: String,
    command: String,
    verdict: String,
}

/// A way's row: in how many projects it decides, how these commands are judged, and how those without it.
#[derive(Default)]
struct Row {
    decided: usize,
    verdicts: BTreeMap<String, usize>,
    without: BTreeMap<String, usize>,
}

fn main() -> anyhow::Result<()> {
    let paths: Vec<PathBuf> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .map(PathBuf::from)
        .collect();
    if paths.is_empty() {
        println!("no checkout is given: cargo bench --bench discover -- PATH…");
        return Ok(());
    }
    let judged = judged()?;
    let mut rows: Vec<Row> = WAYS.iter().map(|_| Row::default()).collect();
    let mut verdicts = BTreeMap::<String, usize>::new();
    println!("| project | command | framework | file | decided by | verdict |\n|---|---|---|---|---|---|");
    for path in &paths {
        let project = path
            .file_name()
            .and_then(|name| name.to_str())
            .context("a path has no name")?;
        let checkout = Checkout::exported(path, &[]).with_context(|| format!("cannot read {project}"))?;
        let first = first(&checkout);
        let verdict = verdict(&judged, project, first.as_ref());
        *verdicts.entry(verdict.clone()).or_default() += 1;
        let (mut decided, mut without) = (Vec::new(), Vec::new());
        for (way, row) in WAYS.iter().zip(&mut rows) {
            let Some(rest) = way.left_out(&checkout) else { continue };
            let other = self::first(&rest);
            if shown(other.as_ref()) != shown(first.as_ref()) {
                let other_verdict = self::verdict(&judged, project, other.as_ref());
                row.decided += 1;
                *row.verdicts.entry(verdict.clone()).or_default() += 1;
                *row.without.entry(other_verdict.clone()).or_default() += 1;
                decided.push(way.name);
                without.push(format!(
                    "  without {}: {} ({other_verdict})",
                    way.name,
                    shown(other.as_ref())
                ));
            }
        }
        let (framework, file) = first.as_ref().map_or_else(Default::default, |command| {
            (command.framework.to_string(), command.source.to_string())
        });
        println!(
            "| {project} | `{}` | {framework} | {file} | {} | {verdict} |",
            shown(first.as_ref()),
            decided.join(", ")
        );
        without.iter().for_each(|line| println!("{line}"));
    }
    println!("\n{}: {}\n", paths.len(), counts(&verdicts));
    println!("| way | decided | judged | without it |\n|---|--:|---|---|");
    for (way, row) in WAYS.iter().zip(&rows) {
        println!(
            "| {} | {} | {} | {} |",
            way.name,
            row.decided,
            counts(&row.verdicts),
            counts(&row.without)
        );
    }
    Ok(())
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
    find(checkout, &TestSettings::default(), &Hints::default()).ok()
}

fn shown(command: Option<&TestCommand>) -> String {
    command.map_or("nothing".into(), ToString::to_string)
}

/// What was judged by hand: repository, commit, what its CI runs, a command, and a verdict on it.
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
fn verdict(judged: &[Judged], project: &str, command: Option<&TestCommand>) -> String {
    let command = shown(command);
    let known = judged
        .iter()
        .find(|row| row.project == project && row.command == command);
    known.map_or_else(
        || if command == "nothing" { "nothing" } else { "not judged" }.to_string(),
        |row| row.verdict.clone(),
    )
}

fn counts(verdicts: &BTreeMap<String, usize>) -> String {
    let all: Vec<String> = verdicts
        .iter()
        .map(|(verdict, count)| format!("{verdict} {count}"))
        .collect();
    all.join(", ")
}
