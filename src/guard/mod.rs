//! Tells whether a patch weakens the tests: what it takes away from them, and whether it recognises them in the code
//! under test. It reads syntax only; nothing is run here, and what is done about a finding is decided elsewhere.
//!
//! More and stricter tests are no finding. Any other change in an existing test is one: a repair has no
//! business there.

mod assertion;
mod body;
mod collected;
mod compare;
mod docs;
mod item_report;
mod items;
mod manifest;
mod new_tests;
mod parts;
mod restore;
mod special;
mod statements;

use std::collections::BTreeSet;

use greenlight_syntax::{Language, Parsed};

use self::collected::is_collected;
use self::compare::{Elsewhere, Side};
use self::item_report::ItemReport;
use self::items::Role;
pub use self::new_tests::{NewTest, new_tests, writes_more_than_tests};
pub use self::restore::{with_own_tests, without_tests};
use crate::domain::id::RepoPath;
use crate::domain::patch::{Blob, FileChange, Patch};
use crate::domain::test_path::{decides_how_tests_run, is_ci_path, is_test_path, shadows_test_tool};
use crate::domain::weakening::{Weakening, WeakeningKind};

/// Items nested deeper than this are not looked into.
const MAX_DEPTH: usize = 60;
/// More findings than these are not collected.
const MAX_FOUND: usize = 50;
/// Of a larger patch, nothing can be said.
const MAX_FILES: usize = 300;

/// What failing tests pass in and expect: code that compares with it is suspected of knowing the tests.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    literals: BTreeSet<String>,
}

impl Inputs {
    /// Adds what the named tests of a file use; without names, all of its tests.
    pub fn note(&mut self, path: &RepoPath, text: &str, names: &[&str]) {
        if let Some(file) = Language::of(path.as_str()).and_then(|language| Parsed::parse(language, text)) {
            special::note(&file, is_test_path(path.as_str()), names, self);
        }
    }
}

/// Everything in a patch that makes the tests say less, in the order of its files. None means that it leaves the tests
/// alone, or only adds to them.
pub fn weakenings(patch: &Patch, inputs: &Inputs) -> Vec<Weakening> {
    let mut found = Vec::new();
    let mut parsed = Vec::new();
    for (at, (path, change)) in patch.files().enumerate() {
        if at >= MAX_FILES {
            let why = format!("the patch has more than {MAX_FILES} files");
            of_file(path, &mut found).say(WeakeningKind::CannotBeJudged, 1, why);
            break;
        }
        if let Some(read) = by_path(path, change, &mut found) {
            parsed.push(read);
        }
    }
    let sides: Vec<_> = parsed
        .iter()
        .map(|read| (read, read.side(read.before.as_ref()), read.side(read.after.as_ref())))
        .collect();
    let elsewhere: Vec<Elsewhere<'_>> = sides
        .iter()
        .filter(|(read, _, _)| read.is_tests && is_collected(read.language, read.path.as_str()))
        .filter_map(|(_, _, after)| after.as_ref())
        .flat_map(|side| side.items.iter().map(|item| (side.file, item)))
        .filter(|(_, item)| item.role == Role::Test)
        .collect();
    let mut inputs = inputs.clone();
    for (read, _, _) in &sides {
        for text in [&read.before, &read.after].into_iter().flatten() {
            special::note(text, read.is_tests, &[], &mut inputs);
        }
    }
    for (read, before, after) in &sides {
        let is_collected = !read.is_tests || is_collected(read.language, read.path.as_str());
        let after_items = after.as_ref();
        compare::compare(
            read.path,
            before.as_ref(),
            after_items,
            if is_collected { &elsewhere } else { &[] },
            &mut found,
        );
        examples(read, &mut found);
        if let (false, Some(after)) = (read.is_tests, &read.after) {
            special::compare(read.path, (read.before.as_ref(), after), &inputs, &mut found);
        }
    }
    found
}

/// A file that could be parsed on both sides.
struct Read<'p> {
    path: &'p RepoPath,
    language: Language,
    /// Whether all of it is tests.
    is_tests: bool,
    before: Option<Parsed<'p>>,
    after: Option<Parsed<'p>>,
}

impl<'p> Read<'p> {
    fn side<'s>(&self, parsed: Option<&'s Parsed<'p>>) -> Option<Side<'s>> {
        let file = parsed?;
        let items = items::of(file, self.is_tests);
        Some(Side { file, items })
    }
}

fn of_file<'a>(path: &'a RepoPath, found: &'a mut Vec<Weakening>) -> ItemReport<'a> {
    ItemReport {
        path,
        test: String::new(),
        found,
    }
}

/// Says what the name and kind of a file say; parses it if more is to be said.
fn by_path<'p>(path: &'p RepoPath, change: &'p FileChange, found: &mut Vec<Weakening>) -> Option<Read<'p>> {
    let name = path.as_str();
    let mut said = of_file(path, found);
    let is_new = change.before.is_none();
    let is_tests = is_test_path(name);
    if is_ci_path(name) {
        said.say(WeakeningKind::Ci, 1, "it decides what CI does");
        return None;
    }
    if name.contains("__mocks__/") {
        said.say(WeakeningKind::Mocked, 1, "it replaces a module in tests");
        return None;
    }
    if decides_how_tests_run(name) || (is_new && shadows_test_tool(name)) {
        said.say(
            WeakeningKind::Configuration,
            1,
            "it decides how tests are found, built or run",
        );
        return None;
    }
    if let Some(read) = manifest::reader(name) {
        let read = |blob: &Option<Blob>| match blob {
            Some(blob) => blob.text().and_then(read),
            None => Some(Vec::new()),
        };
        match (read(&change.before), read(&change.after)) {
            (_, None) => said.say(WeakeningKind::CannotBeJudged, 1, "it cannot be read"),
            (None, _) => said.say(WeakeningKind::CannotBeJudged, 1, "its original content cannot be read"),
            (before, after) if before != after => {
                said.say(WeakeningKind::Configuration, 1, "it changes how tests are built or run");
            }
            _ => {}
        }
        return None;
    }
    let Some(language) = Language::of(name) else {
        if is_tests {
            unknown(name, change, &mut said);
        }
        return None;
    };
    let sides = [&change.before, &change.after].map(|blob| match blob {
        Some(blob) => blob.text().and_then(|text| Parsed::parse(language, text)).map(Some),
        None => Some(None),
    });
    let [Some(before), Some(after)] = sides else {
        said.say(WeakeningKind::CannotBeJudged, 1, "it cannot be parsed");
        return None;
    };
    let broken = |side: &Option<Parsed<'_>>| -> Vec<String> {
        side.iter().flat_map(Parsed::errors).map(str::to_string).collect()
    };
    let (was, is) = (broken(&before), broken(&after));
    // Grammars do not know all of their languages: in code under test, what was not understood before says nothing.
    let is_worse = is.len() > was.len() || (is_tests && is.iter().any(|error| !was.contains(error)));
    if is_worse {
        said.say(WeakeningKind::CannotBeJudged, 1, "it has a syntax error");
    }
    Some(Read {
        path,
        language,
        is_tests,
        before,
        after,
    })
}

/// A file among tests whose language is not known.
fn unknown(name: &str, change: &FileChange, said: &mut ItemReport<'_>) {
    const CODE: [&str; 22] = [
        "rb", "php", "cs", "kt", "kts", "scala", "swift", "c", "cc", "cpp", "h", "hpp", "m", "ex", "exs", "clj", "hs",
        "sh", "bats", "pl", "lua", "vue",
    ];
    let extension = name
        .rsplit_once('.')
        .map_or("", |(_, extension)| extension)
        .to_ascii_lowercase();
    if matches!(extension.as_str(), "md" | "rst" | "adoc") {
        return;
    }
    let is_prose = ["readme", "license", "changes", "authors"]
        .iter()
        .any(|prose| name.to_lowercase().ends_with(prose));
    if is_prose {
        return;
    }
    if CODE.contains(&extension.as_str()) || extension.is_empty() {
        said.say(
            WeakeningKind::CannotBeJudged,
            1,
            "tests in this language cannot be compared",
        );
    } else if change.before.is_some() {
        said.say(
            WeakeningKind::DataChanged,
            1,
            "a file that tests read or compare with is changed",
        );
    }
}

/// Says which examples of the documentation are gone or changed.
fn examples(read: &Read<'_>, found: &mut Vec<Weakening>) {
    let of = |side: &Option<Parsed<'_>>| side.as_ref().map(parts::examples).unwrap_or_default();
    let (before, after) = (of(&read.before), of(&read.after));
    let has = |old: &String| {
        after.iter().any(|new| {
            let mut lines = new.lines();
            old.lines().all(|line| lines.any(|other| other == line))
        })
    };
    if read.after.is_some()
        && let Some(gone) = before.iter().find(|old| !has(old))
    {
        let shown = body::quoted(gone.lines().nth(1).unwrap_or(gone).trim());
        let what = format!("a documentation example, which is run as a test, is changed or removed: {shown}");
        of_file(read.path, found).say(WeakeningKind::ExpectationChanged, 1, what);
    }
}

/// Whether a change of one file touches tests: a file that only tests or decides how tests run, test code within a Rust
/// or Python file, or the part of a manifest that is about tests. What cannot be read is taken to touch them.
///
/// A file is judged on its own. That `mod checks;` stands under `#[cfg(test)]` in another file cannot be seen here, nor
/// that a Markdown file is included as documentation and so tested.
pub fn touches_tests(path: &RepoPath, change: &FileChange) -> bool {
    let path = path.as_str();
    if is_test_path(path) || (change.before.is_none() && shadows_test_tool(path)) {
        return true;
    }
    let [before, after] = [&change.before, &change.after].map(|blob| match blob {
        Some(blob) => about_tests(path, blob),
        None => Some(Vec::new()),
    });
    before.is_none() || before != after
}

/// What a file says about tests. `None` if it cannot be read.
fn about_tests(path: &str, blob: &Blob) -> Option<Vec<String>> {
    if let Some(read) = manifest::reader(path) {
        return read(blob.text()?);
    }
    let Some(language @ (Language::Rust | Language::Python)) = Language::of(path) else {
        return Some(Vec::new());
    };
    let file = Parsed::parse(language, blob.text()?)?;
    let tests = parts::test_ranges(&file)
        .into_iter()
        .map(|range| file.text[range].to_string());
    Some(tests.chain(parts::examples(&file)).collect())
}

/// The lines, from 1, where a text is not well-formed, at most a hundred. `None` if its language is not known, or it
/// cannot be parsed within bounds.
pub fn syntax_errors(path: &str, text: &str) -> Option<Vec<usize>> {
    let file = Parsed::parse(Language::of(path)?, text)?;
    let mut lines = file.error_lines();
    lines.dedup();
    lines.truncate(100);
    Some(lines)
}
