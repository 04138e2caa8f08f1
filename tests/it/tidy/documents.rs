//! The rules for README.md and the manual: their commands are tested, their links are valid, README.md stays short.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::sources::Tree;

const MAX_README_LINES: usize = 200;

/// The commands shown in the documents, and the tests that make sure they work.
const SHOWN_COMMANDS: [(&str, &str); 68] = [
    ("greenlight demo", "tests/it/doors/demo.rs"),
    ("greenlight config check", "tests/it/doors/config.rs"),
    (
        "mkdir -p ~/.local/share/bash-completion/completions && greenlight completions bash > ~/.local/share/bash-completion/completions/greenlight",
        "tests/it/doors/manual.rs",
    ),
    ("greenlight man ~/.local/share/man/man1", "tests/it/doors/manual.rs"),
    (
        "mkdir -p ~/.zfunc && greenlight completions zsh > ~/.zfunc/_greenlight",
        "tests/it/doors/manual.rs",
    ),
    (
        "mkdir -p ~/.config/fish/completions && greenlight completions fish > ~/.config/fish/completions/greenlight.fish",
        "tests/it/doors/manual.rs",
    ),
    ("brew tap-new local/tap", "tests/it/doors/manual.rs, and just homebrew"),
    (
        "curl -fsSL https://github.com/greenlight-rs/greenlight/releases/latest/download/greenlight.rb --output \"$(brew --repository local/tap)/Formula/greenlight.rb\"",
        "tests/it/doors/manual.rs",
    ),
    (
        "brew install local/tap/greenlight",
        "tests/it/doors/manual.rs, and just homebrew",
    ),
    (
        "gh attestation verify greenlight-x86_64-unknown-linux-musl.tar.gz --repo greenlight-rs/greenlight --signer-workflow greenlight-rs/greenlight/.github/workflows/release.yml",
        "needs a release: tests/it/doors/manual.rs compares it with the workflow",
    ),
    (
        "curl -X POST -H \"Authorization: Bearer $(gh auth token)\" -d '{\"reason\": \"use the tests instead\"}' https://greenlight.example.org/api/v1/runs/RUN/gates/g7fqa3/reject",
        "tests/it/doors/manual.rs",
    ),
    ("export GREENLIGHT_MODEL=NAME", "tests/it/doors/manual.rs"),
    (
        "export GREENLIGHT_MODEL_API_KEY_FILE=~/.config/openai-key",
        "tests/it/doors/manual.rs",
    ),
    (
        "export GREENLIGHT_MODEL_BASE_URL=https://gateway.example.com/v1",
        "tests/it/doors/manual.rs",
    ),
    (
        "export GREENLIGHT_MODEL_API_KEY_FILE=~/.config/gateway-key",
        "tests/it/doors/manual.rs",
    ),
    (
        "export GREENLIGHT_MODEL_FALLBACKS=ANOTHER,A_THIRD",
        "tests/it/doors/manual.rs",
    ),
    (
        "export GREENLIGHT_MODEL_BASE_URL=http://127.0.0.1:8080/v1",
        "tests/it/doors/manual.rs",
    ),
    ("export GREENLIGHT_MODEL_CONTEXT=24000", "tests/it/doors/manual.rs"),
    ("greenlight fix . --engine model", "tests/it/doors/manual.rs"),
    (
        "git ls-remote origin 'refs/greenlight/*' | cut -f2 | xargs -r git push origin --delete",
        "tests/it/doors/manual.rs",
    ),
    (
        "cargo build --release",
        "takes minutes: just newcomer begins with what it builds",
    ),
    (
        "curl -fsSL https://github.com/greenlight-rs/greenlight/releases/latest/download/greenlight-x86_64-unknown-linux-musl.tar.gz | tar -xz greenlight",
        "needs a release: tests/it/release.rs compares its name with what is packed",
    ),
    ("greenlight fix .", "tests/it/doors/fix.rs"),
    ("greenlight init", "tests/it/doors/init.rs"),
    ("greenlight init --mcp", "tests/it/doors/init.rs"),
    ("greenlight tdd --spec spec.md", "tests/it/doors/modes.rs"),
    (
        "greenlight refactor 'reduce the complexity of fare' --in fares.py",
        "tests/it/doors/modes.rs",
    ),
    ("greenlight explain", "tests/it/doors/modes.rs"),
    ("greenlight fix --record run.zip", "tests/it/doors/modes.rs"),
    ("greenlight replay run.zip", "tests/it/doors/modes.rs"),
    ("greenlight tests .", "tests/it/doors/tests.rs"),
    ("greenlight memory list", "tests/it/doors/remembered.rs"),
    (
        "greenlight runs --repository acme/rail --state waiting",
        "tests/it/stories/looked_at.rs",
    ),
    ("greenlight runs show RUN", "tests/it/stories/looked_at.rs"),
    (
        "greenlight stats --since 30d --repository acme/rail",
        "tests/it/stories/looked_at.rs",
    ),
    (
        "greenlight serve --page --listen 127.0.0.1:8080",
        "tests/it/doors/serve.rs, on a free port",
    ),
    (
        "greenlight suggest --base main --patch fix.patch",
        "tests/it/doors/suggest.rs",
    ),
    ("greenlight verify --head HEAD~1", "tests/it/doors/verify.rs"),
    ("greenlight doctor", "tests/it/doors/sandbox.rs"),
    ("greenlight doctor --app", "tests/it/doors/doctor_app.rs"),
    (
        "greenlight sandbox -- sh -c 'id; ls -a /; env'",
        "tests/it/doors/sandbox.rs",
    ),
    (
        "greenlight serve --listen 127.0.0.1:8080",
        "tests/it/doors/serve.rs, on a free port",
    ),
    ("greenlight prune --dry-run", "tests/it/doors/prune.rs"),
    ("cargo test", ".ci/run"),
    ("cargo run --example review", "just examples"),
    ("cargo run --example confined", "just examples"),
    ("cargo run --example outline", "just examples"),
    ("cargo run --example results", "just examples"),
    ("cargo run --example suggested", "just examples"),
    ("cargo run --example redacted < Cargo.toml", "just examples"),
    ("cargo run --example durations", "just examples"),
    ("cargo run --example skimmed", "just examples"),
    ("cargo run --example signed", "just examples"),
    ("cargo run --example edited", "just examples"),
    ("cargo run --example commands", "just examples"),
    ("cargo run --example suspects", "just examples"),
    (
        "cargo build --release && cargo bench --bench repair -- --out results.jsonl",
        "takes hours: CI only compiles it",
    ),
    (
        "cargo bench --bench repair -- --speed",
        "takes hours: CI only compiles it",
    ),
    ("cargo bench --bench intake", "takes minutes: CI only compiles it"),
    ("cargo bench --bench page", "takes minutes: CI only compiles it"),
    ("just bench-people QUIXBUGS", "needs a copy of the set, and hours"),
    (
        "python3 benches/repair/functions.py LANGUAGE second target/release/greenlight OCTOPACK",
        "needs a copy of the set, and minutes",
    ),
    (
        "python3 benches/repair/puzzles.py HALF target/release/greenlight DEBUGBENCH",
        "needs a copy of the set, and minutes",
    ),
    (
        "python3 benches/repair/students.py HALF --minutes 1 target/release/greenlight REFACTORY",
        "needs a copy of the set, and minutes",
    ),
    (
        "python3 benches/repair/people_java.py --minutes 4 GREENLIGHT QUIXBUGS NAME…",
        "needs a copy of the set, and minutes",
    ),
    ("just mine-fixes FOLDER", "needs copies of the repositories"),
    (
        "just bench-mined FOLDER RESULTS",
        "needs copies of the repositories, and hours",
    ),
    (
        "python3 benches/fixes/table.py RESULTS benches/fixes/mined.tsv",
        "needs results",
    ),
];

/// A block that begins with one of these is a command, unless it is a diagram.
const COMMANDS: [&str; 14] = [
    "$",
    "brew",
    "cargo",
    "curl",
    "docker",
    "export",
    "gh",
    "git",
    "greenlight",
    "helm",
    "just",
    "kubectl",
    "mkdir",
    "python3",
];

/// The target of a Markdown link.
static LINK: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\]\(([^)\s]+)\)").unwrap());
/// A target that is a URL, not a path.
static ADDRESS: LazyLock<Regex> = LazyLock::new(|| Regex::new("^[a-z]+:").unwrap());

pub(super) fn commands_are_tested(tree: &Tree) -> Vec<String> {
    let tested: BTreeSet<&str> = SHOWN_COMMANDS.iter().map(|(command, _)| *command).collect();
    let mut shown = BTreeSet::new();
    let mut complaints = Vec::new();
    for (path, text) in tree.documents() {
        for command in commands(text) {
            if !tested.contains(command.as_str()) {
                complaints.push(format!("{path}: nothing tests `{command}`"));
            }
            shown.insert(command);
        }
        let is_command = |block: &&str| {
            let first = block.split_whitespace().next();
            first.is_some_and(|word| COMMANDS.contains(&word)) && !block.contains('►')
        };
        let others = text
            .split("```")
            .skip(1)
            .step_by(2)
            .filter_map(|block| block.strip_prefix("text\n"));
        let hidden = others.filter(is_command);
        complaints.extend(hidden.map(|block| format!("{path}: this is a command, not text: {block}")));
    }
    let unshown = tested.iter().filter(|command| !shown.contains(**command));
    complaints.extend(unshown.map(|command| format!("no document shows `{command}` any more")));
    complaints
}

/// The commands of shell blocks, each on one line and without comments.
fn commands(text: &str) -> impl Iterator<Item = String> {
    let blocks = text.split("```").skip(1).step_by(2);
    blocks
        .filter_map(|block| block.strip_prefix("bash\n").or(block.strip_prefix("sh\n")))
        .flat_map(|block| {
            let block = block.replace("\\\n", "");
            let lines = block.lines().map(|line| line.split(" #").next().unwrap_or(line));
            lines
                .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
                .collect::<Vec<_>>()
        })
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

pub(super) fn the_readme_is_short(tree: &Tree) -> Vec<String> {
    let lines = tree.document("README.md").lines().count();
    let is_long = lines > MAX_README_LINES;
    let complaint = || format!("README.md: {lines} lines are more than {MAX_README_LINES}; move something to docs/");
    is_long.then(complaint).into_iter().collect()
}

/// The cells of tables that a template of the figures left empty, such as `@A`.
pub(super) fn figures_are_filled_in(tree: &Tree) -> Vec<String> {
    let is_empty = |cell: &str| cell.trim().strip_prefix('@').is_some_and(|name| name.len() == 1);
    let mut complaints = Vec::new();
    for (path, text) in tree.documents() {
        let rows = text.lines().filter(|line| line.starts_with('|'));
        for row in rows.filter(|row| row.split('|').any(is_empty)) {
            complaints.push(format!("{path}: a figure is missing in {row:?}"));
        }
    }
    complaints
}

pub(super) fn links_lead_somewhere(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for (path, text) in tree.documents() {
        for link in LINK.captures_iter(text).map(|link| link.extract::<1>().1[0]) {
            // `.ci/book` writes these pages.
            let is_made = path == "docs/SUMMARY.md" && link.starts_with("reference/");
            if !is_made && !ADDRESS.is_match(link) && !leads_somewhere(tree, path, link) {
                complaints.push(format!("{path}: {link} leads nowhere"));
            }
        }
    }
    complaints
}

fn leads_somewhere(tree: &Tree, from: &str, link: &str) -> bool {
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = if file.is_empty() {
        PathBuf::from(from)
    } else {
        joined(from, file)
    };
    let text = tree.documents().find(|(path, _)| Path::new(path) == target);
    match text {
        Some((_, text)) => anchor.is_empty() || headings(text).any(|heading| heading == anchor),
        None => anchor.is_empty() && target.exists(),
    }
}

/// A path relative to the folder of a file, without `..`.
fn joined(from: &str, path: &str) -> PathBuf {
    let mut joined = PathBuf::from(from);
    joined.pop();
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir => {
                joined.pop();
            }
            Component::Normal(name) => joined.push(name),
            _ => {}
        }
    }
    joined
}

/// The anchors that GitHub generates for the headings of a document.
fn headings(text: &str) -> impl Iterator<Item = String> {
    let prose = text.split("```").step_by(2).flat_map(str::lines);
    prose
        .filter(|line| line.starts_with('#'))
        .map(|line| anchor(line.trim_start_matches('#').trim()))
}

fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.flat_map(char::to_lowercase)
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}
