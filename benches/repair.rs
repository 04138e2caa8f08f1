//! Repair without a model, on faults that independent mutation tools put into real libraries.
//!
//! `cargo bench --bench repair -- [--language python] [--limit 20] [--jobs 1] [--timeout 120s] [--out results.jsonl]`
//! runs the real program on the cases of `benches/repair/cases` and prints how many it repaired, how much of what it
//! posted was right, and how long it took. With `--all-visible` no test is hidden from it, with `--erasures` faults
//! that took a whole body away are tried too, with `--only ID,ID` only these are; `--speed` times the search beside a new
//! test process for each candidate. `--without WHAT` leaves parts of the engine out, as `greenlight fix` does, and `--set`
//! chooses other cases: `pull-requests`, `returning`, `checks` (docs/ablation.md). `--root FOLDER` keeps the libraries
//! elsewhere, for two at the same time. It takes python3, git, npm and cargo, and downloads the libraries once.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a table is what this is for")]

#[path = "repair/case.rs"]
mod case;
#[path = "repair/checks.rs"]
mod checks;
#[path = "repair/judge.rs"]
mod judge;
#[path = "repair/process.rs"]
mod process;
#[path = "repair/speed.rs"]
mod speed;
#[path = "repair/table.rs"]
mod table;

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, bail};
use case::{Case, Place, Set};
use judge::{Judge, Verdict};

/// The command line arguments.
struct Asked {
    cases: PathBuf,
    language: Option<String>,
    only: Option<String>,
    limit: usize,
    jobs: usize,
    timeout: Duration,
    binary: PathBuf,
    out: Option<PathBuf>,
    root: PathBuf,
    without: Option<String>,
    set: Set,
    flags: Vec<String>,
}

impl Asked {
    fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|known| known == flag)
    }
}

fn main() -> anyhow::Result<()> {
    let asked = asked()?;
    let cases = chosen(&asked)?;
    anyhow::ensure!(
        asked.binary.is_file(),
        "there is no {}: cargo build --release",
        asked.binary.display()
    );
    if asked.has("--speed") {
        print!("{}", speed::table(&cases, &judge(&asked), &place(&asked, 0)?)?);
        return Ok(());
    }
    let verdicts = all(&asked, &cases)?;
    println!("\n{}", table::tables(&verdicts));
    Ok(())
}

fn judge(asked: &Asked) -> Judge {
    Judge {
        binary: asked.binary.clone(),
        at_most: asked.timeout,
        is_all_visible: asked.has("--all-visible"),
        without: asked.without.clone(),
    }
}

fn place(asked: &Asked, worker: usize) -> anyhow::Result<Place> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = asked.root.clone();
    std::fs::create_dir_all(&root)?;
    Ok(Place {
        root,
        scripts: top.join("benches/repair"),
        worker,
    })
}

/// Judges all cases with this many workers, each with a separate tree.
fn all(asked: &Asked, cases: &[Case]) -> anyhow::Result<Vec<Verdict>> {
    let out = asked.out.as_ref().map(File::create).transpose()?.map(Mutex::new);
    let (next, verdicts) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = |worker| -> anyhow::Result<()> {
        let (place, judge) = (place(asked, worker)?, judge(asked));
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let Some(verdict) = judge.judge(&place, case) else {
                eprintln!("{:24} is not a case", case.id);
                continue;
            };
            eprintln!(
                "{:24} {:12} posted {:?}, unverified {:?}, rank {:?}, {:?} candidates, {:.1} s {}",
                verdict.id,
                verdict.outcome,
                verdict.posted,
                verdict.unverified,
                verdict.rank,
                verdict.tried,
                verdict.seconds,
                verdict.broken.as_deref().unwrap_or_default(),
            );
            let line = serde_json::to_string(&verdict)?;
            if let Some(mut out) = out.as_ref().and_then(|out| out.lock().ok()) {
                writeln!(out, "{line}")?;
            }
            if let Ok(mut verdicts) = verdicts.lock() {
                verdicts.push(verdict);
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..asked.jobs)
            .map(|worker| scope.spawn(move || work(worker)))
            .collect();
        for worker in workers {
            match worker.join() {
                Ok(done) => done?,
                Err(_) => bail!("a worker is gone"),
            }
        }
        Ok(())
    })?;
    verdicts.into_inner().ok().context("a worker is gone")
}

/// At most this many cases of every language, spread evenly over its libraries.
fn chosen(asked: &Asked) -> anyhow::Result<Vec<Case>> {
    let mut cases = match asked.set {
        Set::Checks => checks::read(&asked.cases)?,
        _ => case::read(&asked.cases)?,
    };
    cases.iter_mut().for_each(|case| case.set = asked.set);
    cases.retain(|case| {
        asked
            .language
            .as_ref()
            .is_none_or(|language| *language == case.language)
            && asked
                .only
                .as_ref()
                .is_none_or(|only| only.split(',').any(|id| id == case.id))
            && (case.kind == "edit" || asked.has("--erasures"))
    });
    let mut rounds: Vec<(usize, Case)> = Vec::new();
    for case in cases {
        let round = rounds.iter().filter(|(_, other)| other.library == case.library).count();
        rounds.push((round, case));
    }
    rounds.sort_by(|one, other| (&one.1.language, one.0).cmp(&(&other.1.language, other.0)));
    let mut chosen: Vec<Case> = Vec::new();
    for (_, case) in rounds {
        if chosen.iter().filter(|other| other.language == case.language).count() < asked.limit {
            chosen.push(case);
        }
    }
    Ok(chosen)
}

fn asked() -> anyhow::Result<Asked> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut asked = Asked {
        cases: top.join("benches/repair/cases"),
        language: None,
        only: None,
        limit: usize::MAX,
        jobs: 1,
        timeout: Duration::from_secs(120),
        binary: top.join("target/release/greenlight"),
        out: None,
        root: top.join("target/bench-repair"),
        without: None,
        set: Set::default(),
        flags: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if ["--all-visible", "--erasures", "--speed", "--bench"].contains(&word.as_str()) {
            asked.flags.push(word);
            continue;
        }
        let value = words.next().with_context(|| format!("{word} takes a value"))?;
        match word.as_str() {
            "--cases" => asked.cases = value.into(),
            "--language" => asked.language = Some(value),
            "--only" => asked.only = Some(value),
            "--limit" => asked.limit = value.parse()?,
            "--jobs" => asked.jobs = value.parse::<usize>()?.max(1),
            "--timeout" => asked.timeout = humantime::parse_duration(&value)?,
            "--binary" => asked.binary = std::path::absolute(value)?,
            "--root" => asked.root = std::path::absolute(value)?,
            "--without" => asked.without = Some(value),
            "--set" => asked.set = Set::named(&value)?,
            "--out" => asked.out = Some(value.into()),
            _ => bail!("{word} is not known"),
        }
    }
    Ok(asked)
}
