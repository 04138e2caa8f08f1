//! Reads the sessions of nox, and never executes them: <https://nox.thea.codes/en/stable/config.html>
//!
//! Only literals are taken. A session is read from top to bottom, with the functions that it passes itself to; branches
//! and loops count as if they were taken once.

mod calls;

use std::sync::LazyLock;

use regex::Regex;

use self::calls::{Argument, arguments};
use super::tox::MAX_TEXT;
use crate::discover::directory::Directory;
use crate::text::pattern;

const FILE: &str = "noxfile.py";
/// Maximum number of functions of a file, of calls of a session, and how deep functions are followed.
const MAX_FUNCTIONS: usize = 200;
const MAX_CALLS: usize = 200;
const MAX_DEPTH: usize = 3;
/// Maximum size of the words after `--`, in bytes.
const MAX_GIVEN: usize = 2_000;
/// Options of pip that need the word after them.
const NEED_A_WORD: [&str; 6] = ["-r", "--requirement", "-c", "--constraint", "-e", "--group"];

static FUNCTION: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^(?:async )?def (\w+)\("));
static NAME: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r#"\bname\s*=\s*["']([\w.-]+)["']"#));
/// What a session does, or a function that it is passed to.
static CALL: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"\b(?:session\.(install|run|run_always|run_install|chdir|cd)\(|(\w+)\(\s*session\b)"));
/// `env={"A": "b"}` and `env=name`, and one of its pairs. Values with placeholders have braces, too.
static ENV: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"\benv\s*=\s*(?:\{(?P<pairs>(?:[^{}]|\{[^{}]*\})*)\}|(?P<name>[a-z_]\w*)\s*[,)])"));
/// `name = {"A": "b"}` on lines before.
static SET: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"(?m)^\s*(?P<name>[a-z_]\w*)\s*(?::[^=\n]*)?=\s*\{(?P<pairs>(?:[^{}]|\{[^{}]*\})*)\}"));
static PAIR: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r#"["']([A-Za-z_]\w*)["']\s*:\s*(?:"([^"\\]*)"|'([^'\\]*)')"#));
static CHOSEN: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(?s)nox\.options\.sessions\s*=\s*[\[(](.*?)[\])]"));
static LITERAL: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r#"["']([\w.-]+)["']"#));

/// A function of the file.
struct Function<'t> {
    name: &'t str,
    /// The name of the session, if it is one.
    session: Option<String>,
    calls: Vec<Call>,
}

/// What a function does.
enum Call {
    /// A line for a shell.
    Line(String),
    /// It passes its session on to the function with this name.
    Function(String),
}

/// What `nox` runs with these arguments: one script for each session. `None` if there is no such session.
pub(in crate::discover) fn scripts(place: &Directory<'_>, arguments: &[String]) -> Option<Vec<String>> {
    let text = place.text(FILE).filter(|text| text.len() <= MAX_TEXT)?;
    let functions = functions(&text, given(arguments));
    let chosen = CHOSEN.as_ref()?.captures(&text);
    let chosen = chosen.map(|found| LITERAL.as_ref().map(|name| names(name, &found[1])));
    let wanted = match named(arguments)? {
        named if named.is_empty() => chosen.flatten().unwrap_or_default(),
        named => named,
    };
    let exists = |name: &str| {
        functions
            .iter()
            .any(|function| function.session.as_deref() == Some(name))
    };
    let is_wanted = |session: &str| {
        // `tests-3.12` and `tests(django=5)` are sessions of one function, unless another one has that very name.
        let is_of = |name: &String| match name.strip_prefix(session) {
            Some("") => true,
            Some(rest) => rest.starts_with(['-', '(']) && !exists(name),
            None => false,
        };
        wanted.is_empty() || wanted.iter().any(is_of)
    };
    let sessions = functions.iter().filter(|function| {
        let session = function.session.as_deref();
        session.is_some_and(is_wanted)
    });
    let scripts: Vec<String> = sessions.map(|session| script(&functions, session)).collect();
    (!scripts.is_empty()).then_some(scripts)
}

/// The commands of all sessions, and of functions that may be sessions of another kind.
pub(super) fn commands(text: &str) -> Vec<String> {
    let functions = functions(text, &[]);
    let scripts = functions.iter().map(|function| script(&functions, function));
    scripts
        .flat_map(|script| script.lines().map(String::from).collect::<Vec<_>>())
        .collect()
}

fn names(pattern: &Regex, text: &str) -> Vec<String> {
    pattern.captures_iter(text).map(|found| found[1].to_string()).collect()
}

/// The words after `--`. None if they are too many: each call may take all of them.
fn given(arguments: &[String]) -> &[String] {
    let from = arguments.iter().position(|word| word == "--");
    let given = from.map_or(&[][..], |from| &arguments[from + 1..]);
    let size: usize = given.iter().map(|word| word.len() + 1).sum();
    if size <= MAX_GIVEN { given } else { &[] }
}

/// The sessions that the arguments name. `None` if they say something else.
fn named(arguments: &[String]) -> Option<Vec<String>> {
    let mut named = Vec::new();
    let mut takes = false;
    for word in arguments.iter().map(String::as_str) {
        match word {
            "--" => break,
            "-s" | "-e" | "--session" | "--sessions" => takes = true,
            "-f" | "--noxfile" | "-t" | "--tags" | "-k" | "--keywords" | "-l" | "--list" => return None,
            _ => match word.split_once('=') {
                Some(("--session" | "--sessions", name)) => named.push(name.to_string()),
                _ if word.starts_with('-') => takes = false,
                _ if takes => named.push(word.to_string()),
                // The value of another option.
                _ => {}
            },
        }
    }
    Some(named)
}

/// The functions at the top level. `given` are the words after `--`.
fn functions<'t>(text: &'t str, given: &[String]) -> Vec<Function<'t>> {
    let mut found: Vec<(&str, Option<String>, String)> = Vec::new();
    let (mut decorators, mut is_inside, mut is_prose) = (String::new(), false, false);
    for line in text.lines() {
        let marks = line.matches("\"\"\"").count() + line.matches("'''").count();
        let is_skipped = is_prose || marks > 0;
        is_prose ^= marks % 2 == 1;
        if is_skipped {
            continue;
        }
        let is_top = !line.starts_with([' ', '\t', ')', ']', '}']) && !line.trim().is_empty();
        let name = FUNCTION.as_ref().and_then(|function| function.captures(line));
        if let Some(name) = name.and_then(|name| name.get(1)) {
            if found.len() >= MAX_FUNCTIONS {
                break;
            }
            let session = decorators.contains("session").then(|| {
                let own = NAME.as_ref().and_then(|pattern| pattern.captures(&decorators));
                own.map_or_else(|| name.as_str().to_string(), |own| own[1].to_string())
            });
            found.push((name.as_str(), session, String::new()));
            decorators.clear();
            is_inside = true;
        } else if is_top && !line.starts_with('#') {
            is_inside = false;
            match line.starts_with('@') {
                true => decorators += line,
                false => decorators.clear(),
            }
        } else if let Some((_, _, body)) = found.last_mut().filter(|_| is_inside) {
            let code = line.trim_start();
            if !code.starts_with('#') {
                *body += line;
                body.push('\n');
            }
        } else if !decorators.is_empty() {
            decorators += line;
        }
    }
    let functions = found.into_iter().map(|(name, session, body)| Function {
        name,
        session,
        calls: calls(&body, given),
    });
    functions.collect()
}

/// A session as a script for a shell.
fn script(functions: &[Function<'_>], session: &Function<'_>) -> String {
    let mut lines = Vec::new();
    let mut left = MAX_CALLS;
    follow(functions, session, MAX_DEPTH, &mut left, &mut lines);
    lines.into_iter().map(|line| format!("{line}\n")).collect()
}

fn follow<'f>(
    functions: &'f [Function<'_>],
    function: &'f Function<'_>,
    depth: usize,
    left: &mut usize,
    lines: &mut Vec<&'f str>,
) {
    for call in &function.calls {
        let Some(rest) = left.checked_sub(1) else { return };
        *left = rest;
        match call {
            Call::Line(line) => lines.push(line),
            Call::Function(name) => {
                let called = functions.iter().find(|other| other.name == name);
                if let Some(called) = called.filter(|_| depth > 0) {
                    follow(functions, called, depth - 1, left, lines);
                }
            }
        }
    }
}

/// The calls of a function, from top to bottom.
fn calls(body: &str, given: &[String]) -> Vec<Call> {
    let found = CALL.as_ref().map(|call| call.captures_iter(body));
    let calls = found.into_iter().flatten().take(MAX_CALLS);
    calls
        .filter_map(|call| {
            if let Some(called) = call.get(2) {
                return Some(Call::Function(called.as_str().into()));
            }
            let start = call.get(0)?.end();
            let (arguments, text) = arguments(&body[start..], &body[..start]);
            let words = match &call[1] {
                "install" => installed(arguments),
                "chdir" | "cd" => literals(arguments, &[]).map(|words| [vec!["cd".to_string()], words].concat()),
                _ => literals(arguments, given),
            };
            let line = shlex::try_join(words?.iter().map(String::as_str)).ok()?;
            // The bracket that closes the call ends the name of a variable.
            let call = format!("{text})");
            Some(Call::Line(variables(&call, &body[..start]) + &line))
        })
        .collect()
}

/// The variables that a call sets, as a shell does before a command. They may be in a dictionary that was set before it.
fn variables(call: &str, before: &str) -> String {
    let env = ENV.as_ref().and_then(|env| env.captures(call));
    let pairs = env.and_then(|env| match env.name("name") {
        None => Some(env.name("pairs")?.as_str()),
        Some(wanted) => {
            let all = SET.as_ref()?.captures_iter(before);
            let own = all.filter(|set| &set["name"] == wanted.as_str());
            Some(own.last()?.name("pairs")?.as_str())
        }
    });
    let pairs = pairs.and_then(|pairs| Some(PAIR.as_ref()?.captures_iter(pairs)));
    let set = pairs.into_iter().flatten().filter_map(|pair| {
        let value = pair.get(2).or_else(|| pair.get(3))?.as_str();
        Some(format!("{}={} ", &pair[1], shlex::try_quote(value).ok()?))
    });
    set.collect()
}

/// The words of a command whose first one is known, with those that are given after `--`.
fn literals(arguments: Vec<Argument>, given: &[String]) -> Option<Vec<String>> {
    let mut arguments = arguments.into_iter();
    let Some(Argument::Literal(first)) = arguments.next() else {
        return None;
    };
    let rest = arguments.flat_map(|argument| match argument {
        Argument::Literal(word) => vec![word],
        Argument::Given(_) if !given.is_empty() => given.to_vec(),
        Argument::Given(words) => words,
        Argument::Other => Vec::new(),
    });
    Some([first].into_iter().chain(rest).collect())
}

/// `pip install` with the words that are known.
fn installed(arguments: Vec<Argument>) -> Option<Vec<String>> {
    let mut words: Vec<String> = ["pip", "install"].map(String::from).into();
    for argument in arguments {
        let needs = words.last().is_some_and(|last| NEED_A_WORD.contains(&last.as_str()));
        match argument {
            Argument::Literal(word) => words.push(word),
            Argument::Other if needs => _ = words.pop(),
            Argument::Other | Argument::Given(_) => {}
        }
    }
    (words.len() > 2).then_some(words)
}

#[cfg(test)]
mod tests;
