//! RSpec: reads its JSON report, and the text of its formatters.

use std::sync::LazyLock;

use greenlight_readers::lenient::{self, MaybeRead};
use greenlight_readers::test_run::Location;
use greenlight_readers::{Anomaly, ParsedRun, Printed, documents, location};
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use crate::discover::directory::Directory;
use crate::discover::others::ruby;
use crate::framework::{Ecosystem, Framework};
use crate::frameworks::minitest;
use crate::frameworks::spec::Spec;
use crate::reporters::Invocation;
use crate::test_command::TestCommand;
use crate::text::pattern;

pub(super) const SPEC: Spec = Spec {
    name: "RSpec",
    ecosystem: Ecosystem::Ruby,
    looks_for: Some("RSpec or Ruby tests"),
    discover,
    words: &["rspec"],
    is_check: |line| line.program() == "rspec",
    reporter,
    filter,
    parse,
    marks: &[" examples, ", "\n1 example, "],
    may_be: |text| text.contains(" failure"),
    ..Spec::NEW
};

const REPORT: &str = ".greenlight-report.json";

fn discover(place: &Directory<'_>) -> Option<TestCommand> {
    let spec = ruby::spec(place).filter(|_| !ruby::has_minitest_specs(place))?;
    let settings = [".rspec", "spec/spec_helper.rb"]
        .into_iter()
        .find(|file| place.has(file));
    ruby::command(place, &["rspec"], Framework::Rspec, settings.unwrap_or(spec))
}

fn reporter(_: &TestCommand, mut invocation: Invocation) -> Invocation {
    // The variable also works through Rake. Formatters named here replace all others.
    let options = format!("--no-color --format progress --format json --out {REPORT}");
    invocation.env.insert("SPEC_OPTS".into(), options);
    invocation.reports.push(REPORT.into());
    invocation
}

/// `./spec/a_spec.rb[1:2]` or `./spec/a_spec.rb:4`, in place of the files.
fn filter(command: &TestCommand, only: &[String]) -> Option<Vec<String>> {
    let argv = &command.argv;
    let at = argv.iter().position(|word| word.rsplit('/').next() == Some("rspec"))?;
    let is_id = |name: &String| {
        let name = name.strip_suffix(']').map_or(name.as_str(), |name| name);
        let end = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, ':' | ',' | '['));
        name.starts_with("./") && end.len() < name.len()
    };
    if !only.iter().all(is_id) {
        return None;
    }
    let is_file = |word: &String| !word.starts_with('-') && (word.ends_with(".rb") || word.starts_with("spec"));
    let mut narrowed: Vec<String> = argv.iter().take(at + 1).cloned().collect();
    narrowed.extend(argv.iter().skip(at + 1).filter(|word| !is_file(word)).cloned());
    narrowed.extend(only.iter().cloned());
    Some(narrowed)
}

static SUM: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"^(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?(?:, (\d+) errors? occurred outside of examples)?(?:\)|$)",
    )
});
/// `rspec ./spec/shop_spec.rb:4 # basket sums`.
static RERUN: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^rspec (\S+(?::\d+|\[[\d:]+\])) # (.*)$"));
/// `  1) basket sums`.
static TITLE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^  \d+\) (.+?)(?: FIXED)?$"));
/// `# ./spec/shop_spec.rb:5:in …`.
static FRAME: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"(?m)^\s*(?:# )?((?:\./|/)[^\s:]+):(\d+)(?::in .*)?$"));
static SYNTAX: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(?m)^\s*(/?[^\s:]+\.rb):(\d+): syntax error"));
static EXPECTED: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(?m)^ *expected: (.*)\n *got: (.*)$"));
static LOADED: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(?m)^An error occurred while loading (\S+?)\.?$"));
/// Maximum number of lines kept of one failure.
const MAX_LINES: usize = 100;

#[derive(Deserialize)]
struct Document {
    #[serde(default, deserialize_with = "lenient::texts")]
    messages: Vec<String>,
    examples: Vec<MaybeRead<Example>>,
    #[serde(default)]
    summary: Value,
}

#[derive(Deserialize)]
struct Example {
    #[serde(default, deserialize_with = "lenient::text")]
    id: String,
    #[serde(default, deserialize_with = "lenient::text")]
    full_description: String,
    #[serde(default, deserialize_with = "lenient::text")]
    status: String,
    #[serde(default, deserialize_with = "lenient::text")]
    file_path: String,
    #[serde(default, deserialize_with = "lenient::number")]
    line_number: Option<u32>,
    exception: Option<Exception>,
}

#[derive(Deserialize)]
struct Exception {
    #[serde(default, deserialize_with = "lenient::text")]
    class: String,
    #[serde(default, deserialize_with = "lenient::text")]
    message: String,
    #[serde(default, deserialize_with = "lenient::texts")]
    backtrace: Vec<String>,
}

fn parse(printed: &Printed<'_>) -> ParsedRun {
    let totals = sums(printed.text);
    let mut parsed = ParsedRun::default();
    let documents: Vec<(String, Document)> = documents(printed.reports, &mut parsed);
    from_documents(&documents, &mut parsed);
    // RSpec may have run twice, and the report covers the last run only.
    let is_more = totals.is_some_and(|(examples, failures, ..)| {
        let all = parsed
            .failed
            .saturating_add(parsed.passed)
            .saturating_add(parsed.skipped);
        failures > parsed.failed || examples > all
    });
    if documents.is_empty() || !parsed.unread.is_empty() || is_more && parsed.anomaly != Some(Anomaly::Crash) {
        parsed.complete(read_text(printed.text));
    }
    if let Some((examples, failures, pending, errors)) = totals {
        for (word, count) in [
            ("examples", examples),
            ("failures", failures),
            ("pending", pending),
            ("errors", errors),
        ] {
            if count > 0 {
                parsed.tell(word, count);
            }
        }
    }
    if printed.text.contains("[BUG] Segmentation fault") {
        parsed.anomaly = Some(Anomaly::Crash);
    } else if !parsed.ran() && !parsed.shows_a_failure() && parsed.anomaly.is_none() {
        minitest::unloaded(printed.text, &mut parsed);
    }
    parsed
}

fn from_documents(documents: &[(String, Document)], parsed: &mut ParsedRun) {
    for (report, document) in documents {
        for example in &document.examples {
            match example {
                MaybeRead::Read(example) => take(parsed, example),
                MaybeRead::Unread(_) => parsed.miss(report, "an example has an unknown form"),
            }
        }
    }
    for (_, document) in documents {
        for message in &document.messages {
            outside(parsed, message);
        }
        let errors = document.summary.get("errors_outside_of_examples_count");
        let has_errors = errors.and_then(lenient::as_number).is_some_and(|errors| errors > 0);
        if has_errors && !parsed.shows_a_failure() && parsed.anomaly.is_none() {
            parsed.diagnose("an error outside of the examples", None, "");
        }
    }
}

fn take(parsed: &mut ParsedRun, example: &Example) {
    let name = if example.id.is_empty() {
        &example.full_description
    } else {
        &example.id
    };
    match example.status.as_str() {
        "passed" => parsed.pass(name),
        "pending" => parsed.skip_named(name),
        "failed" => {
            let (class, text, frames) = match &example.exception {
                Some(exception) => (
                    exception.class.as_str(),
                    exception.message.trim(),
                    exception.backtrace.as_slice(),
                ),
                None => ("", "", &[][..]),
            };
            let file = example.file_path.trim_start_matches("./");
            let frame = frames.iter().find(|frame| !file.is_empty() && frame.contains(file));
            let place = frame.and_then(|frame| place(frame)).or_else(|| {
                let line = example.line_number?;
                Some(Location {
                    path: example.file_path.clone(),
                    line,
                })
            });
            let class = if class.starts_with("RSpec::") {
                String::new()
            } else {
                format!("{class}: ")
            };
            parsed.fail(name, place, &format!("{}\n{class}{text}", example.full_description));
            compare(parsed, text);
        }
        // The process ended during the example, for example because of `exit`.
        _ => parsed.crash(name, "the process ended in the middle of this example"),
    }
}

fn compare(parsed: &mut ParsedRun, text: &str) {
    if let Some(compared) = EXPECTED.as_ref().and_then(|expected| expected.captures(text)) {
        parsed.compare(&compared[1], &compared[2]);
    }
}

fn place(text: &str) -> Option<Location> {
    let frame = FRAME.as_ref()?.captures(text)?;
    location(&frame[1], &frame[2])
}

/// Records an error outside of the examples, from a file that could not be loaded or from a hook.
fn outside(parsed: &mut ParsedRun, message: &str) {
    let message = message.trim();
    if !message.starts_with("An error occurred ") {
        return;
    }
    let syntax = SYNTAX.as_ref().and_then(|syntax| syntax.captures(message));
    let place = syntax
        .and_then(|found| location(&found[1], &found[2]))
        .or_else(|| place(message));
    let Some(file) = LOADED.as_ref().and_then(|loaded| loaded.captures(message)) else {
        let title = message.lines().next().unwrap_or_default();
        if parsed.failed > 0 {
            parsed.note(title, place, message);
        } else {
            parsed.fail(title, place, message);
        }
        return;
    };
    let own = file[1].trim_start_matches("./");
    parsed.anomaly = Some(match message.split_once("cannot load such file -- ") {
        Some((_, missing)) if missing.lines().next().is_some_and(|path| path.ends_with(own)) => Anomaly::NotFound,
        Some(_) => Anomaly::MissingModule,
        None => Anomaly::NotCollected,
    });
    if parsed.anomaly != Some(Anomaly::NotFound) {
        parsed.diagnose(&file[1], place, message);
    }
}

/// The numbers of examples, failures, pending examples and outside errors, summed over all runs.
fn sums(text: &str) -> Option<(u32, u32, u32, u32)> {
    let mut sums: Option<(u32, u32, u32, u32)> = None;
    for sum in text.lines().filter_map(|line| SUM.as_ref()?.captures(line)) {
        let number = |index: usize| sum.get(index).and_then(|n| n.as_str().parse::<u32>().ok()).unwrap_or(0);
        let before = sums.unwrap_or_default();
        sums = Some((
            before.0.saturating_add(number(1)),
            before.1.saturating_add(number(2)),
            before.2.saturating_add(number(3)),
            before.3.saturating_add(number(4)),
        ));
    }
    sums
}

fn read_text(text: &str) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    let mut sections: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut error: Vec<&str> = Vec::new();
    let mut is_failures = false;
    let mut reruns: Vec<(&str, &str)> = Vec::new();
    for line in text.lines() {
        if line.starts_with("An error occurred ") {
            outside(&mut parsed, &error.join("\n"));
            error = vec![line];
        } else if line == "Failures:"
            || line == "Pending:"
            || line.starts_with("Pending: (")
            || line.starts_with("Finished in ")
        {
            is_failures = line == "Failures:";
        } else if let Some(title) = TITLE
            .as_ref()
            .and_then(|title| title.captures(line))
            .filter(|_| is_failures)
        {
            sections.push((title.get(1).map_or("", |title| title.as_str()), Vec::new()));
        } else if let Some(rerun) = RERUN.as_ref().and_then(|rerun| rerun.captures(line)) {
            reruns.extend(
                rerun
                    .get(1)
                    .zip(rerun.get(2))
                    .map(|(id, title)| (id.as_str(), title.as_str())),
            );
        } else if is_failures {
            if let Some((_, lines)) = sections.last_mut().filter(|(_, lines)| lines.len() < MAX_LINES) {
                lines.push(line);
            }
        } else if !error.is_empty() && error.len() < MAX_LINES {
            error.push(line);
        }
        sections.truncate(1_000);
        reruns.truncate(1_000);
    }
    for (index, (title, lines)) in sections.iter().enumerate() {
        let name = reruns
            .get(index)
            .filter(|(_, known)| known == title)
            .map_or(*title, |(id, _)| *id);
        let message = lines.join("\n");
        parsed.fail(name, place(&message), &format!("{title}\n{message}"));
        compare(&mut parsed, &message);
    }
    outside(&mut parsed, &error.join("\n"));
    if let Some((examples, failures, pending, _)) = sums(text) {
        parsed.reconcile_totals(
            examples.saturating_sub(failures).saturating_sub(pending),
            failures,
            pending,
        );
    }
    parsed
}
