//! Commands in comments: `/greenlight <verb>` at the start of a line of plain text.
//!
//! A Markdown parser decides where lines start, so text that GitHub shows as code, a quotation or a link, or does not
//! show, never commands. Other modules decide whether the comment's author may command.

use serde::{Deserialize, Serialize};

use super::gate::GateId;
use super::id::RepoPath;

mod outline;

/// One command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    Fix,
    Tdd {
        /// Source text of the comment, Markdown included.
        specification: String,
    },
    Refactor {
        goal: String,
        path: Option<String>,
    },
    Explain,
    /// `None` means the only open gate.
    Approve {
        gate: Option<GateId>,
    },
    Reject {
        gate: Option<GateId>,
        reason: Option<String>,
    },
    Cancel,
    Retry,
    Undo,
    Status,
    Help,
    Config,
}

/// A line that addresses greenlight but is not a valid command. Its texts are bounded and untrusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    #[error("{typed:?} is not a command; see `/greenlight help`")]
    UnknownVerb {
        typed: String,
        did_you_mean: Option<&'static str>,
    },
    #[error("`/greenlight {verb}` needs an argument")]
    MissingArgument { verb: &'static str },
    #[error("`/greenlight {verb}` takes no {argument:?}")]
    UnexpectedArgument { verb: &'static str, argument: String },
    #[error("a comment may hold at most {MAXIMUM_COMMANDS} commands")]
    TooMany,
    #[error("the text after `/greenlight {verb}` has {characters} characters; at most {MAXIMUM_TEXT} are read")]
    TooLong { verb: &'static str, characters: usize },
}

/// One line of the help text and of README's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandHelp {
    pub verb: &'static str,
    /// How the argument is written; empty if there is none.
    pub argument: &'static str,
    pub meaning: &'static str,
}

/// How many commands of one comment are parsed.
pub const MAXIMUM_COMMANDS: usize = 10;
/// How many characters a specification, a goal or a reason may have.
pub const MAXIMUM_TEXT: usize = 4_000;
/// How many characters of a mistyped command are kept, to show them to its author.
const MAXIMUM_SHOWN: usize = 60;
const TRIGGER: &str = "/greenlight";

impl Command {
    /// All commands, in the order in which the help shows them.
    pub const HELP: [CommandHelp; 12] = [
        help("fix", "", "find the failing tests and propose a fix"),
        help(
            "tdd",
            "<specification>",
            "write failing tests first, then make them pass",
        ),
        help(
            "refactor",
            "<goal> [in <path>]",
            "change the code and keep its tests green",
        ),
        help("explain", "", "explain why the checks fail, without changing anything"),
        help("approve", "[id]", "do exactly what the open request says"),
        help(
            "reject",
            "[id] [reason]",
            "turn the request down; the reason helps to find a better fix",
        ),
        help("cancel", "", "stop the run of this pull request"),
        help("retry", "", "re-run the failed CI jobs"),
        help("undo", "", "revert the last commit that greenlight landed here"),
        help("status", "", "show what is running and what is waiting for you"),
        help("help", "", "show this list"),
        help(
            "config",
            "",
            "show the configuration in effect, and where it comes from",
        ),
    ];
}

const fn help(verb: &'static str, argument: &'static str, meaning: &'static str) -> CommandHelp {
    CommandHelp {
        verb,
        argument,
        meaning,
    }
}

/// Parses all commands of a comment, in order.
///
/// The arguments are source text; HTML comments, which nobody sees, are left out of them. The text of `tdd`,
/// `refactor` and `reject` continues over the following lines up to the next command.
pub fn parse(body: &str) -> Vec<Result<Command, CommandError>> {
    if !outline::mentions(body, TRIGGER) {
        return Vec::new();
    }
    let addressed = outline::addressed(body, TRIGGER, MAXIMUM_COMMANDS + 1);
    let mut commands: Vec<_> = addressed
        .iter()
        .take(MAXIMUM_COMMANDS)
        .map(|text| parse_one(text))
        .collect();
    if addressed.len() > MAXIMUM_COMMANDS {
        commands.push(Err(CommandError::TooMany));
    }
    commands
}

/// Parses one command from the text after the trigger: the rest of its line, and the lines up to the next command.
fn parse_one(text: &str) -> Result<Command, CommandError> {
    let (line, following) = text.split_once('\n').unwrap_or((text, ""));
    let (typed, argument) = first_word(line.trim());
    if typed.is_empty() {
        return Ok(Command::Help);
    }
    let Some(verb) = Command::HELP
        .iter()
        .map(|help| help.verb)
        .find(|verb| verb.eq_ignore_ascii_case(typed))
    else {
        return Err(CommandError::UnknownVerb {
            typed: quoted(typed),
            did_you_mean: nearest_verb(typed),
        });
    };
    let command = match verb {
        "approve" if argument.is_empty() => Command::Approve { gate: None },
        "approve" => Command::Approve {
            gate: Some(gate(argument).ok_or_else(|| unexpected(verb, argument))?),
        },
        "tdd" => Command::Tdd {
            specification: required(verb, free_text(verb, argument, following)?)?,
        },
        "refactor" => refactor(verb, argument, following)?,
        "reject" => {
            let (first, rest) = first_word(argument);
            let gate = gate(first);
            let reason = free_text(verb, if gate.is_some() { rest } else { argument }, following)?;
            Command::Reject {
                gate,
                reason: Some(reason).filter(|reason| !reason.is_empty()),
            }
        }
        _ if !argument.is_empty() => return Err(unexpected(verb, argument)),
        "fix" => Command::Fix,
        "explain" => Command::Explain,
        "cancel" => Command::Cancel,
        "retry" => Command::Retry,
        "undo" => Command::Undo,
        "status" => Command::Status,
        "config" => Command::Config,
        _ => Command::Help,
    };
    Ok(command)
}

/// Removes the path from the end of the goal's first line if it is written as `in <path>`.
fn refactor(verb: &'static str, argument: &str, following: &str) -> Result<Command, CommandError> {
    let (before, last) = argument.rsplit_once([' ', '\t']).unwrap_or(("", argument));
    let Some(goal) = before
        .trim_end()
        .strip_suffix("in")
        .filter(|goal| goal.is_empty() || goal.ends_with([' ', '\t']))
    else {
        let goal = required(verb, free_text(verb, argument, following)?)?;
        return Ok(Command::Refactor { goal, path: None });
    };
    let path: RepoPath = without_backticks(last)
        .trim_start_matches("./")
        .trim_end_matches('/')
        .parse()
        .map_err(|_| unexpected(verb, last))?;
    let goal = required(verb, free_text(verb, goal.trim(), following)?)?;
    Ok(Command::Refactor {
        goal,
        path: Some(path.to_string()),
    })
}

fn first_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once([' ', '\t']).unwrap_or((text, ""));
    (word, rest.trim_start())
}

fn gate(word: &str) -> Option<GateId> {
    without_backticks(word).parse().ok()
}

/// People copy ids and paths together with the backticks around them.
fn without_backticks(word: &str) -> &str {
    word.trim_matches('`')
}

fn free_text(verb: &'static str, argument: &str, following: &str) -> Result<String, CommandError> {
    let text = format!("{argument}\n{following}");
    let text = text.trim();
    match text.chars().count() {
        characters if characters > MAXIMUM_TEXT => Err(CommandError::TooLong { verb, characters }),
        _ => Ok(text.into()),
    }
}

fn required(verb: &'static str, text: String) -> Result<String, CommandError> {
    if text.is_empty() {
        Err(CommandError::MissingArgument { verb })
    } else {
        Ok(text)
    }
}

fn unexpected(verb: &'static str, argument: &str) -> CommandError {
    CommandError::UnexpectedArgument {
        verb,
        argument: quoted(argument),
    }
}

fn quoted(text: &str) -> String {
    text.chars().take(MAXIMUM_SHOWN).collect()
}

/// The verb that was probably meant: at most a third of its letters differ.
fn nearest_verb(typed: &str) -> Option<&'static str> {
    let typed = quoted(typed).to_ascii_lowercase();
    (Command::HELP.iter())
        .map(|help| (strsim::damerau_levenshtein(help.verb, &typed), help.verb))
        .filter(|(distance, verb)| *distance <= verb.len().div_ceil(3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, verb)| verb)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Pieces of comments that mean something to the parser, with any text between them.
    const PIECES: &str = r"(/greenlight( [a-z]{1,7})?|<!--|-->|</?code>|[>`*\-#\\ \t|]{1,4}|\r?\n|\PC{0,8}){0,24}";

    #[track_caller]
    fn check(body: &str, expected: &[Command]) {
        let expected: Vec<_> = expected.iter().cloned().map(Ok).collect();
        assert_eq!(parse(body), expected, "{body:?}");
    }

    #[track_caller]
    fn check_error(typed: &str, expected: CommandError) {
        assert_eq!(parse(&format!("/greenlight {typed}")), [Err(expected)], "{typed:?}");
    }

    fn approve(id: &str) -> Command {
        Command::Approve {
            gate: Some(id.parse::<GateId>().unwrap()),
        }
    }

    fn reject(gate: Option<&str>, reason: Option<&str>) -> Command {
        Command::Reject {
            gate: gate.map(|id| id.parse::<GateId>().unwrap()),
            reason: reason.map(Into::into),
        }
    }

    fn refactor(goal: &str, path: Option<&str>) -> Command {
        Command::Refactor {
            goal: goal.into(),
            path: path.map(Into::into),
        }
    }

    fn tdd(specification: &str) -> Command {
        Command::Tdd {
            specification: specification.into(),
        }
    }

    #[test]
    fn every_verb_of_the_help_is_a_command() {
        for help in Command::HELP {
            let argument = if help.argument.starts_with('<') { "x" } else { "" };
            let [Ok(command)] = &parse(&format!("/greenlight {} {argument}", help.verb))[..] else {
                panic!("{}", help.verb)
            };
            let name = format!("{command:?}").to_ascii_lowercase();
            assert!(name.starts_with(help.verb), "{name}");
        }
    }

    #[test]
    fn gates_are_named_by_their_id_and_by_nothing_else() {
        for (typed, expected) in [
            ("approve", Command::Approve { gate: None }),
            ("approve gabc23", approve("gabc23")),
            ("approve `gabc23`", approve("gabc23")),
            ("reject", reject(None, None)),
            ("reject gabc23", reject(Some("gabc23"), None)),
            ("reject gabc23 too broad", reject(Some("gabc23"), Some("too broad"))),
            (
                "reject too broad\n- keep `a`",
                reject(None, Some("too broad\n- keep `a`")),
            ),
            ("reject <!-- gabc23 -->no", reject(None, Some("no"))),
        ] {
            check(&format!("/greenlight {typed}"), &[expected]);
        }
        for argument in ["please", "gabc23 gabd23", "gabc23\u{200b}", "gabc2", "GABC23", "../x"] {
            check_error(&format!("approve {argument}"), unexpected("approve", argument));
        }
    }

    #[test]
    fn free_text_goes_on_to_the_next_command() {
        let code = "\r\n```\r\n/greenlight fix\r\n```\r\n";
        let body = format!("/greenlight tdd `add(a, b)`\r\nadds:{code}- /greenlight status\r\nx");
        check(
            &body,
            &[tdd("`add(a, b)`\nadds:\n```\n/greenlight fix\n```"), Command::Status],
        );
        for (typed, expected) in [
            ("tdd\nadds <!-- ignore\nthis --> numbers", tdd("adds  numbers")),
            ("refactor split it\n- well", refactor("split it\n- well", None)),
            (
                "refactor split it in `./src/`\nwell",
                refactor("split it\nwell", Some("src")),
            ),
            ("refactor rename begin x", refactor("rename begin x", None)),
        ] {
            check(&format!("/greenlight {typed}"), &[expected]);
        }
        check_error("tdd \n", CommandError::MissingArgument { verb: "tdd" });
        check_error("refactor", CommandError::MissingArgument { verb: "refactor" });
        check_error("refactor in src", CommandError::MissingArgument { verb: "refactor" });
        check_error("refactor it in ../../etc", unexpected("refactor", "../../etc"));
    }

    #[test]
    fn what_can_not_be_obeyed_is_said() {
        for (typed, did_you_mean) in [
            ("aprove", Some("approve")),
            ("APPROVED", Some("approve")),
            ("rejcet", Some("reject")),
            ("fx", Some("fix")),
            ("`approve`", Some("approve")),
            ("approve\u{200b}", Some("approve")),
            ("lgtm", None),
            ("推し", None),
        ] {
            let typed = typed.to_owned();
            check_error(&format!("{typed} x"), CommandError::UnknownVerb { typed, did_you_mean });
        }
        let long = "x".repeat(MAXIMUM_SHOWN);
        check_error(&format!("fix {long}{long}"), unexpected("fix", &long));
        for verb in ["tdd", "refactor", "reject"] {
            let characters = MAXIMUM_TEXT + 1;
            let typed = format!("{verb} {}", "ü".repeat(characters));
            check_error(&typed, CommandError::TooLong { verb, characters });
        }
        let many = parse(&"/greenlight fix\n".repeat(12));
        assert_eq!((many.len(), many.last()), (11, Some(&Err(CommandError::TooMany))));
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(body in PIECES) {
            prop_assert!(parse(&body).len() <= MAXIMUM_COMMANDS + 1);
        }
    }
}
