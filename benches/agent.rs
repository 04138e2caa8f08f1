//! The overhead of greenlight itself: a trivial repair in five turns of a scripted model, with the real binary.
//!
//! The model is a server in this process that answers immediately; the repository has one wrong operator and one
//! failing test. The overhead is the wall clock time minus the time of the tests and the model. The same number of
//! plain pytest runs is timed in alternation, so that a busy machine affects both equally.
//!
//! `cargo bench --bench agent` prints the table; `cargo bench --bench agent -- 30` runs thirty rounds. Memory is
//! measured in separate rounds, because measuring takes time.

#[path = "agent/model.rs"]
mod model;
#[path = "agent/process.rs"]
mod process;

use std::ops::Add;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use model::Model;
use process::{Ended, Started};
use serde_json::Value;

const ROUNDS: usize = 15;
const ROUNDS_OF_MEMORY: usize = 5;

const FILES: [(&str, &str); 4] = [
    ("calc.py", "def add(a, b):\n    return a - b\n"),
    (
        "test_calc.py",
        "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n",
    ),
    (
        "pyproject.toml",
        "[project]\nname = \"calc\"\nversion = \"0.1.0\"\n\n[tool.pytest.ini_options]\n",
    ),
    // The model is measured, which the built-in engine would forestall.
    ("greenlight.toml", "[repair]\nbefore_model = \"0s\"\n"),
];

/// The measurements, one for each round.
#[derive(Default)]
struct Rows(Vec<(&'static str, Vec<f64>)>);

impl Rows {
    fn note(&mut self, name: &'static str, value: f64) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => values.push(value),
            None => self.0.push((name, vec![value])),
        }
    }

    /// Minimum, median and maximum.
    fn of(&self, name: &str) -> [f64; 3] {
        let found = self.0.iter().find(|(known, _)| *known == name);
        let mut values = found.map(|(_, values)| values.clone()).unwrap_or_default();
        values.sort_by(f64::total_cmp);
        let at = |index: usize| values.get(index).copied().unwrap_or(f64::NAN);
        [at(0), at(values.len() / 2), at(values.len().saturating_sub(1))]
    }

    fn median(&self, name: &str) -> f64 {
        self.of(name)[1]
    }
}

const WALL: &str = "wall";
const TESTS: &str = "in the test commands";
const MODEL: &str = "in the model server";
const NET: &str = "net: wall - tests - model";
const OWN: &str = "own, as greenlight says";
const FLOOR: &str = "floor: as many plain pytest";
const BEYOND: &str = "wall - floor";
const FIRST: &str = "start to first model call - tests";
const CPU: &str = "CPU, all processes";
const CPU_OWN: &str = "CPU, greenlight";
const CPU_BELOW: &str = "CPU, tests and sandboxes";
const CPU_FLOOR: &str = "CPU, floor";
const CPU_BEYOND: &str = "CPU, all - floor";
const TREE: &str = "peak PSS, whole tree, MiB";
const ALONE: &str = "peak PSS, greenlight, MiB";
const KIN: &str = "peak PSS, greenlight + supervisors, MiB";

fn main() -> anyhow::Result<()> {
    let rounds = std::env::args().find_map(|word| word.parse().ok()).unwrap_or(ROUNDS);
    let model = Model::start()?;
    let mut rows = Rows::default();
    let mut last = Value::Null;
    // A warm-up round, which also checks that everything works.
    repair(&model)?;
    for _ in 0..rounds {
        last = time(&model, &mut rows)?;
    }
    for _ in 0..ROUNDS_OF_MEMORY {
        let (_, ended, _) = repair_watched(&model, true)?;
        rows.note(TREE, mib(ended.tree));
        rows.note(ALONE, mib(ended.alone));
        rows.note(KIN, mib(ended.kin));
    }
    show(&rows, &last["spent"], model.prompt_bytes(), rounds)
}

/// One round: the repair, the start alone, and the baseline.
fn time(model: &Model, rows: &mut Rows) -> anyhow::Result<Value> {
    let (document, ended, served) = repair(model)?;
    let spent = &document["spent"];
    let tests = millis(&spent["tests_ms"]);
    let wall = ended.wall.as_secs_f64();
    rows.note(WALL, wall);
    rows.note(TESTS, tests);
    rows.note(MODEL, served.as_secs_f64());
    rows.note(NET, wall - tests - served.as_secs_f64());
    rows.note(OWN, millis(&spent["own_ms"]));
    rows.note(FIRST, first_call(model)?);
    let mut floor = Ended::default();
    let repository = repository()?;
    for _ in 0..spent["test_runs"].as_u64().context("no test runs")? {
        let run = Started::new("pytest", &["-q".as_ref()], &[], repository.path())?.end(false)?;
        floor.wall = floor.wall.add(run.wall);
        floor.cpu_own += run.cpu_own + run.cpu_below;
    }
    rows.note(FLOOR, floor.wall.as_secs_f64());
    rows.note(BEYOND, wall - floor.wall.as_secs_f64());
    let cpu = ended.cpu_own + ended.cpu_below;
    rows.note(CPU, cpu);
    rows.note(CPU_OWN, ended.cpu_own);
    rows.note(CPU_BELOW, ended.cpu_below);
    rows.note(CPU_FLOOR, floor.cpu_own);
    rows.note(CPU_BEYOND, cpu - floor.cpu_own);
    Ok(document)
}

/// The time from the start of the program to its first request to the model, without the tests before it. The model
/// rejects the request, so there are no others.
fn first_call(model: &Model) -> anyhow::Result<f64> {
    model.refuse();
    let repository = repository()?;
    let (document, ended) = fix(model, repository.path(), false)?;
    let first = model.first_call().context("the model was not called")?;
    let until = first.saturating_duration_since(ended.began).as_secs_f64();
    Ok(until - millis(&document["spent"]["tests_ms"]))
}

fn repair(model: &Model) -> anyhow::Result<(Value, Ended, Duration)> {
    repair_watched(model, false)
}

fn repair_watched(model: &Model, is_watched: bool) -> anyhow::Result<(Value, Ended, Duration)> {
    model.play();
    let repository = repository()?;
    let (document, ended) = fix(model, repository.path(), is_watched)?;
    anyhow::ensure!(
        document["outcome"] == "fixed" && document["spent"]["turns"] == model::TURNS,
        "it was not fixed in {} turns: {document}",
        model::TURNS
    );
    Ok((document, ended, model.served()))
}

fn fix(model: &Model, repository: &Path, is_watched: bool) -> anyhow::Result<(Value, Ended)> {
    let data = tempfile::tempdir()?;
    let variables = [
        ("GREENLIGHT_DATA_DIR", data.path().display().to_string()),
        ("GREENLIGHT_MODEL", "scripted".into()),
        ("GREENLIGHT_MODEL_BASE_URL", model.base_url()),
        ("GREENLIGHT_MODEL_API_KEY", "sk-scripted".into()),
    ];
    let words = ["fix", "--yes", "--json"].map(AsRef::as_ref);
    let words = [&words[..], &[repository.as_os_str()]].concat();
    let ended = Started::new(env!("CARGO_BIN_EXE_greenlight"), &words, &variables, Path::new("/"))?.end(is_watched)?;
    let document = serde_json::from_str(&ended.printed).context("no document")?;
    Ok((document, ended))
}

/// The repository, committed.
fn repository() -> anyhow::Result<tempfile::TempDir> {
    let directory = tempfile::tempdir()?;
    for (name, text) in FILES {
        std::fs::write(directory.path().join(name), text)?;
    }
    let repository = git2::Repository::init(directory.path())?;
    let mut index = repository.index()?;
    index.add_all(["*"], git2::IndexAddOption::DEFAULT, None)?;
    index.write()?;
    let tree = repository.find_tree(index.write_tree()?)?;
    let me = git2::Signature::now("bench", "bench@example.org")?;
    repository.commit(Some("HEAD"), &me, &me, "One wrong operator", &tree, &[])?;
    Ok(directory)
}

fn millis(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN) / 1000.0
}

fn mib(kib: u64) -> f64 {
    kib as f64 / 1024.0
}

#[expect(clippy::print_stdout, reason = "a table is what this is for")]
fn show(rows: &Rows, spent: &Value, prompt: usize, rounds: usize) -> anyhow::Result<()> {
    let installed = std::fs::metadata(PathBuf::from(env!("CARGO_BIN_EXE_greenlight")))?.len() as f64 / 1e6;
    let prompt = prompt as f64 / 1000.0;
    println!(
        "\none wrong operator, {} turns, {} test runs (triage, the model's own, proof, confirmation); {rounds} rounds\n",
        spent["turns"], spent["test_runs"]
    );
    println!("{:42} {:>9} {:>9} {:>9}", "seconds, or as said", "median", "min", "max");
    for (name, _) in &rows.0 {
        let [least, median, most] = rows.of(name);
        println!("{name:42} {median:>9.3} {least:>9.3} {most:>9.3}");
    }
    println!("{:42} {prompt:>9.1}", "first prompt, KB");
    println!("{:42} {installed:>9.1}", "program, MB");
    println!(
        "\nwall / floor: {:.2}; tests in the sandbox / plain pytest: {:.2}\n",
        rows.median(WALL) / rows.median(FLOOR),
        rows.median(TESTS) / rows.median(FLOOR)
    );
    println!(
        "\nCPU of greenlight is that process; that of tests and sandboxes is what its process waited for.\n\
         Again: cargo bench --bench agent, or: just bench-agent. Beside other agents: just bench-peers"
    );
    Ok(())
}
