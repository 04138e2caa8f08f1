//! Texts about a search without a model: how a proposal was found, and which patches pass the tests without being
//! proposed.

use super::super::clock::millis_in_words;
use super::super::count::count;
use super::super::redact;
use super::super::run::{End, Run};
use super::super::search::{FoundBy, Rung, Search, Unverified};
use super::blocks::{folded, sentence};

/// How many patches are listed, and how many bytes of each are shown.
const MAX_LISTED: usize = 5;
const MAX_PATCH: usize = 4_000;
/// How many risks of one patch are listed.
const MAX_RISKS: usize = 6;

/// How a proposal was found without a model, as part of a sentence; `change` names the change under test.
pub fn found_by(found_by: &FoundBy, change: &str) -> String {
    let FoundBy { rung, tried, wall_ms } = found_by;
    let took = format!(
        "{} tried in {}",
        count(u64::from(*tried), "edit"),
        millis_in_words(*wall_ms)
    );
    match rung {
        Rung::Tool => format!("a tool's autofix, in {}", millis_in_words(*wall_ms)),
        Rung::Memory => "a fix that was accepted before for the same failure".into(),
        Rung::Revert => format!("reverting part of {change}; {took}"),
        Rung::Search => format!("a small edit; {took}"),
    }
}

/// Patches that make failing tests pass and are not suggested. `None` if there are none, or if something is suggested.
pub(super) fn unverified(run: &Run) -> Option<String> {
    let search: &Search = match &run.end {
        Some(End::NotFound { search, .. }) => search,
        Some(End::GaveUp { .. } | End::LimitReached { .. }) if run.proposal.is_none() => &run.search,
        _ => return None,
    };
    let listed: Vec<String> = search
        .unverified
        .iter()
        .take(MAX_LISTED)
        .map(unverified_patch)
        .collect();
    let title = match listed.len() {
        0 => return None,
        1 => format!("1 edit {}, not verified", search.unverified[0].result()),
        count => format!("{count} edits pass the tests, not verified"),
    };
    let intro = "Many edits can make tests pass, and most of them are wrong. These are findings for someone who knows \
                 the code, not suggestions:";
    Some(folded(&title, &format!("{intro}\n\n{}", listed.join("\n\n"))))
}

/// One such patch: what it does, why it is not suggested, and its diff, which is data.
fn unverified_patch(one: &Unverified) -> String {
    let risks = one.risks.iter().take(MAX_RISKS);
    let risks: String = risks.map(|risk| format!("\n- {}", sentence(risk))).collect();
    let diff = redact::fenced("diff", &one.patch.unified(), MAX_PATCH);
    let result = match one.still_failing {
        0 => "Passes the tests".to_string(),
        _ => format!("Not the whole fix: it {}", one.result()),
    };
    format!(
        "**{}, not verified:** {}\n{risks}\n\n{diff}",
        result,
        sentence(&one.explanation)
    )
}

#[cfg(test)]
mod tests {
    use super::super::super::patch::{Blob, FileChange, Patch};
    use super::*;

    #[test]
    fn what_is_not_verified_is_data() {
        let hostile = "a\n```\n```suggestion\nrm -rf /\n```\n@everyone ghs_16C7e42F292c6912E7710c838347Ae178B4a\n";
        let change = FileChange {
            before: Some(Blob::regular("a\n")),
            after: Some(Blob::regular(hostile)),
        };
        let shown = unverified_patch(&Unverified {
            patch: Patch::new([("a.py".parse().unwrap(), change)]),
            explanation: "`a` became `b` <img src=x> @everyone".into(),
            still_failing: 0,
            risks: vec!["it only removes @everyone".into(); 40],
        });
        assert!(!shown.contains("ghs_") && !shown.contains("<img"), "{shown}");
        assert!(
            shown.contains("````diff") && shown.trim_end().ends_with("````"),
            "{shown}"
        );
        let (outside, _) = shown.split_once("````").unwrap();
        assert!(
            !outside.contains(" @everyone") && outside.lines().count() < 12,
            "{shown}"
        );
    }

    #[test]
    fn how_it_was_found_is_said() {
        let of = |rung| {
            let how = FoundBy {
                rung,
                tried: 12,
                wall_ms: 3_210,
            };
            found_by(&how, "your change")
        };
        assert_eq!(of(Rung::Search), "a small edit; 12 edits tried in 3.2 s");
        assert_eq!(
            of(Rung::Revert),
            "reverting part of your change; 12 edits tried in 3.2 s"
        );
        assert_eq!(of(Rung::Tool), "a tool's autofix, in 3.2 s");
    }
}
