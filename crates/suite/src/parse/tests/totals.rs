//! Reports and the text, each read alone, agree with the totals that the tool printed, in every recorded output.

use std::collections::BTreeMap;
use std::path::PathBuf;

use regex::Regex;

use super::*;

/// Passed, failed, skipped, as far as the tool counts them. Expected failures are none of them.
type Totals = [Option<u32>; 3];

fn number(text: &str, pattern: &str) -> u32 {
    let pattern = Regex::new(pattern).unwrap();
    pattern
        .captures_iter(text)
        .map(|found| found[1].parse::<u32>().unwrap())
        .sum()
}

/// The last line that contains a text.
fn last<'t>(text: &'t str, mark: &str) -> Option<&'t str> {
    text.lines().rev().find(|line| line.contains(mark))
}

/// What the tool itself printed. It is read in another way than the product reads it: word by word.
pub(super) fn printed(folder: &str, text: &str) -> Option<Totals> {
    let words = |line: &str, all: [&str; 3]| all.map(|words| number(line, &format!(r"(\d+) (?:{words})\b")));
    let labels = |line: &str, all: [&str; 3]| all.map(|words| number(line, &format!(r"\b(?:{words}):? *(\d+)")));
    // The first is the number of all tests.
    let from_all = |[all, failed, skipped]: [u32; 3]| [all - failed - skipped, failed, skipped];
    let totals = match folder {
        "pytest" => {
            let is_last = Regex::new(r" in \d+\.\d+s").unwrap();
            let line = text.lines().rev().find(|line| is_last.is_match(line))?;
            words(line, ["passed|xpassed", "failed|errors?", "skipped"])
        }
        "jest" => words(last(text, "Tests:  ")?, ["passed", "failed", "skipped|todo"]),
        "vitest" => {
            let line = last(text, "      Tests  ")?;
            words(line, ["passed|expected fail", "failed", "skipped|todo"])
        }
        "mocha" => {
            last(text, " passing (")?;
            words(text, ["passing", "failing", "pending"])
        }
        "node" => {
            last(text, "\u{2139} tests ")?;
            let lines = text.lines().filter(|line| line.starts_with('\u{2139}'));
            let lines = lines.collect::<Vec<_>>().join("\n");
            labels(&lines, ["pass", "fail|cancelled", "skipped|todo"])
        }
        "bun" => {
            last(text, "Ran ")?;
            let [passed, failed, skipped] = words(text, ["pass", "fail", "skip|todo"]);
            // A file that cannot be loaded is counted as a test.
            [passed, failed - number(text, r"(\d+) errors?\b"), skipped]
        }
        "rspec" => {
            let line = last(text, " examples, ").or_else(|| last(text, "1 example, "))?;
            from_all(words(line, ["examples?", "failures?", "pending"]))
        }
        "phpunit" => match last(text, "Tests: ") {
            Some(line) => from_all(labels(
                line,
                ["Tests", "Errors|Failures", "Skipped|Incomplete|Warnings"],
            )),
            None => [number(last(text, "OK (")?, r"OK \((\d+)"), 0, 0],
        },
        "ctest" => {
            // Skipped tests count as passed, and disabled ones do not count.
            let failed = number(last(text, "% tests passed, ")?, r"(\d+) tests? failed");
            return Some([None, Some(failed), None]);
        }
        "maven" => {
            let is_total = |line: &&str| line.contains("Tests run: ") && !line.contains("Time elapsed");
            let lines = text.lines().filter(is_total).collect::<Vec<_>>().join("\n");
            (!lines.is_empty()).then_some(())?;
            from_all(labels(&lines, ["Tests run", "Failures|Errors", "Skipped"]))
        }
        "gradle" => {
            let line = last(text, " tests completed")?;
            from_all(words(line, ["tests completed", "failed", "skipped"]))
        }
        "pest" => {
            let line = last(text, "  Tests: ")?;
            let [passed, failed, skipped] = words(line, ["passed|risky", "failed", "skipped|incomplete"]);
            [passed, failed, skipped]
        }
        "meson" => {
            last(text, "Ok: ")?;
            let lines = text.lines().filter(|line| line.contains(": ") && !line.contains('/'));
            let lines = lines.collect::<Vec<_>>().join("\n");
            let all = [
                r"\nOk: +(\d+)",
                r"\n(?:Fail|Unexpected Pass|Timeout): +(\d+)",
                r"\nSkipped: +(\d+)",
            ];
            all.map(|pattern| number(&format!("\n{lines}"), pattern))
        }
        "googletest" => {
            last(text, "[  PASSED  ] ")?;
            let all = ["PASSED", "FAILED", "SKIPPED"].map(|word| format!(r"\[  {word} *\] (\d+) tests?"));
            let [passed, failed, skipped] = all.map(|pattern| number(text, &pattern));
            // Disabled tests are only counted at the very end.
            [passed, failed, skipped + number(text, r"YOU HAVE (\d+) DISABLED")]
        }
        "dotnet" => labels(last(text, "! ")?, ["Passed", "Failed", "Skipped"]),
        _ => return None,
    };
    Some(totals.map(Some))
}

/// What the reader finds, as far as the totals tell.
fn read_alone(folder: &str, totals: &Totals, text: &str, reports: &[Report]) -> (Totals, ParsedRun) {
    let parsed = (framework(folder).spec().parse)(&Printed { text, reports });
    // Only pytest counts files that it cannot load.
    let unloaded = parsed.diagnostics.len() * usize::from(folder == "pytest");
    // For Node, a test to do is one even if it fails.
    let to_do = parsed.expected_failures * u32::from(folder == "node");
    let unloaded = u32::try_from(unloaded).unwrap();
    let found = [parsed.passed, parsed.failed + unloaded, parsed.skipped + to_do];
    let known = found.into_iter().zip(totals).map(|(count, total)| total.map(|_| count));
    (known.collect::<Vec<_>>().try_into().unwrap(), parsed)
}

pub(super) struct Recorded {
    pub(super) folder: String,
    pub(super) name: String,
    pub(super) text: String,
    /// The text of another reporter in the same run, if the first one does not print totals.
    totals: Option<String>,
    pub(super) reports: Vec<Report>,
}

/// Every recorded text with the reports of the same name.
pub(super) fn recorded() -> Vec<Recorded> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/outputs");
    let files = |folder: &Path| -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
            .unwrap()
            .flatten()
            .map(|file| file.path())
            .collect();
        files.sort();
        files
    };
    let text = |path: &Path| greenlight_readers::text::clean(&std::fs::read(path).unwrap());
    let report = |path: &Path| Report {
        path: path.file_name().unwrap().to_string_lossy().into(),
        bytes: std::fs::read(path).unwrap(),
    };
    let mut all = Vec::new();
    for path in files(&root).into_iter().filter(|path| path.is_dir()) {
        let folder = path.file_name().unwrap().to_string_lossy().into_owned();
        for file in files(&path)
            .into_iter()
            .filter(|file| file.extension().is_some_and(|end| end == "txt"))
        {
            let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
            let beside = ["xml", "json"].map(|end| file.with_extension(end));
            let mut reports: Vec<Report> = beside
                .iter()
                .filter(|path| path.is_file())
                .map(|path| report(path))
                .collect();
            if file.with_extension("").is_dir() {
                reports.extend(files(&file.with_extension("")).iter().map(|path| report(path)));
            }
            let other = path.join(format!("{stem}_spec.txt"));
            all.push(Recorded {
                name: format!("{folder}/{stem}"),
                folder: folder.clone(),
                text: text(&file),
                totals: other.is_file().then(|| text(&other)),
                reports,
            });
        }
    }
    all
}

pub(super) fn framework(folder: &str) -> Framework {
    let name = |framework: &&Framework| format!("{framework:?}").to_lowercase() == folder.replace('_', "");
    *Framework::ALL.iter().find(name).unwrap()
}

/// Recorded outputs whose report alone says something else than the text, with the reason.
const OTHER: &[(&str, &str)] = &[
    ("ctest/not_built", "nothing was built, so no test has failed"),
    ("maven/flaky", "the first of two attempts failed"),
    (
        "pytest/kinds",
        "a test that passes and then cannot clean up counts once",
    ),
    (
        "pytest/kinds_short",
        "a test that passes and then cannot clean up counts once",
    ),
    ("pytest/subtests", "the subtests of a test count once"),
    ("rspec/exit", "the example that ended the process has no result"),
];

#[test]
fn reports_and_texts_agree_with_the_totals_of_the_tool() {
    let mut compared: BTreeMap<String, u32> = BTreeMap::new();
    let mut wrong = String::new();
    for Recorded {
        folder,
        name,
        text,
        totals,
        reports,
    } in recorded()
    {
        let with_totals = totals.as_ref().unwrap_or(&text);
        let Some(expected) = printed(&folder, with_totals) else {
            continue;
        };
        let mut check = |source: &str, (found, parsed): (Totals, ParsedRun), is_other: bool| {
            if (found != expected) != is_other {
                writeln!(wrong, "{name}: the {source} has {found:?}, printed are {expected:?}").unwrap();
            }
            if !parsed.unread.is_empty() {
                writeln!(wrong, "{name}: {:?}", parsed.unread).unwrap();
            }
        };
        if !reports.is_empty() {
            let is_other = OTHER.iter().any(|(other, _)| *other == name);
            check("report", read_alone(&folder, &expected, "", &reports), is_other);
        } else if totals.is_some() {
            check("text", read_alone(&folder, &expected, &text, &[]), false);
        }
        check(
            "text with the totals",
            read_alone(&folder, &expected, with_totals, &[]),
            false,
        );
        *compared.entry(folder).or_default() += 1;
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(compared.len() >= 12, "{compared:?}");
}
