//! The rules of this tree as ordinary tests: which room may import which, how things are named, how large a file may
//! be.
//!
//! Each rule is run on the project and on planted violations, so that a rule that no longer detects anything is
//! noticed. Rules that Clippy can check are in `Cargo.toml` and `clippy.toml`.

mod circles;
mod documents;
mod names;
mod rules;
mod shown;
mod sources;
mod words;

use sources::Tree;

type Rule = fn(&Tree) -> Vec<String>;

#[track_caller]
fn holds(rule: Rule) {
    let complaints = rule(&Tree::of_the_project());
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

/// The rule complains about each of the bad files alone, and about none of the good ones.
#[track_caller]
fn sees(rule: Rule, bad: &[(&str, &str)], good: &[(&str, &str)]) {
    for file in bad {
        assert!(!rule(&with_rooms(file)).is_empty(), "not seen: {file:?}");
    }
    for file in good {
        let complaints = rule(&with_rooms(file));
        assert!(complaints.is_empty(), "{file:?}: {complaints:?}");
    }
}

/// A tree that contains the rooms which the files name.
fn with_rooms(file: &(&str, &str)) -> Tree {
    let mut tree = Tree::planted(&[*file]);
    for room in ["domain", "github", "git", "engine", "agent", "server"] {
        let path = format!("src/{room}/any.rs");
        tree.0.push((path, "//! A room.\n".into()));
    }
    tree.0.push((
        "src/lib.rs".into(),
        "//! The root.\npub use greenlight_tree::{checkout, files, private};\n".into(),
    ));
    for name in ["github-double", "sandbox", "suite", "tree"] {
        let path = format!("crates/{name}/src/lib.rs");
        tree.0.push((path, "//! A crate.\n".into()));
    }
    tree
}

#[test]
fn imports_point_downwards() {
    sees(
        rules::imports_point_downwards,
        &[
            ("src/domain/a.rs", "use crate::github::Client;"),
            ("src/github/a.rs", "fn f() { crate::engine::handle() }"),
            ("src/github/a.rs", "use crate::{domain::id, engine::{self, App}};"),
            ("src/github/mod.rs", "use super::agent;"),
            ("src/github/a/b.rs", "use super::super::super::agent;"),
            ("src/github.rs", "mod tests { use super::super::agent; }"),
            ("src/git.rs", "use crate::sandbox;"),
            ("src/newroom.rs", "//! Not in the table."),
            ("src/main.rs", "use greenlight::engine;"),
            ("src/engine/a.rs", "use github_double::Double;"),
            ("src/git/a.rs", "use greenlight_sandbox as other;"),
            ("src/journal/a.rs", "use crate::checkout::Checkout;"),
            ("src/server/a.rs", "use crate::files::read_result;"),
        ],
        &[
            (
                "src/engine/a.rs",
                "use crate::github::{Client, agent}; use super::b; use crate::engine::c;",
            ),
            (
                "src/github/a.rs",
                "//! See [`crate::engine`].\n// crate::engine\nconst A: &str = \"crate::engine\";",
            ),
            ("src/github/a/b.rs", "use super::super::engine;"),
            ("src/github/a.rs", "use super::agent;"),
            ("src/journal/refs.rs", "use crate::github::Client;"),
            ("src/journal/refs.rs", "use crate::private;"),
            ("src/cli/a.rs", "use github_double::Double;"),
            (
                "src/github/a.rs",
                "fn f<'a>(x: &'a str) -> char { '\"' } // crate::engine",
            ),
        ],
    );
    holds(rules::imports_point_downwards);
}

#[test]
fn every_arrow_is_used() {
    let tree = |text| {
        Tree::planted(&[
            ("src/git/a.rs", text),
            ("src/domain/a.rs", ""),
            ("crates/suite/src/a.rs", ""),
        ])
    };
    let table = [("git", "domain"), ("domain", "")];
    assert!(rules::unused_arrows(&table, &tree("use crate::domain::id;")).is_empty());
    assert_eq!(rules::unused_arrows(&table, &tree("use crate::suite;")).len(), 1);
    holds(rules::every_arrow_is_used);
}

#[test]
fn crates_know_only_those_below() {
    sees(
        rules::crates_know_only_those_below,
        &[
            ("crates/tree/src/a.rs", "use greenlight_sandbox::Sandbox;"),
            ("crates/sandbox/src/a.rs", "use greenlight_suite as suite;"),
            ("crates/suite/src/a.rs", "use greenlight::domain::Run;"),
            ("crates/tree/examples/a.rs", "use github_double::Double;"),
            (
                "crates/tree/Cargo.toml",
                "[dependencies]\ngreenlight-sandbox.workspace = true\n",
            ),
            (
                "crates/tree/Cargo.toml",
                "[dev-dependencies]\ngreenlight = { path = \"../..\" }\n",
            ),
            ("crates/newcrate/src/lib.rs", "//! Not in the table."),
        ],
        &[
            (
                "crates/suite/src/a.rs",
                "use greenlight_sandbox as sandbox; use crate::tree;",
            ),
            (
                "crates/suite/src/a.rs",
                "//! greenlight and greenlight_engine.\nuse greenlight_tree::files;",
            ),
            (
                "crates/suite/Cargo.toml",
                "[package]\nname = \"greenlight-suite\"\n\n[dependencies]\ngreenlight-tree.workspace = true\n",
            ),
        ],
    );
    holds(rules::crates_know_only_those_below);
}

#[test]
fn imports_form_no_circles() {
    let complaints = |files: &[(&str, &str)]| circles::imports_form_no_circles(&Tree::planted(files));
    for files in [
        [
            ("src/measure/a.rs", "use super::b::B;"),
            ("src/measure/b.rs", "use super::a::{A, C};"),
        ],
        [
            ("src/measure/a.rs", "use crate::measure::{self, b::{B, C}};"),
            ("src/measure/b.rs", "fn f() { super::a::g() }"),
        ],
        [
            ("crates/x/src/a.rs", "use super::{c, b};"),
            ("crates/x/src/b.rs", "use crate::a;"),
        ],
        [
            ("src/measure/a/b.rs", "use super::super::c::C;"),
            ("src/measure/c.rs", "use super::a::b::D;"),
        ],
    ] {
        assert_eq!(complaints(&files).len(), 2, "{files:?}: {:?}", complaints(&files));
    }
    for files in [
        [
            ("src/measure/a.rs", "use super::b::B;"),
            ("src/measure/b.rs", "// super::a\nuse std::fs;"),
        ],
        [
            ("src/measure/mod.rs", "use a::A;\nuse self::a::B;"),
            ("src/measure/a.rs", "use super::C;\nuse crate::measure::D;"),
        ],
        [
            ("src/measure/a.rs", "use super::b;"),
            (
                "src/measure/b.rs",
                "fn f() {}\n\nmod tests {\n    use super::super::a;\n}",
            ),
        ],
        [("src/a.rs", "use crate::b;"), ("crates/x/src/b.rs", "use crate::a;")],
    ] {
        assert!(complaints(&files).is_empty(), "{files:?}: {:?}", complaints(&files));
    }
    holds(circles::imports_form_no_circles);
}

#[test]
fn crates_stay_in_their_rooms() {
    sees(
        rules::crates_stay_in_their_rooms,
        &[
            ("src/engine/a.rs", "use octocrab::Octocrab;"),
            ("src/github/a.rs", "fn f(r: &git2::Repository) {}"),
            ("src/agent/a.rs", "use async_openai::Client;"),
            ("src/engine/a.rs", "use axum::Router;"),
            ("src/engine/a.rs", "std::process::Command::new(\"sh\")"),
            ("src/engine/a.rs", "let x = std::env::var_os(\"HOME\");"),
        ],
        &[
            ("src/github/a.rs", "use octocrab::Octocrab;"),
            (
                "crates/github-double/src/a.rs",
                "use axum::Router; use git2::Repository;",
            ),
            ("src/engine/a.rs", "let my_octocrab = 1; // octocrab"),
        ],
    );
    holds(rules::crates_stay_in_their_rooms);
}

#[test]
fn domain_does_nothing_but_decide() {
    sees(
        rules::domain_does_nothing_but_decide,
        &[
            ("src/domain/a.rs", "pub async fn f() {}"),
            ("src/domain/a.rs", "use std::fs;"),
            ("src/domain/a.rs", "let now = jiff::Timestamp::now();"),
            ("crates/redact/src/a.rs", "use std::fs;"),
        ],
        &[
            (
                "src/domain/a.rs",
                "//! Nothing is async.\nfn f(now: jiff::Timestamp) {}",
            ),
            ("src/git/a.rs", "use std::fs;"),
        ],
    );
    holds(rules::domain_does_nothing_but_decide);
}

#[test]
fn files_are_short_and_say_what_they_are_for() {
    let long = format!("//! Long.\n{}", "\n".repeat(400));
    sees(
        rules::files_are_short_and_say_what_they_are_for,
        &[
            ("src/git/a.rs", &long),
            ("crates/sandbox/src/a.rs", &long),
            ("src/git/a.rs", "use std::fs;\n"),
            ("tests/it/a.rs", "fn f() {}"),
            ("src/git/a/b.py", &long),
            ("src/git/a/b.js", "f();\n"),
        ],
        &[
            ("src/git/a.rs", "//! Short.\n"),
            ("tests/it/a.rs", &long),
            ("src/git/a/b.py", "\"\"\"Short.\"\"\"\n"),
        ],
    );
    holds(rules::files_are_short_and_say_what_they_are_for);
}

#[test]
fn production_does_not_know_that_it_is_tested() {
    sees(
        rules::production_does_not_know_that_it_is_tested,
        &[
            ("src/git/a.rs", "#[cfg(test)]\nfn only_for_tests() {}"),
            ("src/git/a.rs", "#[cfg(not(test))]\nmod tests {\n}\n"),
            ("src/git/a.rs", "fn f() { if cfg!(test) {} }"),
            ("src/git/a.rs", "#[cfg_attr(test, derive(Debug))]\nstruct A;"),
            ("src/git/a.rs", "#[cfg(any(unix, test))]\nfn f() {}"),
            (
                "src/git/a.rs",
                "//! A.\n#[cfg(test)]\nmod tests {\n    fn f() {}\n}\n\nfn after() {}\n",
            ),
        ],
        &[
            (
                "src/git/a.rs",
                "fn f() {}\n\n#[cfg(test)]\nmod tests {\n    fn f() {}\n}\n",
            ),
            ("src/git/a.rs", "#[cfg(target_os = \"linux\")]\nfn f() {}\n"),
        ],
    );
    holds(rules::production_does_not_know_that_it_is_tested);
}

#[test]
fn nothing_is_unfinished_skipped_or_slept_through() {
    sees(
        rules::nothing_is_unfinished_skipped_or_slept_through,
        &[
            ("src/git/a.rs", "fn f() { todo!() }"),
            ("tests/it/a.rs", "#[ignore = \"slow\"]\nfn f() {}"),
            ("tests/it/a.rs", "#[should_panic]\nfn f() {}"),
            ("tests/it/a.rs", "tokio::time::sleep(SECOND).await;"),
            (
                "src/git/a.rs",
                "fn f() {}\nmod tests {\n    fn g() { std::thread::sleep(x) }\n}",
            ),
        ],
        &[(
            "src/git/a.rs",
            "async fn back_off() { tokio::time::sleep(SECOND).await }\nmod tests {\n}\n",
        )],
    );
    holds(rules::nothing_is_unfinished_skipped_or_slept_through);
}

#[test]
fn types_are_named_for_what_they_are() {
    sees(
        rules::types_are_named_for_what_they_are,
        &[
            ("src/git/a.rs", "pub struct CloneManager;"),
            ("src/git/a.rs", "pub(crate) enum RunInfo {}"),
            ("src/git/a.rs", "trait Service {}"),
            ("tests/it/a.rs", "struct GitUtils { a: u8 }"),
        ],
        &[
            ("src/git/a.rs", "struct Database; struct Metadata; enum Informed {}"),
            (
                "src/git/a.rs",
                "impl tower::Service<Request> for A {\n    type Data = u8;\n}",
            ),
        ],
    );
    holds(rules::types_are_named_for_what_they_are);
}

#[test]
fn the_architecture_names_every_room() {
    let rooms = [("src/git.rs", ""), ("src/github/mod.rs", ""), ("src/lib.rs", "")];
    let with = |text| Tree::planted(&[&rooms[..], &[("ARCHITECTURE.md", text)]].concat());
    let complaints = |text| rules::the_architecture_names_every_room(&with(text));
    assert!(complaints("`src/git.rs` and `src/github/`, with `src/github/mod.rs`.").is_empty());
    assert_eq!(complaints("`src/github/`"), ["ARCHITECTURE.md: git is missing"]);
    assert_eq!(
        complaints("src/git.rs src/github/ src/old.rs"),
        ["ARCHITECTURE.md: there is no src/old.rs"]
    );
    holds(rules::the_architecture_names_every_room);
}

#[test]
fn only_the_suite_names_frameworks() {
    sees(
        rules::only_the_suite_names_frameworks,
        &[
            ("src/git/a.rs", "fn f() { g(Framework::Pytest) }"),
            ("src/git/a.rs", "use crate::suite::Framework::{Cargo, Go};"),
            ("src/git/a.rs", "use crate::suite::Framework::*;"),
            ("crates/repair/src/a.rs", "fn f() { g(Framework::Pytest) }"),
        ],
        &[
            ("crates/suite/src/a.rs", "fn f() { g(Framework::Pytest) }"),
            ("src/git/a.rs", "fn f() { Framework::ALL; Framework::is_compiled(a) }"),
        ],
    );
    holds(rules::only_the_suite_names_frameworks);
}

#[test]
fn documents_show_commands_that_are_tested() {
    for document in ["README.md", "docs/local.md"] {
        let complaints = |text| documents::commands_are_tested(&Tree::planted(&[(document, text)]));
        let shown = complaints("```bash\n# a comment\ncargo test   # why\nrm -rf /\n```\nand\n```toml\nx = 1\n```\n");
        assert!(
            shown.contains(&format!("{document}: nothing tests `rm -rf /`")),
            "{shown:?}"
        );
        assert!(
            !shown
                .iter()
                .any(|line| line.contains("cargo test") || line.contains("x = 1")),
            "{shown:?}"
        );
    }
    holds(documents::commands_are_tested);
}

#[test]
fn the_readme_is_short() {
    let (long, short) = ("Words.\n".repeat(201), "Words.\n".repeat(200));
    sees(
        documents::the_readme_is_short,
        &[("README.md", &long)],
        &[("README.md", &short), ("docs/local.md", &long)],
    );
    holds(documents::the_readme_is_short);
}

#[test]
fn figures_are_filled_in() {
    sees(
        documents::figures_are_filled_in,
        &[("docs/a.md", "| stored | @A | @B |\n")],
        &[("docs/a.md", "| stored | 7,056 | @ada |\n@A is a person.\n")],
    );
    holds(documents::figures_are_filled_in);
}

#[test]
fn links_lead_somewhere() {
    let heading = "# Of `a` thing, and more\n\n```bash\n# no heading\n```\n";
    let complaints = |from, text: &str| {
        let text = format!("{heading}{text}");
        let files = [(from, text.as_str()), ("docs/b.md", heading)];
        documents::links_lead_somewhere(&Tree::planted(&files))
    };
    for (from, link) in [
        ("README.md", "#of-a-thing-and-more"),
        ("README.md", "docs/b.md"),
        ("README.md", "docs/b.md#of-a-thing-and-more"),
        ("README.md", "https://example.org/nothing"),
        ("README.md", "Cargo.toml"),
        ("docs/a.md", "b.md#of-a-thing-and-more"),
        ("docs/a.md", "../tests/it"),
    ] {
        let complaints = complaints(from, &format!("See [this]({link})."));
        assert!(complaints.is_empty(), "{from} {link}: {complaints:?}");
    }
    for (from, link) in [
        ("README.md", "#no-heading"),
        ("README.md", "b.md"),
        ("README.md", "docs/b.md#nothing"),
        ("README.md", "docs/nothing.md"),
        ("docs/a.md", "docs/b.md"),
        ("docs/a.md", "../Cargo.toml#package"),
    ] {
        let complaints = complaints(from, &format!("See [`this`]({link})."));
        assert_eq!(complaints, [format!("{from}: {link} leads nowhere")]);
    }
    holds(documents::links_lead_somewhere);
}

#[test]
fn nobody_is_shown_rusts_own_notation() {
    sees(
        shown::nobody_is_shown_rusts_own_notation,
        &[
            (
                "src/git/a.rs",
                "fn f() { tracing::info!(run.id = %id, ?end, \"ended\"); }",
            ),
            (
                "src/git/a.rs",
                "fn f() { tracing::warn!(outcome = ?a.b(1), \"ended\"); }",
            ),
            ("src/cli/a.rs", "fn f() { show(&format!(\"{:?}\", outcome)); }"),
            ("src/domain/reply/a.rs", "fn f() { format!(\"{outcome:?}\"); }"),
        ],
        &[
            ("src/git/a.rs", "fn f() -> X { tracing::info!(a = b()?, \"is it?\"); }"),
            (
                "src/git/a.rs",
                "fn f() { tracing::debug!(?end, \"ended\"); format!(\"{a:?}\") }",
            ),
            (
                "src/cli/a.rs",
                "// {:?}\nfn f() {}\nmod tests {\n    fn g() { format!(\"{a:?}\") }\n}",
            ),
        ],
    );
    holds(shown::nobody_is_shown_rusts_own_notation);
}

/// A single loop decides what a run does next, so that a new step, limit or mode is added in one place.
#[test]
fn one_loop_asks_what_comes_next() {
    fn rule(tree: &Tree) -> Vec<String> {
        let files = tree
            .0
            .iter()
            .filter(|(path, _)| path.starts_with("src/") && path != "src/engine/drive.rs" && !path.contains("/tests"));
        let asks = files.filter(|(_, code)| !sources::lines_with(code, "run.next").is_empty());
        asks.map(|(path, _)| format!("{path}: only src/engine/drive.rs asks what comes next"))
            .collect()
    }
    holds(rule);
    sees(
        rule,
        &[("src/cli/local/mod.rs", "while let next = run.next(true) {}\n")],
        &[("src/engine/drive.rs", "let next = run.next(true);\n")],
    );
}

#[test]
fn prose_uses_the_words_of_the_table() {
    let table = "| `whatever` | any |\n| `; none if` | `None` if |\n";
    let complaints = |path, text: &str| {
        let files = [("CONTRIBUTING.md", table), (path, text)];
        words::prose_uses_the_words_of_the_table(&Tree::planted(&files))
    };
    for (path, text) in [
        ("src/git/a.rs", "fn f() {} // Whatever it is."),
        ("src/git/a.rs", "/// Its name; none if it has no name.\nfn f() {}"),
        ("src/git/a.rs", "fn f() { g(\"Say whatever you like.\") }"),
        ("docs/a.md", "Say whatever you like."),
    ] {
        assert_eq!(complaints(path, text).len(), 1, "not seen: {text}");
    }
    for (path, text) in [
        (
            "src/git/a.rs",
            "fn whatever() { g(\"/whatever/else\") } // `whatever` is called.",
        ),
        ("tests/it/a.rs", "fn f() { g(\"whatever\") }"),
        ("docs/a.md", "Any word; `whatever` is code."),
    ] {
        assert_eq!(complaints(path, text), [""; 0]);
    }
    assert_eq!(words::prose_uses_the_words_of_the_table(&Tree::planted(&[])).len(), 1);
    holds(words::prose_uses_the_words_of_the_table);
}

#[test]
fn no_type_name_means_many_things() {
    let four = "struct Thing;\npub(super) enum Thing {}\nmod tests {\n    struct Thing;\n}\npub type Thing = u8;\n";
    let three =
        "struct Thing;\npub enum Thing {}\ntrait Thing {}\nimpl A {\n    type Thing = u8;\n}\n// struct Thing\n";
    let complaints = |text| names::no_type_name_means_many_things(&Tree::planted(&[("src/git/a.rs", text)]));
    assert_eq!(complaints(four).len(), 1);
    assert_eq!(complaints(three), [""; 0]);
    holds(names::no_type_name_means_many_things);
}
