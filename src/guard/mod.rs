//! Detects whether a patch weakens the tests, or makes the code under test recognise them. It only parses: it runs
//! nothing, and other modules decide what to do about a finding.
//!
//! Added and stricter tests are not findings. Any other change of an existing test is one, because a repair must not
//! make it.

mod assertion;
mod body;
mod collected;
mod compare;
mod docs;
mod examples;
mod item_report;
mod items;
mod leftovers;
mod manifest;
mod new_tests;
mod pairs;
mod parts;
mod restore;
mod silent;
mod special;
mod statements;

use std::collections::{BTreeMap, BTreeSet};

use greenlight_syntax::{Language, Parsed};

use self::collected::is_collected;
use self::compare::{Elsewhere, Side};
use self::item_report::ItemReport;
use self::items::Role;
pub use self::leftovers::{functions, leftovers};
pub use self::new_tests::{NewTest, new_tests, writes_more_than_tests};
pub use self::restore::{with_own_tests, without_tests};
pub use self::silent::silent_lines;
use crate::domain::id::RepoPath;
use crate::domain::patch::{Blob, FileChange, Patch};
use crate::domain::test_path::{decides_how_tests_run, is_ci_path, is_test_path, shadows_test_tool};
use crate::domain::weakening::{Weakening, WeakeningKind};

/// Items nested more deeply than this are ignored.
const MAX_DEPTH: usize = 60;
/// The maximum number of findings.
const MAX_FOUND: usize = 50;
/// Larger patches cannot be judged.
const MAX_FILES: usize = 300;

/// Values that failing tests pass in or expect. Code that compares with them may be written for the tests.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    literals: BTreeSet<String>,
    /// What a file's code recognises on the merge base: to restore it is no special case.
    on_base: BTreeMap<RepoPath, BTreeSet<String>>,
    /// Whether the examples in the documentation of Rust and of Python are only read and never run.
    unrun_examples: Vec<Language>,
}

impl Inputs {
    /// Adds the values in the named tests of a file, or in all of its tests if there are no names.
    pub fn note(&mut self, path: &RepoPath, text: &str, names: &[&str]) {
        if let Some(file) = Language::of(path.as_str()).and_then(|language| Parsed::parse(language, text)) {
            special::note(&file, is_test_path(path.as_str()), names, self);
        }
    }

    /// Adds the code of a file as it is on the merge base.
    pub fn note_base(&mut self, path: &RepoPath, text: &str) {
        if let Some(file) = Language::of(path.as_str()).and_then(|language| Parsed::parse(language, text)) {
            self.on_base.insert(path.clone(), special::branches(&file).collect());
        }
    }

    /// Notes the names of all tests that ran: they tell whether examples in documentation are tests.
    pub fn note_ran(&mut self, names: &[&str]) {
        for language in [Language::Rust, Language::Python] {
            if !names.iter().any(|name| examples::is_example(language, name)) {
                self.unrun_examples.push(language);
            }
        }
    }

    fn runs_examples(&self, path: &RepoPath) -> bool {
        Language::of(path.as_str()).is_some_and(|language| !self.unrun_examples.contains(&language))
    }
}

/// Every place where a patch weakens the tests, in the order of its files. Empty if the patch leaves the tests alone
/// or only adds to them.
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
        if inputs.runs_examples(read.path) {
            examples::compare(read.path, read.before.as_ref(), read.after.as_ref(), &mut found);
        }
        if let (false, Some(after)) = (read.is_tests, &read.after) {
            special::compare(read.path, (read.before.as_ref(), after), &inputs, &mut found);
        }
    }
    found
}

/// A file whose both sides were parsed.
struct Read<'p> {
    path: &'p RepoPath,
    language: Language,
    /// Whether the whole file consists of tests.
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

/// Reports what the name and kind of a file show. Parses the file if it must be compared further.
fn by_path<'p>(path: &'p RepoPath, change: &'p FileChange, found: &mut Vec<Weakening>) -> Option<Read<'p>> {
    let name = path.as_str();
    let mut report = of_file(path, found);
    let is_new = change.before.is_none();
    let is_tests = is_test_path(name);
    if is_ci_path(name) {
        report.say(WeakeningKind::Ci, 1, "it decides what CI does");
        return None;
    }
    if name.contains("__mocks__/") {
        report.say(WeakeningKind::Mocked, 1, "it replaces a module in tests");
        return None;
    }
    if decides_how_tests_run(name) || (is_new && shadows_test_tool(name)) {
        report.say(
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
            (_, None) => report.say(WeakeningKind::CannotBeJudged, 1, "it cannot be read"),
            (None, _) => report.say(WeakeningKind::CannotBeJudged, 1, "its original content cannot be read"),
            (before, after) if before != after => {
                report.say(WeakeningKind::Configuration, 1, "it changes how tests are built or run");
            }
            _ => {}
        }
        return None;
    }
    let Some(language) = Language::of(name) else {
        if is_tests {
            unknown(name, change, &mut report);
        }
        return None;
    };
    let sides = [&change.before, &change.after].map(|blob| match blob {
        Some(blob) => blob.text().and_then(|text| Parsed::parse(language, text)).map(Some),
        None => Some(None),
    });
    let [Some(before), Some(after)] = sides else {
        report.say(WeakeningKind::CannotBeJudged, 1, "it cannot be parsed");
        return None;
    };
    let broken = |side: &Option<Parsed<'_>>| -> Vec<String> {
        side.iter().flat_map(Parsed::errors).map(str::to_string).collect()
    };
    let (was, is) = (broken(&before), broken(&after));
    // Grammars do not cover their languages completely. In code under test, a construct that could not be parsed
    // before does not matter.
    let is_worse = is.len() > was.len() || (is_tests && is.iter().any(|error| !was.contains(error)));
    if is_worse {
        report.say(WeakeningKind::CannotBeJudged, 1, "it has a syntax error");
    }
    Some(Read {
        path,
        language,
        is_tests,
        before,
        after,
    })
}

/// A file among tests whose language is not supported.
fn unknown(name: &str, change: &FileChange, report: &mut ItemReport<'_>) {
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
        report.say(
            WeakeningKind::CannotBeJudged,
            1,
            "tests in this language cannot be compared",
        );
    } else if change.before.is_some() {
        report.say(
            WeakeningKind::DataChanged,
            1,
            "a file that tests read or compare with is changed",
        );
    }
}

/// Whether a change of one file affects tests: a file that contains only tests or decides how tests run, test code
/// within a Rust or Python file, or the settings about tests in a manifest. A file that cannot be read counts as
/// affecting them.
///
/// Each file is judged alone. This cannot see that another file declares it as `mod checks;` under `#[cfg(test)]`, or
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

/// The parts of a file that concern tests. `None` if it cannot be read.
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
    let examples = parts::examples(&file).into_iter().map(|example| example.text);
    Some(tests.chain(examples).collect())
}

/// The lines, from 1, with syntax errors, at most a hundred. `None` if the language is not supported, or the text
/// cannot be parsed within bounds.
pub fn syntax_errors(path: &str, text: &str) -> Option<Vec<usize>> {
    let file = Parsed::parse(Language::of(path)?, text)?;
    let mut lines = file.error_lines();
    lines.dedup();
    lines.truncate(100);
    Some(lines)
}
