//! Recognises assertions, and whether one checks less than another.

use std::sync::LazyLock;

use greenlight_syntax::Language;
use regex::Regex;

use crate::domain::weakening::WeakeningKind;

/// Compiles a pattern of this file; all of them are constant.
fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

macro_rules! patterns {
    ($($name:ident = $text:expr;)*) => {
        $(static $name: LazyLock<Option<Regex>> = LazyLock::new(|| pattern($text));)*
    };
}

patterns! {
    CALLS = r#"(?x) (^|[^\w.]) (assert\w*!? | debug_assert\w*! | prop_assert\w*! | expect\w* | verify\w* | fail )\(
        | \.(assert\w* | expect | should\w* | raises | warns | fail\w* | throws | rejects)\b
        | \bshould\. | \b(raises|warns|deprecated_call)\(
        | (^|[^\w.])(await\ )?t\.(is|not|deepEqual|equal|equals|same|true|false|ok|truthy|falsy|throws\w*|like|snapshot)\(
        | (^|[^\w.])(require|assert|is|qt|c)\.[A-Z]\w*\("#;
    FAILS = r#"(?x) ^(t|b|f|tb|s)\.(Error|Errorf|Fatal|Fatalf|Fail|FailNow)\b | ^(panic!|unreachable!|fail\(|pytest\.fail|self\.fail)
        | ^raise\ AssertionError | ^throw\b"#;
    SKIPS = r#"(?x) pytest\.skip | skipTest | SkipTest | importorskip | \b(t|b|s|tb)\.Skip | testing\.Short | \bassum(e|ing)\w*\(
        | \b(this|t|ctx|context|it|test|describe|suite)\.skip | \bskip(If|Unless)?\( | xfail | TestAborted | \.todo\( | \.only\( | pending\("#;
    SKIP_MARK = r#"(?xi) skip | xfail | \bignore | \btodo\b | \bonly\b | \bfails\b | \bfailing\b | disabled | enabled(on|if|for)
        | expectedfailure | should_panic | fixme | cfg\( | cfg_attr | __test__ | \bmanual\b"#;
    RETRIES = r"(?i)flaky|rerun|retr(y|ies)|repeatedtest";
    MOCKS = r"(?i)\bmonkeypatch|\bmock|\bpatch\b|\bspyOn\b|\bsinon\b|\bstub|\bsetattr\(|\bjest\.fn|\bvi\.fn|\bwhen\(|returnvalue|side_effect";
    SWALLOWS = r#"(?x) ^try\b | ^except\b | \bcatch\b | suppress\( | raises\((Exception|BaseException)\b | assertRaises\((Exception|BaseException)\b
        | let\ _\s*= | unwrap_or | \.ok\(\)$ | recover\(\) | catch_unwind | \.allSettled\( | assertThrows\((Exception|Throwable)\. "#;
    LEAVES = r"^(?:(?:else ?)?if ?\(.*\) ?)?(return|os\._exit|sys\.exit|process\.exit|os\.Exit|std::process|process::exit|exit\(|raise SystemExit|break|continue|runtime\.Goexit)\b";
    TOLERANCE = r#"(?xi) approx | \brel(_tol|_eps)?= | \babs(_tol)?= | abs\( | delta | places | decimal | atol | rtol | epsilon | toleran
        | toBeCloseTo | closeTo | almost | InDelta | within | timeout | isclose | max_relative | Offset | max_diff | waitFor | sleep
        | assertEquals\(.*,.*,[\d.]+[fd]?\)$ "#;
    DIGITS = r"(?i)places|decimal|toBeCloseTo";
    NUMBER = r"\b\d[\d_]*(\.\d+)?([eE][+-]?\d+)?";
    STRING = r#""[^"]*"|'[^']*'|`[^`]*`"#;
}

pub(super) fn fits(pattern: &LazyLock<Option<Regex>>, text: &str) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

/// The part of a statement that is compared. Text that a test prints when it fails is left out.
pub(super) fn key(language: Language, text: String) -> String {
    if language == Language::Go && fits(&FAILS, &text) {
        return text.split('(').next().unwrap_or_default().into();
    }
    let bare = text.strip_prefix("assert(").and_then(|rest| rest.strip_suffix(')'));
    match bare.filter(|bare| language == Language::Python && is_balanced(bare)) {
        Some(bare) => without_message(format!("assert {bare}")),
        None => without_message(text),
    }
}

/// Whether no bracket closes that was not opened before.
fn is_balanced(text: &str) -> bool {
    let mut depth = 0_i32;
    text.chars().all(|c| {
        depth += i32::from(matches!(c, '(' | '[')) - i32::from(matches!(c, ')' | ']'));
        depth >= 0
    })
}

/// Removes the message of an assertion.
fn without_message(text: String) -> String {
    let (callee, arguments) = if let Some(condition) = text.strip_prefix("assert ") {
        ("assert ", condition)
    } else {
        let Some((callee, rest)) = text.split_once('(') else {
            return text;
        };
        (callee, rest.strip_suffix(')').unwrap_or(rest))
    };
    let name = callee.rsplit(['.', ':']).next().unwrap_or(callee).trim_end_matches('!');
    let takes = match name {
        "assert " | "assert" | "assertTrue" | "assertFalse" | "assertIsNone" | "assertIsNotNone" | "debug_assert"
        | "prop_assert" => 1,
        "assert_eq" | "assert_ne" | "debug_assert_eq" | "prop_assert_eq" | "assertEqual" | "assertEquals"
        | "assertIn" | "assertNotEqual" | "assertIs" | "strictEqual" | "deepStrictEqual" | "deepEqual" => 2,
        _ => return text,
    };
    let parts = arguments_of(arguments);
    let is_message = |part: &&str| part.trim_start_matches(['f', 'r', '&']).starts_with(['"', '\'', '`']);
    if parts.len() <= takes || !parts[takes..].first().is_some_and(is_message) {
        return text;
    }
    let kept = parts[..takes].join(",");
    if callee == "assert " {
        format!("assert {kept}")
    } else {
        format!("{callee}({kept})")
    }
}

/// Splits at commas outside of brackets and strings.
fn arguments_of(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut quote, mut start) = (Vec::new(), 0_i32, None, 0);
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if let Some(open) = quote {
            (quote, escaped) = match c {
                _ if escaped => (quote, false),
                '\\' => (quote, true),
                c if c == open => (None, false),
                _ => (quote, false),
            };
            continue;
        }
        match c {
            '"' | '`' => quote = Some(c),
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Whether a statement may fail the test, depending on what it checks.
pub(super) fn is_assertion(language: Language, key: &str) -> bool {
    key.starts_with("assert ")
        || fits(&CALLS, key)
        || fits(&FAILS, key)
        || (language == Language::Java && key.starts_with("@Test(expected"))
}

/// Whether a statement fails the test as soon as it is reached.
pub(super) fn is_failure(key: &str) -> bool {
    fits(&FAILS, key)
}

/// Whether the head of a block decides whether the block is entered.
pub(super) fn is_condition(key: &str) -> bool {
    ["if", "switch", "match", "case", "for", "while", "select"]
        .iter()
        .any(|word| {
            key.strip_prefix(word)
                .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        })
}

/// How an added or changed statement weakens a test, for known kinds of statements; `old` is the statement that it
/// replaces.
pub(super) fn known_for(old: &str, new: &str) -> Option<WeakeningKind> {
    let newly = |pattern: &LazyLock<Option<Regex>>| fits(pattern, new) && !fits(pattern, old);
    if newly(&SKIPS) {
        Some(WeakeningKind::Skipped)
    } else if newly(&SWALLOWS) {
        Some(WeakeningKind::ErrorSwallowed)
    } else if newly(&LEAVES) {
        Some(WeakeningKind::NotReached)
    } else if newly(&RETRIES) {
        Some(WeakeningKind::Retried)
    } else if newly(&MOCKS) {
        Some(WeakeningKind::Mocked)
    } else {
        None
    }
}

/// Whether a mark of a test keeps it from running or from failing.
pub(super) fn is_skip_mark(mark: &str) -> bool {
    fits(&SKIP_MARK, mark)
}

/// Whether the head of a handler swallows errors.
pub(super) fn is_handler(head: &str) -> bool {
    fits(&SWALLOWS, head)
}

/// Whether a mark or statement about time or precision is more tolerant than before. `None` if that is unclear.
pub(super) fn widens(old: &str, new: &str) -> Option<bool> {
    if !fits(&TOLERANCE, old) && !fits(&TOLERANCE, new) {
        return None;
    }
    if fits(&TOLERANCE, new) && !fits(&TOLERANCE, old) {
        return Some(true);
    }
    if without_numbers(old) != without_numbers(new) {
        return None;
    }
    let numbers = |text: &str| -> Vec<f64> {
        let found = NUMBER.as_ref().map(|number| number.find_iter(text));
        let found = found.into_iter().flatten();
        found
            .filter_map(|number| number.as_str().replace('_', "").parse().ok())
            .collect()
    };
    let (old_numbers, new_numbers) = (numbers(old), numbers(new));
    let changed: Vec<(usize, (&f64, &f64))> = old_numbers
        .iter()
        .zip(&new_numbers)
        .enumerate()
        .filter(|(_, (old, new))| old != new)
        .collect();
    // The tolerance comes after the compared values.
    let [(at, (before, after))] = changed[..] else {
        return None;
    };
    if at == 0 && old_numbers.len() > 1 {
        return None;
    }
    let fewer_digits = fits(&DIGITS, old);
    Some(if fewer_digits { after < before } else { after > before })
}

fn without_numbers(text: &str) -> String {
    NUMBER
        .as_ref()
        .map_or_else(|| text.into(), |number| number.replace_all(text, "0").into_owned())
}

/// How much an assertion checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    /// Nothing: it is always true.
    Nothing,
    /// That a value exists, or is truthy.
    Existence,
    /// A bound, a part, or a type.
    Part,
    /// One exact value.
    Exact,
}

patterns! {
    NOTHING = r#"(?x) ^assert\ ?!?\(?(True|true|1|"[^"]*"|not\ False|!false)\)?$ | \.?assert(True|That)?\((True|true)\)$ | (require|assert)\.True\(t,true\)
        | expect\((true|1)\)\.(toBe|toEqual)\((true|1)\) | expect\((true|1)\)\.toBe(Truthy|Defined)\(\) | assert(\.ok)?\(true\) | ^if\ ?\(?(false|False)\b"#;
    EXACT = r#"(?x) == | != | assert_?(Equals?|DictEqual|ListEqual|TupleEqual|SetEqual|CountEqual|SequenceEqual|MultiLineEqual|ArrayEquals|IterableEquals|LinesMatch|Same)\b
        | assert_(eq|ne)! | assert_eq | \.(toEqual|toBe|toStrictEqual|toMatchInlineSnapshot|toMatchSnapshot|toHaveBeenCalledWith|toHaveLength|toHaveBeenCalledTimes)\(
        | \.(equals?|eql?|deep\.equal|deepEqual|deepStrictEqual|strictEqual|isEqualTo|is|same|containsExactly)\( | (require|assert)\.(Equal|JSONEq|ElementsMatch|EqualError|ErrorIs|Exactly|Len)\(
        | assert_called_once_with | assert_called_with | assert_has_calls | DeepEqual | cmp\.Diff | assert_(json_|debug_|yaml_)?snapshot! | \ is\ (?:[^n]|n[^o]) | assertIs(None)?\( | \bassertNull | bytes\.Equal"#;
    PART = r#"(?x) [<>] | \bin\b | assert(Not)?In\b | Contains | contains | toContain | toMatch | Greater | Less | startswith | endswith | starts_with | ends_with
        | HasPrefix | HasSuffix | Regex | matches | isinstance | assertIsInstance | instanceof | InstanceOf | toBeInstanceOf | hasItem | include | match\( | any\( | \|\| | \bor\b"#;
    EXISTS = r#"(?x) is\ not\ None | assertIsNotNone | NotNull | NotNil | NotEmpty | toBeTruthy | toBeDefined | not\.toBeNull | not\.toBeUndefined | assertTrue\(\w+\)$ | \.exist\b
        | is_some\(\) | is_ok\(\) | !=\ ?(nil|null|undefined|None|""|0)\b | ==\ ?nil | hasattr | assert_called\(\)"#;
}

fn strength(key: &str) -> Strength {
    if fits(&NOTHING, key) || compares_with_itself(key) {
        return Strength::Nothing;
    }
    let bare = STRING
        .as_ref()
        .map_or_else(|| key.into(), |string| string.replace_all(key, "\"\""));
    if fits(&EXISTS, &bare) && !bare.contains("assertEqual") && !bare.contains("assert_eq!") {
        return Strength::Existence;
    }
    // A comparison with an alternative is not exact.
    let has_alternative = bare.contains("||") || bare.contains(" or ");
    match () {
        () if fits(&EXACT, &bare) && !has_alternative => Strength::Exact,
        () if fits(&PART, &bare) => Strength::Part,
        () => Strength::Existence,
    }
}

/// `x == x`, `assertEqual(x, x)`, `expect(x).toBe(x)`.
fn compares_with_itself(key: &str) -> bool {
    let inside = |text: &str| {
        let parts = arguments_of(text);
        parts.len() >= 2 && parts[0].len() > 1 && parts[0] == parts[1]
    };
    if let Some((left, right)) = key.strip_prefix("assert ").and_then(|rest| rest.split_once("==")) {
        return left.trim() == right.trim();
    }
    if let Some(rest) = key.strip_prefix("expect(")
        && let Some((left, right)) = rest.split_once(").")
        && let Some((_, right)) = right.split_once('(')
    {
        return right.strip_suffix(')') == Some(left);
    }
    key.split_once('(')
        .and_then(|(_, rest)| rest.strip_suffix(')'))
        .is_some_and(|rest| inside(rest) || rest.strip_prefix("t,").is_some_and(inside))
}

/// How an assertion is weaker than the one it replaces. `None` if it checks at least as much.
pub(super) fn compare(old: &str, new: &str) -> Option<WeakeningKind> {
    if old == new {
        return None;
    }
    let more = [" and ", "&&", ".and("].iter().any(|and| {
        let rest = new.strip_prefix(old.trim_end_matches(')'));
        rest.is_some_and(|rest| rest.starts_with(and))
            && !old.contains(" or ")
            && !old.contains("||")
            && !new.contains(" or ")
    });
    if more {
        return None;
    }
    if let Some(kind @ (WeakeningKind::Skipped | WeakeningKind::ErrorSwallowed)) = known_for(old, new) {
        return Some(kind);
    }
    let (before, after) = (strength(old), strength(new));
    if after == Strength::Nothing && before > after {
        return Some(WeakeningKind::WeakerAssertion);
    }
    match widens(old, new) {
        Some(true) => return Some(WeakeningKind::ToleranceWidened),
        Some(false) => return None,
        None => {}
    }
    if after < before {
        return Some(WeakeningKind::WeakerAssertion);
    }
    // The new assertion is stricter and is about the same subject.
    if after > before && before != Strength::Nothing && subject(new).contains(&subject(old)) {
        return None;
    }
    if before == Strength::Nothing {
        return None;
    }
    Some(WeakeningKind::ExpectationChanged)
}

/// The subject of an assertion: its first operand or argument.
fn subject(key: &str) -> String {
    let rest = key
        .strip_prefix("assert ")
        .unwrap_or_else(|| key.split_once('(').map_or(key, |(_, rest)| rest));
    let rest = rest.strip_prefix("t,").unwrap_or(rest);
    let mut depth = 0_i32;
    let end = rest.char_indices().find(|(at, c)| {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        depth < 0
            || (depth == 0
                && (matches!(c, ',' | '=' | '<' | '>' | '!')
                    || rest[*at..].starts_with(" in ")
                    || rest[*at..].starts_with(" is ")))
    });
    end.map_or(rest, |(at, _)| &rest[..at]).trim().to_string()
}
