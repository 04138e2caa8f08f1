//! The question before anything is written, and its answer up front. A change of a test is asked about separately:
//! the approval of a fix does not cover it.

use tokio_util::sync::CancellationToken;

use super::super::answer::{Question, TypedAnswer};
use super::super::{Exit, terminal};
use crate::domain::proposal::Claim;

/// What is approved in advance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in super::super) struct UpFront {
    /// What the model asks to execute, and writing a result that changes no test.
    pub(in super::super) all_but_tests: bool,
    /// Writing a change of a test that may be wrong.
    pub(in super::super) tests: bool,
}

/// What the question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// Writing the result.
    Result(Claim),
    /// Continuing with the code, with these tests of a specification.
    TestsFirst,
}

impl What {
    fn text(self) -> &'static str {
        match self {
            Self::Result(Claim::Fix) => "Write this to the working tree?",
            Self::Result(Claim::TestMayBeWrong) => "Change the test, and leave the code as it is?",
            Self::TestsFirst => "Write the code for these tests?",
        }
    }

    fn is_approved(self, up_front: UpFront) -> bool {
        match self {
            Self::Result(Claim::TestMayBeWrong) => up_front.tests,
            Self::Result(Claim::Fix) | Self::TestsFirst => up_front.all_but_tests,
        }
    }

    /// What a program does with a proposal.
    fn only_proposed(self) -> &'static str {
        match self {
            Self::Result(Claim::TestMayBeWrong) => {
                "nothing was written; `proposal.patch` changes a test, not the code: show it to a person, who decides \
                 whether the test is wrong"
            }
            Self::Result(Claim::Fix) | Self::TestsFirst => {
                "nothing was written; `proposal.patch` is a unified diff that `git apply` accepts"
            }
        }
    }

    /// Why nothing is written if nobody can be asked.
    fn unasked(self, why: &str, up_front: UpFront) -> String {
        let changes_a_test = self == Self::Result(Claim::TestMayBeWrong);
        match (changes_a_test, up_front.all_but_tests) {
            (true, true) => format!(
                "this changes a test, which `--yes` does not approve, and {why}, so nothing was written; `--yes-tests` \
                 approves changes to tests up front"
            ),
            (true, false) => format!(
                "this changes a test, and {why}, so nothing was written; `--yes-tests` approves changes to tests up front"
            ),
            (false, _) => format!("{why}, so nothing was written; `--yes` approves up front"),
        }
    }
}

/// Whether anybody is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asks {
    /// If there is a terminal.
    OnTerminal,
    /// Not with `--json`, because the result is for a script.
    NotForScripts,
    /// A program that cannot approve anything wants the proposal.
    OnlyProposes,
}

impl Asks {
    #[expect(clippy::fn_params_excessive_bools, reason = "one is a flag of the command line")]
    pub(super) fn of(only_proposes: bool, is_json: bool) -> Self {
        match (only_proposes, is_json) {
            (true, _) => Self::OnlyProposes,
            (false, true) => Self::NotForScripts,
            (false, false) => Self::OnTerminal,
        }
    }
}

/// How a person is asked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manner {
    pub(super) up_front: UpFront,
    pub(super) asks: Asks,
    /// Whether somebody reads reasons; only a model does.
    pub(super) has_model: bool,
    pub(super) is_debug: bool,
}

/// Asks, unless the answer was given up front. The end of input counts as a no without a reason.
///
/// # Errors
/// When nobody can be asked, or the work is stopped meanwhile.
pub(super) async fn ask(manner: Manner, what: What, cancel: &CancellationToken) -> Result<TypedAnswer, Exit> {
    if what.is_approved(manner.up_front) {
        return Ok(TypedAnswer::Yes);
    }
    let why = match manner.asks {
        Asks::OnlyProposes => return Err(Exit::Refused(what.only_proposed().into())),
        Asks::NotForScripts => Some("`--json` never asks"),
        Asks::OnTerminal if terminal::somebody_is_there() => None,
        Asks::OnTerminal => Some("there is no terminal to approve it on"),
    };
    if let Some(why) = why {
        return Err(Exit::Refused(what.unasked(why, manner.up_front)));
    }
    let is_fix = matches!(what, What::Result(_)) && manner.is_debug;
    let question = Question {
        text: what.text(),
        word: (what == What::Result(Claim::TestMayBeWrong)).then_some("test"),
        wants_reasons: manner.has_model,
        another: is_fix.then_some("fix"),
    };
    Ok(question.ask(cancel).await?.unwrap_or(TypedAnswer::No))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_yes_approves_no_change_of_a_test() {
        let (fix, tests) = (What::Result(Claim::Fix), What::Result(Claim::TestMayBeWrong));
        let of = |all_but_tests, tests| UpFront { all_but_tests, tests };
        assert!(fix.is_approved(of(true, false)) && !fix.is_approved(of(false, true)));
        assert!(!tests.is_approved(of(true, false)) && tests.is_approved(of(false, true)));
        assert!(
            tests
                .unasked("so", of(true, false))
                .contains("`--yes` does not approve")
        );
        assert!(tests.only_proposed().contains("show it to a person") && !fix.only_proposed().contains("person"));
        assert!(!fix.unasked("so", of(false, false)).contains("--yes-tests"));
    }
}
