//! Parses what a person types at a question: yes, no, or no with a reason. Anything else, including a possible typo,
//! is asked about again.

use tokio_util::sync::CancellationToken;

use super::{Exit, terminal};
use crate::domain::command::{self, Command, CommandError};

/// How often a question is repeated.
const MAX_ASKED: usize = 20;
/// How much of a word is quoted, in characters.
const MAX_SHOWN: usize = 40;

const YES: [&str; 6] = ["yes", "y", "ok", "okay", "approve", "approved"];
const NO: [&str; 4] = ["no", "n", "nope", "reject"];
const ANOTHER: [&str; 3] = ["another", "a", "other"];

/// A question, and what counts as an answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question<'a> {
    /// The question without the choices.
    pub(super) text: &'a str,
    /// The only word that means yes, if the usual ones do not.
    pub(super) word: Option<&'static str>,
    /// Whether somebody reads a reason. A reason is accepted in any case.
    pub(super) wants_reasons: bool,
    /// What can be looked for instead, such as `fix`.
    pub(super) another: Option<&'static str>,
}

/// The meaning of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TypedAnswer {
    Yes,
    /// Without a reason: nothing more happens.
    No,
    /// No, with a reason. It may be empty if another result is wanted.
    Because(String),
}

#[derive(Debug, PartialEq, Eq)]
enum Heard {
    Answer(TypedAnswer),
    /// The answer was not understood; the text says what would be.
    Again(String),
}

impl Question<'_> {
    /// The choices that follow the question.
    fn choices(&self) -> String {
        let yes = self
            .word
            .map_or_else(|| "[y]es".to_string(), |word| format!("type `{word}` for yes"));
        match (self.another.filter(|_| !self.wants_reasons), self.wants_reasons) {
            (Some(what), _) => format!("{yes}, [n]o, or [a]nother {what}:"),
            (None, true) => format!("{yes}, [n]o, or why not:"),
            (None, false) => format!("{yes}, or [n]o:"),
        }
    }

    /// Asks until there is an answer. `None` at the end of input, which is not an answer.
    ///
    /// # Errors
    /// When the work is stopped meanwhile, or nobody gives a valid answer.
    pub(super) async fn ask(&self, cancel: &CancellationToken) -> Result<Option<TypedAnswer>, Exit> {
        let question = format!("\n{} {}", self.text, self.choices());
        for _ in 0..MAX_ASKED {
            let typed = tokio::select! {
                typed = terminal::ask(&question) => typed,
                () = cancel.cancelled() => return Err(Exit::Stopped),
            };
            let Some(typed) = typed else { return Ok(None) };
            match self.parse(&typed) {
                Heard::Answer(answer) => return Ok(Some(answer)),
                Heard::Again(why) => terminal::tell(&why),
            }
        }
        Err(Exit::Refused(format!(
            "asked {MAX_ASKED} times without an answer; nothing was written"
        )))
    }

    fn parse(&self, typed: &str) -> Heard {
        let typed = typed.trim();
        if typed.starts_with("/greenlight") {
            return self.parse_command(typed);
        }
        let word = bare(typed);
        match typed.split_whitespace().count() {
            0 => Heard::Again(self.hint()),
            1 => self.word(&word),
            _ => self.sentence(typed),
        }
    }

    /// Accepts the same commands as a comment on a pull request.
    fn parse_command(&self, typed: &str) -> Heard {
        match command::parse(typed).first() {
            Some(Ok(Command::Approve { .. })) => self.yes("/greenlight approve"),
            Some(Ok(Command::Reject { reason, .. })) => no(reason.clone()),
            Some(Err(CommandError::UnknownVerb {
                did_you_mean: Some(verb),
                ..
            })) => Heard::Again(format!("did you mean `/greenlight {verb}`?")),
            _ => Heard::Again(format!(
                "only this request can be answered here: `/greenlight approve` or `/greenlight reject`. {}",
                self.hint()
            )),
        }
    }

    fn word(&self, word: &str) -> Heard {
        if self.word == Some(word) {
            return Heard::Answer(TypedAnswer::Yes);
        }
        if YES.contains(&word) {
            return self.yes(word);
        }
        if NO.contains(&word) {
            return no(None);
        }
        if self.another.is_some() && ANOTHER.contains(&word) {
            return Heard::Answer(TypedAnswer::Because(String::new()));
        }
        let another = ANOTHER.first().filter(|_| self.another.is_some()).copied();
        let known = [YES[0], YES[4], NO[0], NO[3]]
            .into_iter()
            .chain(another)
            .chain(self.word);
        let near = known
            .map(|known| (strsim::damerau_levenshtein(known, word), known))
            .filter(|(distance, known)| *distance <= known.len().div_ceil(3))
            .min_by_key(|(distance, _)| *distance);
        let shown: String = word.chars().take(MAX_SHOWN).collect();
        Heard::Again(match near {
            Some((_, known)) => format!("`{shown}` is not an answer; did you mean `{known}`? {}", self.hint()),
            None => format!("`{shown}` is not an answer. {}", self.hint()),
        })
    }

    fn sentence(&self, typed: &str) -> Heard {
        let (first, rest) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
        let (first, rest) = (bare(first), rest.trim());
        if first == NO[3] {
            return no(Some(rest.to_string()));
        }
        // "yes please" is hardly a reason against it. Three or more words may be: "yes, but later".
        if (YES.contains(&first.as_str()) || self.word == Some(first.as_str())) && rest.split_whitespace().count() == 1
        {
            return Heard::Again(format!("is that a yes? {}", self.hint()));
        }
        no(Some(typed.to_string()))
    }

    /// Handles one of the usual words for yes.
    fn yes(&self, said: &str) -> Heard {
        match self.word {
            None => Heard::Answer(TypedAnswer::Yes),
            Some(word) => Heard::Again(format!("`{said}` is not enough here; type `{word}` to approve")),
        }
    }

    fn hint(&self) -> String {
        let yes = self.word.unwrap_or("yes");
        let else_ = match (self.another, self.wants_reasons) {
            (Some(what), false) => format!(", or `another` for another {what}"),
            _ => ", or `reject` and the reason".to_string(),
        };
        format!("Type `{yes}`, `no`{else_}")
    }
}

fn no(reason: Option<String>) -> Heard {
    Heard::Answer(match reason.filter(|reason| !reason.is_empty()) {
        Some(reason) => TypedAnswer::Because(reason),
        None => TypedAnswer::No,
    })
}

/// A word without surrounding punctuation.
fn bare(word: &str) -> String {
    let word = word.trim_matches(|c: char| c.is_ascii_punctuation() || c.is_whitespace());
    word.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIX: Question<'_> = Question {
        text: "Write this?",
        word: None,
        wants_reasons: true,
        another: Some("fix"),
    };
    const TESTS: Question<'_> = Question {
        word: Some("test"),
        ..FIX
    };

    #[track_caller]
    fn again(question: Question<'_>, typed: &str, part: &str) {
        match question.parse(typed) {
            Heard::Again(why) => assert!(why.contains(part), "{typed:?}: {why}"),
            heard @ Heard::Answer(_) => panic!("{typed:?}: {heard:?}"),
        }
    }

    #[test]
    fn answers_are_read_as_yes_or_no() {
        let yes = [
            "y",
            "Yes",
            "yes!",
            "ok",
            "OK.",
            "okay",
            "approve",
            "`approve`",
            "/greenlight approve",
        ];
        for typed in yes {
            assert_eq!(FIX.parse(typed), Heard::Answer(TypedAnswer::Yes), "{typed}");
        }
        for typed in ["n", "No", "no.", "reject", "/greenlight reject"] {
            assert_eq!(FIX.parse(typed), Heard::Answer(TypedAnswer::No), "{typed}");
        }
        for (typed, reason) in [
            ("reject too broad", "too broad"),
            ("Reject: uglier", "uglier"),
            ("/greenlight reject too broad", "too broad"),
            ("yes, but later", "yes, but later"),
            ("I would rather lower the constant", "I would rather lower the constant"),
            ("no, lower the constant", "no, lower the constant"),
        ] {
            assert_eq!(
                FIX.parse(typed),
                Heard::Answer(TypedAnswer::Because(reason.into())),
                "{typed}"
            );
        }
        assert_eq!(FIX.parse("a"), Heard::Answer(TypedAnswer::Because(String::new())));
    }

    #[test]
    fn a_possible_typo_is_asked_about_again() {
        again(FIX, "", "Type `yes`");
        again(FIX, "  ", "Type `yes`");
        again(FIX, "aprove", "did you mean `approve`?");
        again(FIX, "yse", "did you mean `yes`?");
        again(FIX, "rejct", "did you mean `reject`?");
        again(FIX, "sure", "`sure` is not an answer");
        again(FIX, "q", "`q` is not an answer");
        again(FIX, "yes please", "is that a yes?");
        again(FIX, "/greenlight aprove", "did you mean `/greenlight approve`?");
        again(FIX, "/greenlight fix", "`/greenlight approve` or");
    }

    #[test]
    fn a_change_of_a_test_takes_its_own_word() {
        assert_eq!(TESTS.parse("test"), Heard::Answer(TypedAnswer::Yes));
        assert_eq!(TESTS.parse("`Test`"), Heard::Answer(TypedAnswer::Yes));
        for typed in ["y", "yes", "ok", "approve", "/greenlight approve"] {
            again(TESTS, typed, "type `test` to approve");
        }
        again(TESTS, "tset", "did you mean `test`?");
        assert_eq!(TESTS.parse("n"), Heard::Answer(TypedAnswer::No));
    }

    #[test]
    fn a_reason_is_asked_for_only_if_somebody_reads_it() {
        assert_eq!(FIX.choices(), "[y]es, [n]o, or why not:");
        let without = Question {
            wants_reasons: false,
            ..FIX
        };
        assert_eq!(without.choices(), "[y]es, [n]o, or [a]nother fix:");
        let of_a_test = Question {
            wants_reasons: false,
            ..TESTS
        };
        assert_eq!(of_a_test.choices(), "type `test` for yes, [n]o, or [a]nother fix:");
        again(without, "sure", "`another` for another fix");
    }
}
