//! The totals of node-tap, in one line at the end: `# { total: 3, pass: 1, fail: 1, skip: 1 }`. They also count results
//! for which no line is printed.

use super::parsed_run::ParsedRun;

/// Takes the totals, if there are any. Several runs in a row print several of them.
pub(crate) fn take_totals(text: &str, parsed: &mut ParsedRun) -> bool {
    const WORDS: [&str; 4] = ["pass", "fail", "skip", "todo"];
    let mut sums = [0u32; WORDS.len()];
    let mut seen = false;
    for line in text.lines() {
        let all = line
            .strip_prefix("# { total: ")
            .and_then(|rest| rest.strip_suffix(" }"));
        // The first is how many there are, without its word.
        for part in all.into_iter().flat_map(|all| all.split(", ").skip(1)) {
            let (word, number) = part.split_once(": ").unwrap_or((part, ""));
            let (Some(at), Ok(number)) = (WORDS.iter().position(|one| *one == word), number.parse::<u32>()) else {
                continue;
            };
            seen = true;
            sums[at] = sums[at].saturating_add(number);
        }
    }
    if seen {
        for (word, count) in WORDS.into_iter().zip(sums) {
            if count > 0 || word == "pass" {
                parsed.tell(word, count);
            }
        }
        let [passed, failed, skipped, todo] = sums;
        let unsuccessful = todo.saturating_sub(parsed.expected_failures);
        // A test may print such a line, too, which hides no failure.
        parsed.reconcile_totals(passed, failed.max(parsed.failed), skipped.saturating_add(unsuccessful));
    }
    seen
}

#[cfg(test)]
mod tests {
    use crate::{Printed, tap};

    #[test]
    fn the_totals_count() {
        let parsed = |last: &str| {
            let text = format!("TAP version 14\nok 1 - a\nok 2 - b # SKIP\n1..2\n{last}\n");
            let reports = &[];
            let parsed = tap::parse(&Printed { text: &text, reports });
            (parsed.passed, parsed.failed, parsed.skipped)
        };
        assert_eq!(parsed("# { total: 9, pass: 7, skip: 2 }"), (7, 0, 2));
        assert_eq!(parsed("# { total: 3, todo: 1, fail: 1, pass: 1 }"), (1, 1, 1));
        let forged = parsed("not ok 3 - c\n# { total: 3, pass: 3, fail: 0 }");
        assert_eq!(forged, (3, 1, 0));
        for other in [
            "",
            "# { total: 9 }",
            "# { total: 9, pass: 7",
            "    # { total: 1, pass: 7 }",
            "# { total: 9, pass: 99999999999 }",
        ] {
            assert_eq!(parsed(other), (1, 0, 1), "{other}");
        }
    }
}
