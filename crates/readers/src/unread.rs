//! Parts of reports that cannot be read: they are noted, never dropped, and what the text says about the same run fills
//! the gap.

use std::collections::HashSet;

use serde::de::DeserializeOwned;

use crate::javascript::BETWEEN;
use crate::{Failure, MAX_FAILURES, MAX_NAME, MAX_NAMES, ParsedRun, Report, text};

/// How many notes are kept. One is enough to keep a run from being green.
const MAX_UNREAD: usize = 20;

/// The JSON documents of all reports with the path of each. Those that are not of this form are noted.
pub fn documents<T: DeserializeOwned>(reports: &[Report], parsed: &mut ParsedRun) -> Vec<(String, T)> {
    let mut documents = Vec::new();
    for report in reports {
        match serde_json::from_slice(&report.bytes) {
            Ok(document) => documents.push((report.path.clone(), document)),
            Err(error) => parsed.miss(&report.path, &error.to_string()),
        }
    }
    documents
}

impl ParsedRun {
    /// Notes a part of a report that cannot be read. It keeps the run from being green.
    pub fn miss(&mut self, report: &str, why: &str) {
        if self.unread.len() < MAX_UNREAD {
            let note = text::one_line(&format!("{report}: {why}"), MAX_NAME);
            if !self.unread.contains(&note) {
                self.unread.push(note);
            }
        }
    }

    /// Whether something is already noted about this report.
    pub fn misses(&self, report: &str) -> bool {
        let start = text::one_line(&format!("{report}: "), MAX_NAME);
        self.unread.iter().any(|note| note.starts_with(start.trim_end()))
    }

    /// Adds what another reading of the same run knows in addition, usually of the text: tests that no report names,
    /// and higher counts.
    pub fn complete(&mut self, other: Self) {
        let known = KnownNames::of(self);
        let is_new = |failure: &Failure| !known.has(&failure.name);
        let are_new = |names: Vec<String>| names.into_iter().filter(|name| !known.has(name)).collect::<Vec<_>>();
        let failures: Vec<Failure> = other.failures.into_iter().filter(is_new).collect();
        let (passed, skipped) = (are_new(other.passed_names), are_new(other.skipped_names));
        let room = |listed: usize, total: u32, most: usize| {
            // A text may call a test by another name, so its totals limit how many are missing. Failures of no test are
            // listed without being counted.
            let is_limited = other.has_totals && listed > 0;
            let total = if is_limited { total as usize } else { most };
            total.min(most).saturating_sub(listed)
        };
        let failed = self.failed.max(other.failed);
        let missing = room(self.failures.len(), failed, MAX_FAILURES);
        self.failures.extend(failures.into_iter().take(missing));
        for (names, more, total) in [
            (&mut self.passed_names, passed, self.passed.max(other.passed)),
            (&mut self.skipped_names, skipped, self.skipped.max(other.skipped)),
        ] {
            let missing = room(names.len(), total, MAX_NAMES);
            names.extend(more.into_iter().take(missing));
        }
        let most = |counts: [u32; 2], listed: usize| {
            let listed = u32::try_from(listed).unwrap_or(u32::MAX);
            let listed = if other.has_totals { 0 } else { listed };
            counts.into_iter().fold(listed, u32::max)
        };
        self.failed = most([self.failed, other.failed], self.failures.len());
        self.passed = most([self.passed, other.passed], self.passed_names.len());
        self.skipped = most([self.skipped, other.skipped], self.skipped_names.len());
        self.has_totals |= other.has_totals;
        self.expected_failures = self.expected_failures.max(other.expected_failures);
        for Failure {
            name,
            location,
            message,
            ..
        } in other.diagnostics
        {
            if !self.diagnostics.iter().any(|known| known.name == name) {
                self.diagnose(&name, location, &message);
            }
        }
        if !other.summary_counts.is_empty() {
            self.summary_counts = other.summary_counts;
        }
        self.anomaly = self.anomaly.or(other.anomaly);
        self.under_way.extend(other.under_way);
        self.under_way.truncate(MAX_FAILURES);
        other.unread.into_iter().for_each(|note| {
            if self.unread.len() < MAX_UNREAD && !self.unread.contains(&note) {
                self.unread.push(note);
            }
        });
    }
}

/// The names that a run already has. A text often lacks the file or the suites before a name.
struct KnownNames {
    ends: HashSet<String>,
}

impl KnownNames {
    fn of(parsed: &ParsedRun) -> Self {
        let failures = parsed.failures.iter().map(|failure| &failure.name);
        let names = failures.chain(&parsed.passed_names).chain(&parsed.skipped_names);
        let mut ends = HashSet::new();
        for name in names {
            // Deep names are cut here; of their ends the longest are kept.
            let starts = name.match_indices(BETWEEN).take(8).map(|(at, mark)| at + mark.len());
            // .NET prints some methods without their class.
            let arguments = name.find('(').unwrap_or(name.len());
            let method = name[..arguments].rfind('.').map(|at| at + 1);
            let starts = [0].into_iter().chain(starts).chain(method);
            ends.extend(starts.map(|start| name[start..].to_string()));
        }
        Self { ends }
    }

    fn has(&self, name: &str) -> bool {
        self.ends.contains(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_adds_what_no_report_says() {
        let mut report = ParsedRun::default();
        report.pass("a.js > shop > adds");
        report.fail("a.js > shop > halves", None, "whole message");
        report.miss(".report.json", "a test has no status");
        let mut text = ParsedRun::default();
        for name in ["shop > adds", "lost"] {
            text.pass(name);
        }
        for name in ["shop > halves", "gone"] {
            text.fail(name, None, "short");
        }
        text.reconcile_totals(7, 2, 1);
        report.complete(text);
        assert_eq!((report.passed, report.failed, report.skipped), (7, 2, 1));
        assert_eq!(report.passed_names, ["a.js > shop > adds", "lost"]);
        let failures = report
            .failures
            .iter()
            .map(|failure| (failure.name.as_str(), failure.message.as_str()));
        let expected = [("a.js > shop > halves", "whole message"), ("gone", "short")];
        assert_eq!(failures.collect::<Vec<_>>(), expected);
        assert!(report.misses(".report.json") && !report.misses(".report"));
    }

    #[test]
    fn counts_never_fall_below_what_is_listed() {
        let (mut report, mut text) = (ParsedRun::default(), ParsedRun::default());
        report.fail("a", None, "");
        text.fail("b", None, "");
        report.complete(text);
        assert_eq!((report.failed, report.failures.len()), (2, 2));
    }

    #[test]
    fn notes_are_bounded() {
        let mut parsed = ParsedRun::default();
        for at in 0..1_000 {
            parsed.miss(&"r".repeat(5_000), &format!("\u{1b}[31m{at}"));
            parsed.miss(&at.to_string(), "\u{1b}[31m");
        }
        assert_eq!(parsed.unread.len(), MAX_UNREAD);
        assert!(
            parsed
                .unread
                .iter()
                .all(|note| note.len() <= MAX_NAME && !note.contains('\u{1b}'))
        );
    }
}
