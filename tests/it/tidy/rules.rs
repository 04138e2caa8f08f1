//! The rules. Each is a function from files to complaints.

use super::sources::{Tree, code, first_names, lines_with, named_rooms, room};

/// Which rooms a room may name, from top to bottom. ARCHITECTURE.md has the picture.
const ROOMS: [(&str, &str); 20] = [
    ("main", "cli config sandbox"),
    ("lib", ""),
    (
        "cli",
        "config demo server engine openai agent repair guard suite checkout sandbox git github journal domain private",
    ),
    (
        "demo",
        "config server engine openai agent repair suite checkout sandbox git github journal domain private",
    ),
    (
        "server",
        "config engine openai agent repair suite checkout sandbox git github journal domain private",
    ),
    (
        "engine",
        "config openai agent repair guard measure suite checkout sandbox git github journal domain private",
    ),
    ("openai", "agent suite checkout sandbox domain"),
    ("agent", "guard suite checkout sandbox domain"),
    ("repair", "guard suite checkout sandbox domain"),
    ("guard", "domain"),
    ("measure", "guard domain"),
    ("suite", "checkout sandbox domain private"),
    ("journal", "github domain private"),
    ("git", "checkout domain private"),
    ("github", "domain"),
    ("checkout", "sandbox domain"),
    ("sandbox", "domain"),
    ("config", "domain"),
    ("private", ""),
    ("domain", ""),
];

/// Names that only these rooms may use.
const ONLY_IN: [(&str, &str); 12] = [
    ("octocrab", "github"),
    ("async_openai", "openai"),
    ("git2", "git demo"),
    ("axum", "server demo"),
    ("sqlx", "journal"),
    ("clap", "cli config main"),
    ("seccompiler", "sandbox"),
    ("process::Command", "sandbox"),
    ("env::var", "config"),
    // The sandbox asks for PATH, to find the tools it lends to the code under test.
    ("env::var_os", "config sandbox"),
    ("env::vars", "config"),
    ("env::vars_os", "config"),
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

/// What is unfinished, or a test that says less than it seems to.
const NOWHERE: [&str; 5] = ["todo!", "unimplemented!", "#[ignore", "#[should_panic", "dbg!"];

/// Words that say nothing about what a type is for.
const EMPTY_WORDS: [&str; 6] = ["Manager", "Service", "Helper", "Util", "Data", "Info"];

const MAX_LINES: usize = 400;

pub(super) fn imports_point_downwards(tree: &Tree) -> Vec<String> {
    let rooms = tree.rooms();
    let mut complaints = Vec::new();
    for (path, text) in tree.rust("src/") {
        let own = room(path);
        let Some((_, may)) = ROOMS.iter().find(|(name, _)| *name == own) else {
            complaints.push(format!("{path}: {own} is no room of the table in tests/it/tidy.rs"));
            continue;
        };
        for (line, named) in named_rooms(path, &code(text)) {
            if rooms.contains(named.as_str()) && named != own && !may.split(' ').any(|room| room == named) {
                complaints.push(format!("{path}:{line}: {own} must not know {named}"));
            }
        }
    }
    complaints
}

pub(super) fn crates_stay_in_their_rooms(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for (path, text) in tree.rust("src/") {
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
    for (path, text) in tree.rust("src/domain/") {
        let code = code(text);
        for word in NOT_IN_DOMAIN {
            let lines = lines_with(&code, word);
            complaints.extend(
                lines
                    .iter()
                    .map(|line| format!("{path}:{line}: {word} has no place in the domain")),
            );
        }
    }
    complaints
}

pub(super) fn files_are_short_and_say_what_they_are_for(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for (path, text) in tree.rust("") {
        let lines = text.lines().count();
        if path.starts_with("src/") && lines > MAX_LINES {
            complaints.push(format!(
                "{path}: {lines} lines are more than {MAX_LINES}; split it by idea"
            ));
        }
        if !text.starts_with("//! ") {
            complaints.push(format!("{path}:1: begins with no `//!` that says what it is for"));
        }
    }
    complaints
}

pub(super) fn production_does_not_know_that_it_is_tested(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for (path, text) in tree.rust("src/") {
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
        let tests = if path.starts_with("src/") {
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
            // Indented `type`s belong to traits of others, as tower's `Service`.
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
    for part in text.split("src/").skip(1) {
        let path: String = part
            .chars()
            .take_while(|c| c.is_alphanumeric() || "_/.".contains(*c))
            .collect();
        let path = format!("src/{}", path.trim_end_matches(['.', '/']));
        let there = tree
            .0
            .iter()
            .any(|(file, _)| *file == path || file.starts_with(&format!("{path}/")));
        if !there {
            complaints.push(format!("ARCHITECTURE.md: there is no {path}"));
        }
    }
    complaints
}
