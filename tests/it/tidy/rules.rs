//! The rules. Each is a function from files to complaints.

use std::collections::BTreeSet;
use std::path::Path;

use super::sources::{Tree, code, first_names, is_shipped, lines_with, named_rooms, room};

/// Which rooms a room may name, and which crates, from top to bottom. ARCHITECTURE.md has the picture. `src/lib.rs` gives
/// some crates, and the modules of `tree`, names that are used like rooms.
const ROOMS: [(&str, &str); 18] = [
    ("main", "cli sandbox"),
    ("lib", "repair suite sandbox tree"),
    (
        "cli",
        "config summary github-double crypto server engine openai agent repair guard suite checkout files sandbox git github journal metrics traces domain private",
    ),
    ("server", "summary engine github journal lease metrics domain"),
    (
        "engine",
        "config openai agent repair guard measure suite checkout sandbox git github journal lease metrics traces domain private",
    ),
    ("summary", "domain"),
    ("openai", "crypto agent metrics traces domain"),
    ("agent", "guard suite checkout sandbox domain"),
    ("guard", "syntax domain"),
    ("measure", "syntax domain"),
    ("journal", "github lease domain private"),
    ("git", "crypto anchor checkout domain private"),
    ("github", "crypto lease metrics traces skim domain"),
    ("metrics", "sandbox domain"),
    ("traces", "crypto sandbox domain"),
    ("config", "traces sandbox domain"),
    ("lease", ""),
    ("domain", "anchor readers redact units"),
];

/// Which crates a crate may name and depend on, from top to bottom. None of them knows the root.
const CRATES: [(&str, &str); 12] = [
    ("repair", "anchor readers redact sandbox suite syntax tree units"),
    ("suite", "anchor readers redact sandbox tree units"),
    ("sandbox", "tree"),
    ("tree", "anchor"),
    ("readers", "anchor units"),
    ("redact", "anchor"),
    ("syntax", ""),
    ("skim", ""),
    ("units", ""),
    ("anchor", ""),
    ("crypto", ""),
    ("github-double", "crypto"),
];

/// Names that only these rooms may use.
const ONLY_IN: [(&str, &str); 13] = [
    ("octocrab", "github"),
    ("async_openai", "openai"),
    ("git2", "git github-double"),
    ("axum", "server github-double"),
    ("sqlx", "journal"),
    ("clap", "cli config main"),
    ("rmcp", "cli"),
    ("seccompiler", "sandbox"),
    ("process::Command", "sandbox"),
    ("env::var", "config"),
    // The sandbox reads PATH to find the tools that it makes available to the code under test.
    ("env::var_os", "config sandbox"),
    ("env::vars", "config"),
    ("env::vars_os", "config"),
];

/// What decides, or only reads and writes text, and does no I/O.
const WITHOUT_IO: [&str; 6] = [
    "src/domain/",
    "crates/anchor/src/",
    "crates/readers/src/",
    "crates/redact/src/",
    "crates/skim/src/",
    "crates/units/src/",
];

/// What a room without I/O cannot need. Async functions and clocks are I/O too.
const NOT_IN_DOMAIN: [&str; 13] = [
    "async",
    "await",
    "tokio",
    "futures",
    "reqwest",
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "SystemTime",
    "Instant",
    "Timestamp::now",
];

/// Unfinished code, and tests that check less than they seem to.
const NOWHERE: [&str; 5] = ["todo!", "unimplemented!", "#[ignore", "#[should_panic", "dbg!"];

/// Words that say nothing about the purpose of a type.
const EMPTY_WORDS: [&str; 6] = ["Manager", "Service", "Helper", "Util", "Data", "Info"];

const MAX_LINES: usize = 400;

pub(super) fn imports_point_downwards(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for (path, _) in tree.rust("src/") {
        if !ROOMS.iter().any(|(name, _)| *name == room(path)) {
            let own = room(path);
            complaints.push(format!(
                "{path}: {own} is no room of the table in tests/it/tidy/rules.rs"
            ));
        }
    }
    for (path, line, named) in imports(tree) {
        let own = room(path);
        let row = ROOMS.iter().find(|(name, _)| *name == own && path.starts_with("src/"));
        if row.is_some_and(|(_, may)| !may.split(' ').any(|room| room == named)) {
            complaints.push(format!("{path}:{line}: {own} must not know {named}"));
        }
    }
    complaints
}

pub(super) fn every_arrow_is_used(tree: &Tree) -> Vec<String> {
    let mut complaints = unused_arrows(&ROOMS, tree);
    complaints.extend(unused_arrows(&CRATES, tree));
    complaints
}

/// What a crate names, and what its Cargo.toml lists, is in its row.
pub(super) fn crates_know_only_those_below(tree: &Tree) -> Vec<String> {
    let row = |own: &str| CRATES.iter().find(|(name, _)| *name == own);
    let may = |own: &str, named: &str| row(own).is_some_and(|(_, may)| may.split(' ').any(|other| other == named));
    let crates = tree.crates();
    let no_row = crates.iter().filter(|own| row(own).is_none());
    let mut complaints: Vec<String> = no_row
        .map(|own| format!("crates/{own}: no row of the table in tests/it/tidy/rules.rs"))
        .collect();
    for (path, text) in tree.rust("crates/") {
        let (own, code) = (room(path), code(text));
        let root = lines_with(&code, "greenlight")
            .into_iter()
            .map(|line| (line, "the root"));
        let others = crates_named(&crates, &code).into_iter();
        let others = others.filter(|(_, other)| *other != own && !may(own, other));
        complaints.extend(
            root.chain(others)
                .map(|(line, other)| format!("{path}:{line}: {own} must not know {other}")),
        );
    }
    for (path, text) in tree.0.iter().filter(|(path, _)| path.starts_with("crates/")) {
        let own = room(path);
        let is_manifest = path == &format!("crates/{own}/Cargo.toml");
        let depends = text
            .lines()
            .filter(|_| is_manifest)
            .filter_map(|line| line.split(['.', ' ']).next());
        for named in depends {
            let other = named.strip_prefix("greenlight-").unwrap_or(named);
            let is_ours = named == "greenlight" || named != other || crates.contains(other);
            if is_ours && !may(own, other) {
                complaints.push(format!("{path}: {own} must not depend on {named}"));
            }
        }
    }
    complaints
}

/// Imports that the table allows but no file uses.
pub(super) fn unused_arrows(table: &[(&str, &str)], tree: &Tree) -> Vec<String> {
    let used: BTreeSet<(&str, String)> = imports(tree)
        .into_iter()
        .map(|(path, _, named)| (room(path), named))
        .collect();
    let mut complaints = Vec::new();
    for (own, may) in table {
        for named in may.split(' ').filter(|named| !named.is_empty()) {
            if !used.contains(&(*own, named.to_owned())) {
                complaints.push(format!(
                    "tests/it/tidy/rules.rs: {own} may know {named}, but does not: take it out"
                ));
            }
        }
    }
    complaints
}

/// A framework is a single file of the suite, so no other code may ask which framework it is.
pub(super) fn only_the_suite_names_frameworks(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for (path, text) in tree.shipped() {
        for (index, line) in code(text).lines().enumerate().filter(|_| room(path) != "suite") {
            let mut uses = line.split("Framework::").skip(1);
            let names_one = uses.any(|rest| {
                rest.starts_with(|c: char| c.is_uppercase() || "{*".contains(c)) && !rest.starts_with("ALL")
            });
            if names_one {
                complaints.push(format!(
                    "{path}:{}: ask for a property of the framework instead",
                    index + 1
                ));
            }
        }
    }
    complaints
}

/// Every other room or crate that a shipped file names, with the line.
fn imports(tree: &Tree) -> Vec<(&str, usize, String)> {
    let (mut names, crates) = (tree.rooms(), tree.crates());
    names.extend(&crates);
    names.extend(tree.names_of_crates());
    let mut imports = Vec::new();
    for (path, text) in tree.shipped() {
        let code = code(text);
        if path.starts_with("src/") {
            let named = named_rooms(path, &code).into_iter();
            let named = named.filter(|(_, named)| names.contains(named.as_str()));
            imports.extend(named.map(|(line, named)| (path, line, named)));
        }
        let named = crates_named(&crates, &code).into_iter();
        imports.extend(named.map(|(line, named)| (path, line, named.to_owned())));
    }
    imports.retain(|(path, _, named)| room(path) != named);
    imports
}

/// Every crate that code names as one, with the line.
fn crates_named<'a>(crates: &BTreeSet<&'a str>, code: &str) -> Vec<(usize, &'a str)> {
    let named = crates.iter().flat_map(|name| {
        let ident = name.replace('-', "_");
        let mut lines = lines_with(code, &format!("greenlight_{ident}"));
        lines.extend(lines_with(code, &ident).into_iter().filter(|_| ident.contains('_')));
        lines.into_iter().map(|line| (line, *name))
    });
    named.collect()
}

pub(super) fn crates_stay_in_their_rooms(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for (path, text) in tree.shipped() {
        let code = code(text);
        for (name, rooms) in ONLY_IN {
            if !rooms.split(' ').any(|allowed| allowed == room(path)) {
                let lines = lines_with(&code, name);
                complaints.extend(
                    lines
                        .iter()
                        .map(|line| format!("{path}:{line}: {name} belongs into {rooms}")),
                );
            }
        }
    }
    complaints
}

pub(super) fn domain_does_nothing_but_decide(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    let without_io = |path: &str| WITHOUT_IO.iter().any(|folder| path.starts_with(folder));
    for (path, text) in tree.shipped().filter(|(path, _)| without_io(path)) {
        let code = code(text);
        for word in NOT_IN_DOMAIN {
            let lines = lines_with(&code, word);
            complaints.extend(
                lines
                    .iter()
                    .map(|line| format!("{path}:{line}: {word} has no place where nothing does I/O")),
            );
        }
    }
    complaints
}

pub(super) fn files_are_short_and_say_what_they_are_for(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for (path, text) in tree.rust("") {
        let lines = text.lines().count();
        if is_shipped(path) && lines > MAX_LINES {
            complaints.push(format!(
                "{path}: {lines} lines are more than {MAX_LINES}; split it by idea"
            ));
        }
        if !text.starts_with("//! ") {
            complaints.push(format!("{path}:1: begins with no `//!` that says what it is for"));
        }
    }
    for (path, text) in tree.scripts() {
        let lines = text.lines().count();
        if lines > MAX_LINES {
            complaints.push(format!(
                "{path}: {lines} lines are more than {MAX_LINES}; split it by idea"
            ));
        }
        if !["//", "#", "\"\"\""].iter().any(|start| text.starts_with(start)) {
            complaints.push(format!("{path}:1: begins with no comment that says what it is for"));
        }
    }
    complaints
}

pub(super) fn production_does_not_know_that_it_is_tested(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for (path, text) in tree.shipped() {
        let code = code(text);
        let lines: Vec<&str> = code.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            let test = ["cfg(", "cfg!(", "cfg_attr("]
                .iter()
                .filter_map(|cfg| line.split_once(cfg));
            let mut test = test.filter(|(_, rest)| !lines_with(rest, "test").is_empty());
            let next = lines[index + 1..]
                .iter()
                .find(|next| !next.starts_with("#["))
                .map_or("", |next| *next);
            let before_tests = line.trim_end() == "#[cfg(test)]" && next.starts_with("mod tests");
            if test.next().is_some() && !before_tests {
                complaints.push(format!(
                    "{path}:{}: test configuration outside of `mod tests`",
                    index + 1
                ));
            }
        }
        if let Some(at) = code.find("\nmod tests {")
            && code[at..]
                .find("\n}")
                .is_some_and(|end| !code[at + end + 2..].trim().is_empty())
        {
            complaints.push(format!("{path}: `mod tests` is not the last thing in it"));
        }
    }
    complaints
}

pub(super) fn nothing_is_unfinished_skipped_or_slept_through(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for (path, text) in tree.rust("") {
        let code = code(text);
        let tests = if is_shipped(path) {
            code.find("\nmod tests {").unwrap_or(code.len())
        } else {
            0
        };
        for word in NOWHERE {
            complaints.extend(
                lines_with(&code, word)
                    .iter()
                    .map(|line| format!("{path}:{line}: {word}")),
            );
        }
        let before = code[..tests].matches('\n').count();
        let sleeps = lines_with(&code[tests..], "sleep(");
        complaints.extend(
            sleeps
                .iter()
                .map(|line| format!("{path}:{}: a test that sleeps", before + line)),
        );
    }
    complaints
}

pub(super) fn types_are_named_for_what_they_are(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for (path, text) in tree.rust("") {
        for (index, line) in code(text).lines().enumerate() {
            // Indented `type`s belong to other crates' traits, such as tower's `Service`.
            let words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
            let mut words = words.skip_while(|word| *word == "type" && line.starts_with(' '));
            let defines = words
                .next()
                .is_some_and(|word| ["struct", "enum", "trait", "type", "union"].contains(&word));
            let name = words
                .next()
                .map(|rest| first_names(rest).concat())
                .filter(|_| defines)
                .unwrap_or_default();
            if words_of(&name).iter().any(|word| EMPTY_WORDS.contains(word)) {
                complaints.push(format!("{path}:{}: {name} says nothing", index + 1));
            }
        }
    }
    complaints
}

/// `RepoConfig` as `Repo`, `Config`.
fn words_of(name: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = name
        .char_indices()
        .filter(|(_, c)| c.is_uppercase())
        .map(|(at, _)| at)
        .collect();
    starts.push(name.len());
    starts
        .windows(2)
        .map(|pair| name[pair[0]..pair[1]].trim_end_matches('s'))
        .collect()
}

pub(super) fn the_architecture_names_every_room(tree: &Tree) -> Vec<String> {
    let text = tree.document("ARCHITECTURE.md");
    let rooms = tree.rooms().into_iter().filter(|room| !matches!(*room, "lib" | "main"));
    let missing = rooms.filter(|room| {
        !["/", ".rs"]
            .iter()
            .any(|end| text.contains(&format!("src/{room}{end}")))
    });
    let mut complaints: Vec<String> = missing
        .map(|room| format!("ARCHITECTURE.md: {room} is missing"))
        .collect();
    let missing = tree
        .crates()
        .into_iter()
        .filter(|name| !text.contains(&format!("crates/{name}/")));
    complaints.extend(missing.map(|name| format!("ARCHITECTURE.md: {name} is missing")));
    if text.split_whitespace().count() > MAX_ARCHITECTURE_WORDS {
        complaints.push(format!("ARCHITECTURE.md: more than {MAX_ARCHITECTURE_WORDS} words"));
    }
    complaints.extend(missing_paths(tree, "ARCHITECTURE.md"));
    complaints.extend(missing_paths(tree, "docs/internals.md"));
    complaints
}

/// A newcomer should be able to read the map in five minutes.
const MAX_ARCHITECTURE_WORDS: usize = 1_200;

/// The paths below `src` and `crates` that a document names but that do not exist.
fn missing_paths(tree: &Tree, document: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    let is_part = |c: char| c.is_alphanumeric() || "_-/.".contains(c);
    for path in tree.document(document).split(|c| !is_part(c)) {
        let path = path.trim_end_matches(['.', '/']);
        if !path.starts_with("src/") && !path.starts_with("crates/") {
            continue;
        }
        let there = tree
            .0
            .iter()
            .any(|(file, _)| file == path || file.starts_with(&format!("{path}/")));
        // Fixtures are no part of the tree.
        let is_fixture = path.contains("/fixtures/") && Path::new(path).is_dir();
        if !there && !is_fixture {
            complaints.push(format!("{document}: there is no {path}"));
        }
    }
    complaints
}
