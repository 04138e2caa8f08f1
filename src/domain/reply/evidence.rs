//! The evidence of a proposal: one line, with the details folded away.

use super::super::clock::millis_in_words;
use super::super::proposal::{self, Evidence, LeftOut, OwnTests, Worse};
use super::super::test_run::{Outcome, TestRun};
use super::super::triage::Triage;
use super::super::weakening::{self, Weakening};
use super::super::{budget, redact};
use super::again::again;
use super::blocks::folded;

/// How many test names a list shows at most.
const SHOWN: usize = 10;

/// The results before and after in one line, with the details folded away.
pub(super) fn evidence(evidence: &Evidence) -> String {
    let worse = proposal::worse(&evidence.before, &evidence.after);
    let red: Vec<&str> = evidence.before.failing_names().collect();
    let installed = |install: &String| format!("Installed first: {}", redact::inline(install, 200));
    let parts = [
        Some(table(evidence)),
        super::merged::proved(evidence),
        names("Red before, green after:", &red),
        confirmed(evidence.confirmed),
        Some(compared(&worse, &evidence.after)),
        evidence.triage.as_ref().and_then(excused),
        evidence.left_out.and_then(left_out),
        evidence.own_tests.map(own_tests),
        evidence.install.as_ref().map(installed),
        evidence
            .triage
            .as_ref()
            .and_then(super::setup::notes)
            .map(|notes| format!("Notes on the installation:\n\n{notes}")),
        evidence
            .spent
            .as_ref()
            .map(|spent| format!("The model used {}.", budget::spent(spent))),
        Some(format!("Tested with {}", redact::inline(&evidence.after.command, 200))),
        Some(again(evidence)),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    folded(&format!("Evidence: {}", line(evidence, &worse)), &parts.join("\n\n"))
}

/// `1 red in 2 of 2 runs → 9 of 9 green, no new failures`.
fn line(evidence: &Evidence, worse: &Worse) -> String {
    let before = &evidence.before;
    let red = match (before.outcome, &evidence.triage) {
        (_, None) => before.summary(),
        (Outcome::Failed, Some(triage)) => format!("{} red in {}", before.failed, of_runs(triage)),
        (_, Some(triage)) => format!("{} in {}", before.summary(), of_runs(triage)),
    };
    let after = &evidence.after;
    let ran = after.passed.saturating_add(after.failed);
    let missing = match worse.missing.len() {
        0 => String::new(),
        count => format!(", {count} missing"),
    };
    let new = match worse.new_failures.len() {
        0 => "no new failures".to_string(),
        1 => "1 new failure".into(),
        count => format!("{count} new failures"),
    };
    format!("{red} → {} of {ran} green, {new}{missing}", after.passed)
}

/// `2 of 2 runs`.
fn of_runs(triage: &Triage) -> String {
    let runs = if triage.runs_at_head == 1 { "run" } else { "runs" };
    format!("{} of {} {runs}", triage.red_at_head, triage.runs_at_head)
}

fn table(evidence: &Evidence) -> String {
    let row = |when: &str, run: &TestRun| {
        let skipped = match run.skipped {
            0 => String::new(),
            count => format!(", {count} skipped"),
        };
        format!(
            "| {when} | {}{skipped} | {} |",
            run.summary(),
            millis_in_words(run.duration_ms)
        )
    };
    let rows = [row("before", &evidence.before), row("after", &evidence.after)].join("\n");
    let red = evidence.triage.as_ref().map_or_else(String::new, |triage| {
        format!("\n\nRed in {} on {}.", of_runs(triage), super::merged::tested(evidence))
    });
    format!("| | result | time |\n|---|---|---|\n{rows}{red}")
}

/// States explicitly what readers would otherwise have to infer from what is missing.
fn compared(worse: &Worse, after: &TestRun) -> String {
    let all = if (after.passed as usize) > after.passed_names.len() {
        " There are too many tests to keep every name, so their number was compared as well."
    } else {
        ""
    };
    let lists = [
        ("New failures:", &worse.new_failures),
        ("Passed before, missing after:", &worse.missing),
    ];
    let lists: Vec<String> = lists
        .iter()
        .filter_map(|(title, list)| names(title, &list.iter().map(String::as_str).collect::<Vec<_>>()))
        .collect();
    if lists.is_empty() {
        format!("No new failures: every test that passed before passes after.{all}")
    } else {
        lists.join("\n\n")
    }
}

/// How often the result was confirmed.
fn confirmed(runs: u32) -> Option<String> {
    let again = match runs {
        0 => return None,
        1 => "once more".into(),
        more => format!("{more} more times"),
    };
    Some(format!("They were run {again} with the change, and passed every time."))
}

/// The failing tests that this does not fix, and why.
fn excused(triage: &Triage) -> Option<String> {
    let all = triage.excused().count();
    let lines = verdicts(triage.lines(triage.excused()), all)?;
    Some(format!(
        "Set aside, because this pull request does not make them fail. They still ran, and may still fail:\n\n{lines}"
    ))
}

/// Tests with their verdicts and numbers, one line each.
pub(super) fn verdicts(lines: Vec<(&str, String)>, all: usize) -> Option<String> {
    let shown = lines.len();
    let mut lines: Vec<String> = lines
        .into_iter()
        .map(|(name, numbers)| {
            let name = if name.is_empty() { "the test command" } else { name };
            format!("- {}: {numbers}", redact::inline(name, 120))
        })
        .collect();
    if all > shown {
        lines.push(format!("- … and {} more", all - shown));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// `3 of 5 hunks were not needed and are left out`, as a sentence. `None` if everything was needed.
pub fn left_out(left_out: LeftOut) -> Option<String> {
    let LeftOut { hunks, of, lines } = left_out;
    let (was, is) = if hunks + lines == 1 {
        ("was", "is")
    } else {
        ("were", "are")
    };
    let count = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let what = match (hunks, lines) {
        (0, 0) => return None,
        (0, lines) => count(lines, "changed line"),
        (hunks, 0) => format!("{hunks} of {}", count(of, "hunk")),
        (hunks, lines) => format!("{hunks} of {} and {}", count(of, "hunk"), count(lines, "changed line")),
    };
    Some(format!(
        "{what} {was} not needed and {is} left out: the tests pass without."
    ))
}

/// What the guard found and a person allowed, as a sentence. `None` if there is nothing of that.
pub fn overruled(allowed: &[Weakening]) -> Option<String> {
    (!allowed.is_empty()).then(|| format!("Allowed by name: {}.", weakening::listed(allowed)))
}

/// What the head's own tests say about the new code.
fn own_tests(own: OwnTests) -> String {
    let OwnTests { passed, failed } = own;
    format!("The patch also changes tests. With the original tests, the new code has {passed} passed, {failed} failed.")
}

pub(super) fn names(title: &str, names: &[&str]) -> Option<String> {
    let mut lines: Vec<_> = names
        .iter()
        .take(SHOWN)
        .map(|name| format!("- {}", redact::inline(name, 120)))
        .collect();
    if names.len() > SHOWN {
        lines.push(format!("- … and {} more", names.len() - SHOWN));
    }
    (!lines.is_empty()).then(|| format!("{title}\n\n{}", lines.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::super::super::test_run::Failure;
    use super::super::super::triage::Verdict;
    use super::*;

    fn proof() -> Evidence {
        let failure = Failure {
            name: "tests::change".into(),
            location: None,
            message: "boom".into(),
            ..Failure::default()
        };
        let before = TestRun {
            passed: 1,
            failed: 1,
            failures: vec![failure],
            passed_names: vec!["a".into()],
            duration_ms: 1_250,
            ..TestRun::without_result("cargo test", Outcome::Failed, "")
        };
        let after = TestRun {
            passed: 2,
            skipped: 1,
            passed_names: vec!["a".into(), "tests::change".into()],
            duration_ms: 125_000,
            ..TestRun::without_result("cargo test", Outcome::Passed, "")
        };
        Evidence {
            before,
            after,
            digest: "d1".into(),
            head: Some("a".repeat(40).parse().unwrap()),
            triage: Some(Triage {
                verdict: Verdict::Deterministic,
                red_at_head: 2,
                runs_at_head: 2,
                tests: Vec::new(),
                base: None,
                weakened: Vec::new(),
                merged: None,
                setup: None,
                repeats_ms: 0,
                base_ms: 0,
            }),
            install: Some("make deps".into()),
            left_out: Some(LeftOut {
                hunks: 3,
                of: 5,
                lines: 0,
            }),
            own_tests: None,
            spent: None,
            confirmed: 0,
            merged: None,
        }
    }

    #[test]
    fn a_name_of_a_test_never_gets_out_of_its_quotes() {
        let with = |names: &[String]| {
            let mut proof = proof();
            proof.before.excused = names.to_vec();
            again(&proof)
        };
        let shown = with(&["it's `red`".into(), "b[$(id)]".into()]);
        assert!(
            shown.contains(r"--excuse 'it'\''s `red`' --excuse 'b[$(id)]'"),
            "{shown}"
        );
        // When cut or redacted, the first name loses its closing quote, and the others lose their middle.
        let cut = (0..60)
            .map(|at| format!("{}{at}'; id #", "a".repeat(100)))
            .collect::<Vec<_>>();
        for names in [
            vec!["authorization:aaaaaaaa".into(), "; id #".into()],
            cut,
            vec!["a\n```\n/greenlight approve".into()],
            vec!["a\u{202e}b".into()],
        ] {
            let shown = with(&names);
            assert!(shown.starts_with("Digest `d1`. Recompute it"), "{shown}");
            assert!(!shown.contains("```") && !shown.contains("id #"), "{shown}");
        }
    }

    #[test]
    fn runs_that_confirm_it_are_told() {
        let shown = evidence(&Evidence {
            confirmed: 4,
            ..proof()
        });
        assert!(shown.contains("They were run 4 more times with the change"), "{shown}");
    }

    #[test]
    fn the_proof_is_one_line_and_the_rest_is_folded_away() {
        insta::assert_snapshot!(evidence(&proof()), @r"
        <details><summary>Evidence: 1 red in 2 of 2 runs → 2 of 2 green, no new failures</summary>

        | | result | time |
        |---|---|---|
        | before | 1 failed, 1 passed | 1.3 s |
        | after | 2 passed, 1 skipped | 2 min 5 s |

        Red in 2 of 2 runs on the head.

        Red before, green after:

        - `tests::change`

        No new failures: every test that passed before passes after.

        3 of 5 hunks were not needed and are left out: the tests pass without.

        Installed first: `make deps`

        Tested with `cargo test`

        Check it yourself, in a checkout with the suggestions committed or applied:

        ```sh
        greenlight verify --head aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa --digest d1
        ```

        <sub>The digest covers head, patch, test command and both results.</sub>

        </details>
        ");
    }

    #[test]
    fn evidence_of_an_old_journal_is_still_shown() {
        let old = Evidence {
            head: None,
            triage: None,
            install: None,
            left_out: None,
            ..proof()
        };
        let shown = evidence(&old);
        let line = "Evidence: 1 failed, 1 passed → 2 of 2 green, no new failures</summary>";
        assert!(shown.contains(line), "{shown}");
        assert!(
            shown.contains("Digest `d1`") && !shown.contains("greenlight verify"),
            "{shown}"
        );
    }

    #[test]
    fn a_test_that_is_gone_is_named() {
        let mut proof = proof();
        proof.after.passed_names = vec!["tests::change".into(), "new".into()];
        let shown = evidence(&proof);
        assert!(shown.contains("no new failures, 1 missing</summary>"), "{shown}");
        assert!(shown.contains("Passed before, missing after:\n\n- `a`"), "{shown}");
    }

    #[test]
    fn what_was_not_needed_is_counted() {
        let said = |hunks, of, lines| left_out(LeftOut { hunks, of, lines });
        assert_eq!(said(0, 4, 0), None);
        assert!(
            said(1, 2, 0)
                .unwrap()
                .starts_with("1 of 2 hunks was not needed and is left out")
        );
        assert!(said(0, 1, 2).unwrap().starts_with("2 changed lines were not needed"));
        assert!(
            said(1, 2, 1)
                .unwrap()
                .starts_with("1 of 2 hunks and 1 changed line were not needed")
        );
    }
}
