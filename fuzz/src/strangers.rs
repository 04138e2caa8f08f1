//! What greenlight reads besides diffs and comments: packets of git, logs, workflow files, the files that projects
//! describe themselves with, results of tests, `greenlight.toml`, and bundles.

use std::io::{Cursor, Write as _};
use std::time::Duration;

use greenlight::checkout::Checkout;
use greenlight::config::RepoConfig;
use greenlight::domain::id::RepoPath;
use greenlight::domain::test_run::TestRun;
use greenlight::engine::bundle;
use greenlight::git::wire::{PackParser, ServerMessage};
use greenlight::sandbox::{Captured, Outcome, Output};
use greenlight::suite::{self, Framework, Hints, Report, TestSettings};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::in_time;

/// How much of the texts of a tree is taken, and how many files: what is above is left to the bounds of trees.
const MOST_FILES: usize = 50;

/// Takes a size and, after a NUL, the answer of a git server, which arrives in chunks of that size.
pub fn packets(input: &[u8]) {
    let mut parts = input.splitn(2, |byte| *byte == 0);
    let size = String::from_utf8_lossy(parts.next().unwrap_or_default())
        .parse()
        .unwrap_or(7);
    let answer = parts.next().unwrap_or_default();
    let in_chunks = in_time(answer.len(), || parts_of(answer, usize::clamp(size, 1, 100_000)));
    assert_eq!(in_chunks, parts_of(answer, answer.len().max(1)));
}

/// What is read of an answer; an error is the last thing, and what it says depends on how much was there.
fn parts_of(answer: &[u8], chunk: usize) -> (Vec<ServerMessage>, bool) {
    let (mut reader, mut parts) = (PackParser::new(), Vec::new());
    for chunk in answer.chunks(chunk) {
        reader.push(chunk);
        loop {
            match reader.part() {
                Ok(Some(part)) => parts.push(part),
                Ok(None) => break,
                Err(_) => return (parts, true),
            }
        }
    }
    (parts, false)
}

/// Takes the log of a green job and, after a NUL, that of a red one.
pub fn log(input: &[u8]) {
    let mut logs = input.splitn(2, |byte| *byte == 0);
    let (green, red) = (logs.next().unwrap_or_default(), logs.next().unwrap_or_default());
    let distillate = in_time(input.len(), || {
        let mut known = suite::GreenLog::default();
        let _enough = known.take(green);
        let mut distiller = suite::Distiller::default().beside(known).of_script("npm test");
        let _enough = distiller.take(red);
        distiller.finish()
    });
    assert!(distillate.excerpt.len() <= 8 << 10, "{}", distillate.excerpt.len());
    assert!(distillate.failures.len() <= TestRun::MAX_FAILURES);
    let alone = in_time(red.len(), || suite::distil(red).unwrap());
    assert!(alone.excerpt.len() <= 8 << 10);
}

/// Takes the name of a job, the names of its steps, one a line, of which the last failed, the path of a workflow, and
/// then paths and files in turn. What the step runs is looked for in those files, too.
pub fn workflow(input: &[u8]) {
    let mut texts = input.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let mut text = || texts.next().unwrap_or_default().into_owned();
    let (job, steps, path) = (text(), text(), text());
    let files = files(texts.map(std::borrow::Cow::into_owned));
    let steps: Vec<String> = steps.lines().map(String::from).collect();
    let Ok(workflow) = path.parse::<RepoPath>() else {
        return;
    };
    let failed = suite::Failed {
        workflow: &workflow,
        job: &job,
        failed: steps.len().saturating_sub(1),
        steps: &steps,
    };
    let step = in_time(input.len(), || {
        let mut read = |wanted: &str| {
            let found = files.iter().find(|(path, _)| path.as_str() == wanted);
            found.map(|(_, text)| text.clone())
        };
        suite::failed_step(&failed, &mut read)
    });
    let near = Vec::new();
    find(
        &files,
        &Hints {
            step,
            near,
            ..Hints::default()
        },
        input.len(),
    );
}

/// Takes paths and files of a tree in turn.
pub fn manifest(input: &[u8]) {
    let texts = input.split(|byte| *byte == 0);
    let files = files(texts.map(|text| String::from_utf8_lossy(text).into_owned()));
    let near = files.iter().map(|(path, _)| path.clone()).take(3).collect();
    find(
        &files,
        &Hints {
            near,
            ..Hints::default()
        },
        input.len(),
    );
}

fn files(mut texts: impl Iterator<Item = String>) -> Vec<(RepoPath, String)> {
    let mut files = Vec::new();
    while let (Some(path), Some(text)) = (texts.next(), texts.next()) {
        if let Ok(path) = path.parse()
            && files.len() < MOST_FILES
        {
            files.push((path, text));
        }
    }
    files
}

/// Looks for the test commands of a tree, for the tests near its files, and for what has to be installed.
fn find(files: &[(RepoPath, String)], hints: &Hints, bytes: usize) {
    let folder = tempfile::tempdir().unwrap();
    let mut checkout = Checkout::open(folder.path()).unwrap();
    for (path, text) in files {
        checkout.edit_text(path.clone(), text.as_bytes());
    }
    in_time(bytes, || {
        let commands = suite::find_all(&checkout, &TestSettings::default(), hints);
        for command in commands.iter().take(3) {
            let _parts = suite::parts(&checkout, command);
            let _package = suite::package(&checkout, command, &hints.near);
            let _shown = command.to_string();
        }
    });
}

/// Takes the name of the framework whose results these are, what was printed, and then names and contents of reports in turn.
pub fn report(input: &[u8]) {
    let mut texts = input.split(|byte| *byte == 0);
    let name = texts.next().unwrap_or_default();
    let named = |framework: &&Framework| format!("{framework:?}").as_bytes().eq_ignore_ascii_case(name);
    let number = usize::from(name.first().copied().unwrap_or_default());
    let framework = Framework::ALL.iter().find(named);
    let framework = *framework.unwrap_or(&Framework::ALL[number % Framework::ALL.len()]);
    let stdout = texts.next().unwrap_or_default();
    let mut reports = Vec::new();
    while let (Some(path), Some(bytes)) = (texts.next(), texts.next()) {
        reports.push(Report {
            path: String::from_utf8_lossy(path).into_owned(),
            bytes: bytes.to_vec(),
        });
    }
    for framework in [framework, Framework::Other] {
        let output = Output {
            outcome: Outcome::Exited(1),
            stdout: captured(stdout),
            stderr: Captured::default(),
            cpu: Duration::ZERO,
            peak_memory: 0,
            wall: Duration::ZERO,
        };
        let run = in_time(input.len(), || suite::read(framework, &output, &reports));
        assert!(run.failures.len() <= TestRun::MAX_FAILURES + 1);
        assert!(!run.is_green(), "{run:?}");
    }
}

fn captured(bytes: &[u8]) -> Captured {
    Captured {
        head: bytes.to_vec(),
        tail: Vec::new(),
        total: bytes.len() as u64,
    }
}

/// Takes any text as a `greenlight.toml`.
pub fn settings(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let read = in_time(text.len(), || RepoConfig::parse(&text));
    if let Err(error) = read {
        assert!(error.to_string().len() < 2_000, "{error}");
    }
}

/// Takes a manifest, a journal, and then paths and files of a tree in turn, as the entries of a bundle; or the bytes of
/// one, which begin as those of a ZIP archive do.
pub fn bundle(input: &[u8]) {
    let archive = if input.starts_with(b"PK") {
        input.to_vec()
    } else {
        zipped(input)
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bundle");
    std::fs::write(&file, archive).unwrap();
    let read = in_time(input.len(), || bundle::read(&file, &folder.path().join("tree")));
    if let Ok((_, steps, _)) = read {
        assert!(steps.len() <= bundle::MAX_STEPS);
    }
}

fn zipped(input: &[u8]) -> Vec<u8> {
    let mut texts = input.split(|byte| *byte == 0);
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let mut add = |name: &str, content: &[u8]| {
        // A name that is there already, or cannot be one, is left out.
        if archive.start_file(name, SimpleFileOptions::default()).is_ok() {
            archive.write_all(content).unwrap();
        }
    };
    add("manifest.json", texts.next().unwrap_or_default());
    add("journal.jsonl", texts.next().unwrap_or_default());
    let mut entries = 0;
    while let (Some(path), Some(content)) = (texts.next(), texts.next()) {
        if entries < MOST_FILES {
            add(&format!("tree/{}", String::from_utf8_lossy(path)), content);
            entries += 1;
        }
    }
    archive.finish().unwrap().into_inner()
}
