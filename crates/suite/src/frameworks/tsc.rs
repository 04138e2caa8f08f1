//! The TypeScript compiler: reads its errors, plain or pretty-printed.

use std::sync::LazyLock;

use greenlight_readers::test_run::TestRun;
use greenlight_readers::{Anomaly, ParsedRun, Printed, location};
use regex::Regex;

use super::javascript;
use crate::discover::javascript::Script;
use crate::framework::Ecosystem;
use crate::frameworks::spec::{FrameworkKind, Spec};
use crate::text::pattern;

pub(super) const SPEC: Spec = Spec {
    name: "tsc",
    ecosystem: Ecosystem::JavaScript,
    kind: FrameworkKind::Compiler,
    installers: javascript::INSTALLERS,
    is_check: |line| matches!(line.program(), "tsc" | "vue-tsc"),
    script: Some(&SCRIPT),
    reporter: javascript::reporter,
    parse,
    marks: &["): error TS", " - error TS"],
    ..Spec::NEW
};

const SCRIPT: Script = Script {
    starts: |line| {
        let is_check = line.words.iter().any(|word| word.eq_ignore_ascii_case("--noEmit"));
        (line.at == 0 && line.program() == "tsc" && is_check).then_some(line.end)
    },
    options: |_| &["--pretty", "false"],
    ..Script::NEW
};

static ERROR: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(?:([^\s(][^(]*?)(?:\((\d+),\d+\):|:(\d+):\d+ -) )?error (TS\d+): (.+)$"));

fn parse(printed: &Printed<'_>) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    let (mut missing, mut all) = (0u32, 0u32);
    let mut lines = printed.text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(found) = ERROR.as_ref().and_then(|pattern| pattern.captures(line)) else {
            continue;
        };
        all = all.saturating_add(1);
        // These codes mean that a module is missing, not that it has no types: <https://typescript.tv/errors/>.
        missing += u32::from(matches!(&found[4], "TS2307" | "TS2792"));
        let line_number = found.get(2).or_else(|| found.get(3)).map_or("", |line| line.as_str());
        let place = found.get(1).and_then(|path| location(path.as_str(), line_number));
        let mut message = vec![found[5].to_string()];
        while let Some(more) = lines.next_if(|more| more.starts_with("  ") && !more.trim().is_empty()) {
            message.push(more.to_string());
        }
        let before = parsed.diagnostics.len();
        if before < TestRun::MAX_FAILURES {
            parsed.diagnose(&found[4], place, &message.join("\n"));
        }
        parsed.failed = parsed
            .failed
            .saturating_add(u32::from(parsed.diagnostics.len() == before));
    }
    if all > 0 {
        parsed.tell("errors", all);
    }
    if all > 0 && missing == all {
        parsed.anomaly = Some(Anomaly::MissingModule);
    }
    parsed
}
