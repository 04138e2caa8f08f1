//! Minitest and test-unit: reads their output, and Ruby's errors about code that it cannot load.

use std::sync::LazyLock;

use greenlight_readers::{Anomaly, ParsedRun, Printed, location};
use regex::Regex;

use crate::discover::directory::Directory;
use crate::discover::others::{self, ruby};
use crate::framework::{Ecosystem, Framework};
use crate::frameworks::spec::Spec;
use crate::reporters::Invocation;
use crate::test_command::TestCommand;
use crate::text::pattern;

pub(super) const SPEC: Spec = Spec {
    name: "Minitest",
    ecosystem: Ecosystem::Ruby,
    discover,
    is_program: |line| {
        let is_other = ["rspec", "phpunit", "pest"].iter().any(|word| line.has(word));
        matches!(line.program(), "rake" | "bundle" | "rails") && line.has("test") && !is_other
    },
    reporter,
    filter,
    parse,
    marks: &[
        " assertions, ",
        " (LoadError)\n",
        " (SyntaxError)\n",
        "[BUG] Segmentation fault",
    ],
    may_be: |text| !text.contains(" assertions, ") || text.contains(" failures, ") && text.contains(" errors"),
    ..Spec::NEW
};

/// `Rake::TestTask.new(:unit)`, `Minitest::TestTask.create`.
static TASK: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r#"(?m)^[^#\n]*\bTestTask\.(?:new|create)\b(?:[ (]+[:'"](\w+))?"#));
/// Loads every test file, sorted by name.
const LOAD_ALL: &str = r#"Dir["test/**/{test_*,spec_*,*_test}.rb"].sort.each { |file| require "./#{file}" }"#;

fn discover(place: &Directory<'_>) -> Option<TestCommand> {
    let spec = ruby::spec(place);
    let is_test = |path: &&str| {
        let name = others::file_name(path);
        let is_named = name.starts_with("test_") || name.starts_with("spec_") || name.ends_with("_test.rb");
        path.starts_with("test/") && name.ends_with(".rb") && is_named
    };
    let test = place.files().find(is_test).or(spec)?;
    if place.has("bin/rails") {
        return ruby::command(place, &["bin/rails", "test"], Framework::Minitest, "bin/rails");
    }
    for file in ["Rakefile", "rakefile", "Rakefile.rb"] {
        let text = place.text(file).unwrap_or_default();
        if let Some(task) = TASK.as_ref().and_then(|task| task.captures(&text)) {
            let task = task.get(1).map_or("test", |name| name.as_str());
            return ruby::command(place, &["rake", task], Framework::Minitest, file);
        }
    }
    // The project around this folder has a command.
    let has_manifest = |place: &Directory<'_>| ["Gemfile", "gems.rb"].iter().any(|file| place.has(file));
    let is_inner = place.directory.is_some() && has_manifest(&place.root()) && !has_manifest(place);
    if spec == Some(test) || is_inner {
        return None;
    }
    let argv = ["ruby", "-Ilib", "-Itest", "-e", LOAD_ALL];
    ruby::command(place, &argv, Framework::Minitest, test)
}

/// Names of tests are only printed in verbose mode.
fn reporter(_: &TestCommand, mut invocation: Invocation) -> Invocation {
    let has = |argv: &[String], name: &str| argv.iter().any(|word| word.rsplit('/').next() == Some(name));
    if let Some(options) = invocation.argv.iter_mut().find(|word| word.starts_with("TESTOPTS=")) {
        options.push_str(" --verbose");
    } else if has(&invocation.argv, "ruby") || has(&invocation.argv, "rails") {
        invocation.argv.push("--verbose".into());
    } else {
        invocation.env.insert("TESTOPTS".into(), "--verbose".into());
    }
    invocation
}

/// `--name=Class#method`; with Rake it goes into `TESTOPTS`, which a shell parses once more.
fn filter(command: &TestCommand, only: &[String]) -> Option<Vec<String>> {
    let argv = &command.argv;
    let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '#');
    let is_name = |name: &String| name.chars().all(is_safe) && name.chars().filter(|c| *c == '#').count() == 1;
    if !only.iter().all(is_name) {
        return None;
    }
    let option = match only {
        [one] => format!("--name={one}"),
        many => format!("--name=/^({})$/", many.join("|")),
    };
    let mut narrowed = argv.clone();
    let has = |name: &str| argv.iter().any(|word| word.rsplit('/').next() == Some(name));
    if argv.iter().any(|word| word.starts_with("TESTOPTS=")) {
        return None;
    }
    if has("rake") {
        narrowed.push(format!("TESTOPTS='{option}'"));
    } else if has("ruby") || has("rails") {
        narrowed.push(option);
    } else {
        return None;
    }
    Some(narrowed)
}

/// `6 runs, 4 assertions, 3 failures, 1 errors, 1 skips`; test-unit prints `tests` and more counts.
static SUM: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(\d+) (?:runs|tests), \d+ assertions, \d+ failures, \d+ errors(?:, \d+ \w+)*$"));
static COUNT: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(\d+) (\w+)"));
/// `TestShop#test_zero = 0.00 s = .`
static VERBOSE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^(\S.*?#.+) = \d+\.\d+ s = ([.FES])$"));
/// test-unit prints `TestShop: `, and below it `  test_zero:    .: (0.000037)`.
static CLASS: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^ *([A-Z][\w:]*): ?$"));
static UNIT_PASS: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^ +(\S.*?):\t+\.: \([\d.]+\)$"));
/// `  1) Failure:`; Rails omits the number.
static HEAD: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^(?: *\d+\) )?(Failure|Error|Skipped):$"));
/// `TestShop#test_adds [test/shop_test.rb:6]:`
static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^(\S.*?#.+?)(?: \[([^\[\]]+?):(\d+)\])?:$"));
/// `Failure: test_adds(TestShop)`, and `Omission: no network [test_left_out(TestShop)]`.
static UNIT_HEAD: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(Failure|Error|Pending|Omission): (?:.*\[)?(\S.*?)\(([A-Z][\w:]*)\)(?:\]|:? ?(.*))$"));
static FRAME: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(?m)^\s*(/?[^\s:<][^:\n]*\.rb):(\d+):in "));
static COMPARED: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"(?m)^Expected: (.*)\n *Actual: (.*)$|^<(.*)> expected but was\n<(.*)>"));
static SYNTAX: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(/?[^\s:]+\.rb):(\d+): (syntax error.*)$"));
/// ``test/a.rb:3:in `<main>': uninitialized constant Nothing (NameError)``.
static RAISED: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(<internal:[^>]*>|/?[^\s:]+\.?\w*):(\d+):in .+?': (.+?) ?\(([A-Z][\w:]*)\)$"));
/// `    from test/shop_test.rb:1:in …`, for a file that is not Ruby's own.
static CALLED: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^\s+from (/?[^\s:<][^:]*\.rb):(\d+):in "));
/// Maximum number of stack frames that are searched for one.
const MAX_FRAMES: usize = 20;
/// Maximum number of lines kept of one failure.
const MAX_LINES: usize = 100;

/// A failure whose lines are still being read.
struct Open<'a> {
    name: String,
    place: Option<(&'a str, &'a str)>,
    lines: Vec<&'a str>,
    is_skip: bool,
}

fn parse(printed: &Printed<'_>) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    let mut class = "";
    let mut open: Option<Open<'_>> = None;
    let mut headed: Option<&str> = None;
    let mut running = "";
    let mut counted: Option<[u32; 3]> = None;
    for line in printed.text.lines() {
        if let Some(head) = headed.take()
            && let Some(named) = NAMED.as_ref().and_then(|named| named.captures(line))
        {
            open = Some(Open {
                name: named[1].to_string(),
                place: named
                    .get(2)
                    .zip(named.get(3))
                    .map(|(path, line)| (path.as_str(), line.as_str())),
                lines: Vec::new(),
                is_skip: head == "Skipped",
            });
        } else if let Some(head) = HEAD.as_ref().and_then(|head| head.captures(line)) {
            close(&mut parsed, open.take());
            headed = head.get(1).map(|head| head.as_str());
        } else if SUM.as_ref().is_some_and(|sum| sum.is_match(line)) {
            close(&mut parsed, open.take());
            count(&mut parsed, line, &mut counted);
        } else if let Some(head) = UNIT_HEAD.as_ref().and_then(|head| head.captures(line)) {
            close(&mut parsed, open.take());
            open = Some(Open {
                name: format!("{}#{}", &head[3], &head[2]),
                place: None,
                lines: head
                    .get(4)
                    .map(|rest| rest.as_str())
                    .filter(|rest| !rest.is_empty())
                    .into_iter()
                    .collect(),
                is_skip: matches!(&head[1], "Pending" | "Omission"),
            });
        } else if ["=====", "bin/rails test ", "rails test ", "rake aborted!"]
            .iter()
            .any(|end| line.starts_with(end))
        {
            close(&mut parsed, open.take());
        } else if let Some(open) = &mut open {
            if open.lines.len() < MAX_LINES {
                open.lines.push(line);
            }
        } else if let Some(verbose) = VERBOSE.as_ref().and_then(|verbose| verbose.captures(line)) {
            if &verbose[2] == "." {
                parsed.pass(&verbose[1]);
            }
        } else if let Some(pass) = UNIT_PASS.as_ref().and_then(|pass| pass.captures(line)) {
            parsed.pass(&format!("{class}#{}", &pass[1]));
        } else if let Some(found) = CLASS.as_ref().and_then(|pattern| pattern.captures(line)) {
            class = found.get(1).map_or("", |class| class.as_str());
        } else if let Some((name, _)) = line.split_once(" = ").filter(|_| line.contains("[BUG] ")) {
            running = name;
        }
    }
    close(&mut parsed, open);
    if let Some([passed, failed, skipped]) = counted {
        parsed.reconcile_totals(passed, failed, skipped);
    }
    if printed.text.contains("[BUG] Segmentation fault") {
        parsed.anomaly = Some(Anomaly::Crash);
        if !running.is_empty() {
            parsed.crash(running, "the process died in this test");
        }
    } else if !parsed.ran() {
        unloaded(printed.text, &mut parsed);
    }
    parsed
}

/// Adds one summary to the previous counts.
fn count(parsed: &mut ParsedRun, line: &str, counted: &mut Option<[u32; 3]>) {
    let (mut all, mut red, mut left_out) = (0u32, 0u32, 0u32);
    for found in COUNT.iter().flat_map(|count| count.captures_iter(line)) {
        let number: u32 = found[1].parse().unwrap_or(0);
        match &found[2] {
            "runs" | "tests" => all = all.saturating_add(number),
            "failures" | "errors" => red = red.saturating_add(number),
            "skips" | "pendings" | "omissions" => left_out = left_out.saturating_add(number),
            _ => {}
        }
        let before = parsed.summary_counts.get(&found[2]).copied().unwrap_or(0);
        parsed.tell(&found[2], before.saturating_add(number));
    }
    let sums = counted.get_or_insert_default();
    let now = [all.saturating_sub(red).saturating_sub(left_out), red, left_out];
    for (sum, number) in sums.iter_mut().zip(now) {
        *sum = sum.saturating_add(number);
    }
}

fn close(parsed: &mut ParsedRun, open: Option<Open<'_>>) {
    let Some(open) = open else { return };
    if open.is_skip {
        parsed.skip_named(&open.name);
        return;
    }
    let message = open.lines.join("\n");
    let frame = || {
        FRAME
            .as_ref()?
            .captures(&message)
            .and_then(|frame| location(&frame[1], &frame[2]))
    };
    let place = open.place.and_then(|(path, line)| location(path, line)).or_else(frame);
    parsed.fail(&open.name, place, &message);
    if let Some(compared) = COMPARED.as_ref().and_then(|compared| compared.captures(&message)) {
        let part = |one: usize, other: usize| {
            compared
                .get(one)
                .or(compared.get(other))
                .map_or("", |part| part.as_str())
        };
        parsed.compare(part(1, 3), part(2, 4));
    }
}

/// Reads Ruby's errors about code that it cannot load. The test framework reports nothing in that case.
pub(super) fn unloaded(text: &str, parsed: &mut ParsedRun) {
    let lines: Vec<&str> = text.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        if [
            "Could not find gem '",
            "Bundler::GemNotFound",
            "Run `bundle install` to install missing gems",
        ]
        .iter()
        .any(|mark| line.contains(mark))
        {
            parsed.anomaly = Some(Anomaly::Environment);
        } else if let Some(found) = SYNTAX.as_ref().and_then(|syntax| syntax.captures(line)) {
            parsed.diagnose(&found[3], location(&found[1], &found[2]), line);
            parsed.anomaly = parsed.anomaly.or(Some(Anomaly::NotCollected));
        } else if let Some(found) = RAISED.as_ref().and_then(|raised| raised.captures(line)) {
            let place = if found[1].starts_with('<') {
                let frames = lines.iter().skip(index + 1).take(MAX_FRAMES);
                let frame = frames.filter_map(|frame| CALLED.as_ref()?.captures(frame)).next();
                frame.and_then(|frame| location(&frame[1], &frame[2]))
            } else {
                location(&found[1], &found[2])
            };
            parsed.diagnose(&found[3], place, line);
            let anomaly = if &found[4] == "LoadError" {
                Anomaly::MissingModule
            } else {
                Anomaly::NotCollected
            };
            parsed.anomaly = parsed.anomaly.or(Some(anomaly));
        }
    }
}
