//! Reads what Minitest and test-unit print, and what Ruby says of code that it cannot load.

use std::sync::LazyLock;

use regex::Regex;

use super::{Printed, Reading, Trouble, location};
use crate::suite::text::pattern;

/// `6 runs, 4 assertions, 3 failures, 1 errors, 1 skips`, and `tests` of test-unit with more words.
static SUM: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(\d+) (?:runs|tests), \d+ assertions, \d+ failures, \d+ errors(?:, \d+ \w+)*$"));
static COUNT: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(\d+) (\w+)"));
/// `TestShop#test_zero = 0.00 s = .`
static VERBOSE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^(\S.*?#.+) = \d+\.\d+ s = ([.FES])$"));
/// `TestShop: `, and below it `  test_zero:    .: (0.000037)`, in test-unit.
static CLASS: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^ *([A-Z][\w:]*): ?$"));
static UNIT_PASS: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^ +(\S.*?):\t+\.: \([\d.]+\)$"));
/// `  1) Failure:`; Rails leaves the number out.
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
/// `    from test/shop_test.rb:1:in …`, of a file that is not Ruby's own.
static CALLED: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^\s+from (/?[^\s:<][^:]*\.rb):(\d+):in "));
/// How far up the calls are looked through for one.
const MAX_FRAMES: usize = 20;
/// Lines of one failure that are kept.
const MAX_LINES: usize = 100;

/// A failure whose lines are still coming.
struct Open<'a> {
    name: String,
    place: Option<(&'a str, &'a str)>,
    lines: Vec<&'a str>,
    is_skip: bool,
}

pub(super) fn read(printed: &Printed<'_>) -> Reading {
    let mut reading = Reading::default();
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
            close(&mut reading, open.take());
            headed = head.get(1).map(|head| head.as_str());
        } else if SUM.as_ref().is_some_and(|sum| sum.is_match(line)) {
            close(&mut reading, open.take());
            count(&mut reading, line, &mut counted);
        } else if let Some(head) = UNIT_HEAD.as_ref().and_then(|head| head.captures(line)) {
            close(&mut reading, open.take());
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
            close(&mut reading, open.take());
        } else if let Some(open) = &mut open {
            if open.lines.len() < MAX_LINES {
                open.lines.push(line);
            }
        } else if let Some(verbose) = VERBOSE.as_ref().and_then(|verbose| verbose.captures(line)) {
            if &verbose[2] == "." {
                reading.pass(&verbose[1]);
            }
        } else if let Some(pass) = UNIT_PASS.as_ref().and_then(|pass| pass.captures(line)) {
            reading.pass(&format!("{class}#{}", &pass[1]));
        } else if let Some(found) = CLASS.as_ref().and_then(|pattern| pattern.captures(line)) {
            class = found.get(1).map_or("", |class| class.as_str());
        } else if let Some((name, _)) = line.split_once(" = ").filter(|_| line.contains("[BUG] ")) {
            running = name;
        }
    }
    close(&mut reading, open);
    if let Some([passed, failed, skipped]) = counted {
        reading.settle(passed, failed, skipped);
    }
    if printed.text.contains("[BUG] Segmentation fault") {
        reading.trouble = Some(Trouble::Crash);
        if !running.is_empty() {
            reading.crash(running, "the process died in this test");
        }
    } else if !reading.ran() {
        unloaded(printed.text, &mut reading);
    }
    reading
}

/// Adds one summary to what was counted so far.
fn count(reading: &mut Reading, line: &str, counted: &mut Option<[u32; 3]>) {
    let (mut all, mut red, mut left_out) = (0u32, 0u32, 0u32);
    for found in COUNT.iter().flat_map(|count| count.captures_iter(line)) {
        let number: u32 = found[1].parse().unwrap_or(0);
        match &found[2] {
            "runs" | "tests" => all = all.saturating_add(number),
            "failures" | "errors" => red = red.saturating_add(number),
            "skips" | "pendings" | "omissions" => left_out = left_out.saturating_add(number),
            _ => {}
        }
        let before = reading.tally.get(&found[2]).copied().unwrap_or(0);
        reading.tell(&found[2], before.saturating_add(number));
    }
    let sums = counted.get_or_insert_default();
    let now = [all.saturating_sub(red).saturating_sub(left_out), red, left_out];
    for (sum, number) in sums.iter_mut().zip(now) {
        *sum = sum.saturating_add(number);
    }
}

fn close(reading: &mut Reading, open: Option<Open<'_>>) {
    let Some(open) = open else { return };
    if open.is_skip {
        reading.skip_named(&open.name);
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
    reading.fail(&open.name, place, &message);
    if let Some(compared) = COMPARED.as_ref().and_then(|compared| compared.captures(&message)) {
        let part = |one: usize, other: usize| {
            compared
                .get(one)
                .or(compared.get(other))
                .map_or("", |part| part.as_str())
        };
        reading.compare(part(1, 3), part(2, 4));
    }
}

/// Takes what Ruby says of code that it cannot load. Whoever runs tests in it has nothing to say then.
pub(super) fn unloaded(text: &str, reading: &mut Reading) {
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
            reading.trouble = Some(Trouble::Environment);
        } else if let Some(found) = SYNTAX.as_ref().and_then(|syntax| syntax.captures(line)) {
            reading.diagnose(&found[3], location(&found[1], &found[2]), line);
            reading.trouble = reading.trouble.or(Some(Trouble::NotCollected));
        } else if let Some(found) = RAISED.as_ref().and_then(|raised| raised.captures(line)) {
            let place = if found[1].starts_with('<') {
                let frames = lines.iter().skip(index + 1).take(MAX_FRAMES);
                let frame = frames.filter_map(|frame| CALLED.as_ref()?.captures(frame)).next();
                frame.and_then(|frame| location(&frame[1], &frame[2]))
            } else {
                location(&found[1], &found[2])
            };
            reading.diagnose(&found[3], place, line);
            let trouble = if &found[4] == "LoadError" {
                Trouble::MissingModule
            } else {
                Trouble::NotCollected
            };
            reading.trouble = reading.trouble.or(Some(trouble));
        }
    }
}
