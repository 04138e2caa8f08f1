//! What CPython says about values of the wrong type: brackets of the wrong kind, a call that was forgotten, a number
//! where several values belong.

use std::ops::Range;

use super::super::Hint;
use super::super::place::{groups, occurrences};
use super::{HintPlace, Said, line_above};

/// Maximum number of brackets, names and lines that are looked at.
const MAX_BRACKETS: usize = 6;
const MAX_NAMES: usize = 12;
const MAX_LINES: usize = 50;
/// Maximum number of parameters of a function that is called.
const MAX_PARAMETERS: usize = 8;
/// How many lines behind the one that fails are looked at, too.
const MAX_AFTER: u32 = 10;
/// How CPython calls what must be called first.
const FUNCTION: &str = "'(?:builtin_function_or_method|function|method|method_descriptor)'";

pub(super) fn hints(place: &HintPlace<'_>) -> Option<Said> {
    if place.says(&format!("{FUNCTION} object is not subscriptable")).is_some() {
        return Some((
            "brackets of a call".into(),
            other_brackets(place, ['[', ']'], ['(', ')']),
        ));
    }
    if place
        .says(r"'(?:list|tuple|dict|str|range)' object is not callable")
        .is_some()
    {
        return Some((
            "a value is called".into(),
            other_brackets(place, ['(', ')'], ['[', ']']),
        ));
    }
    if place.says(r"'(?:int|float)' object is not iterable").is_some() {
        return Some(("a number is iterated over".into(), several(place)));
    }
    let is_said = [
        format!("{FUNCTION} object is not (?:iterable|reversible)"),
        format!("object of type {FUNCTION} has no len"),
        format!("argument of type {FUNCTION} is not"),
        format!("unsupported operand type\\(s\\) for .*{FUNCTION}"),
        format!("not supported between instances of .*{FUNCTION}"),
    ];
    if place
        .says("'NoneType' object|not supported between instances of .*'NoneType'")
        .is_some()
    {
        let hints = nothing(place);
        return (!hints.is_empty()).then(|| ("nothing was returned".into(), hints));
    }
    let is_uncalled = is_said.iter().any(|pattern| place.says(pattern).is_some());
    is_uncalled.then(|| ("a function is not called".into(), calls(place)))
}

/// `a = a.append(x)` above the line becomes `a.append(x)`: the method returns nothing.
fn nothing(place: &HintPlace<'_>) -> Vec<Hint> {
    let pattern = r"^\s*(\w+) = (\w+)\.(?:append|clear|extend|insert|remove|reverse|sort|update|add|discard)\(.*\)\s*$";
    let Some((first, _)) = line_above(place, |line| line.trim_start().starts_with("def ")) else {
        return Vec::new();
    };
    // The line that fails may be above the assignment, in a loop.
    let lines = first..=place.line.saturating_add(MAX_AFTER);
    let assigned = lines.filter_map(|line| {
        let range = place.range_of(line)?;
        let text = place.text.get(range.clone())?;
        let names = groups(pattern, text)?;
        let removed = names.first()?.len() + " = ".len();
        let start = range.start + text.len() - text.trim_start().len();
        (names.first() == names.get(1)).then(|| place.replace(start..start + removed, "", 1.0))
    });
    assigned.take(MAX_BRACKETS).collect()
}

/// `a.append[x]` becomes `a.append(x)`, and `a(0)` becomes `a[0]`: one of them, or all with the same name.
fn other_brackets(place: &HintPlace<'_>, from: [char; 2], to: [char; 2]) -> Vec<Hint> {
    let start = place.range().start;
    let mut hints = Vec::new();
    for (name, range) in brackets(place.line_text(), from).into_iter().take(MAX_BRACKETS) {
        let changes = |range: &Range<usize>, start: usize| {
            let ends = [range.start, range.end - 1].map(|at| start + at);
            let pairs = ends.into_iter().zip(to);
            pairs
                .map(|(at, text)| place.change(at..at + 1, text))
                .collect::<Vec<_>>()
        };
        let is_member = place
            .line_text()
            .get(..range.start - name.len())
            .is_some_and(|before| before.ends_with('.'));
        let weight = if is_member || from[0] == '(' { 1.0 } else { 0.85 };
        hints.push(Hint::new(changes(&range, start), 0.97 * weight));
        let mut everywhere = Vec::new();
        let mut at = 0;
        for line in place.text.split_inclusive('\n') {
            let same = brackets(line, from).into_iter().filter(|(other, _)| *other == name);
            for (_, range) in same.take(MAX_LINES.saturating_sub(everywhere.len())) {
                everywhere.extend(changes(&range, at));
            }
            at += line.len();
        }
        if from[0] == '[' && everywhere.len() > to.len() {
            everywhere.sort();
            hints.push(Hint::new(everywhere, weight));
        }
    }
    hints
}

/// Pairs of brackets right behind a name, each with that name.
fn brackets(line: &str, [open, close]: [char; 2]) -> Vec<(&str, Range<usize>)> {
    let mut found = Vec::new();
    let mut opened: Vec<(usize, char)> = Vec::new();
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (Some(mark), _) if mark == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '#') => break,
            (None, '(' | '[' | '{') => opened.push((at, c)),
            (None, ')' | ']' | '}') => {
                let Some((start, mark)) = opened.pop() else { break };
                let before = line.get(..start).unwrap_or_default();
                let name = before.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next();
                if let Some(name) = name.filter(|name| !name.is_empty() && mark == open && c == close) {
                    found.push((name, start..at + 1));
                }
            }
            _ => {}
        }
    }
    found
}

/// `range(n)` for `n`, and one value where several were added.
fn several(place: &HintPlace<'_>) -> Vec<Hint> {
    let (line, start) = (place.line_text(), place.range().start);
    let line = line.split(" #").next().unwrap_or(line).trim_end();
    let mut hints = Vec::new();
    if let Some(parts) = groups(r"^(\s*(?:async )?for .+? in )(.+?):\s*(?:#.*)?$", line)
        && let [head, iterated] = parts.as_slice()
    {
        let at = start + head.len();
        hints.push(place.replace(at..at + iterated.len(), format!("range({iterated})"), 1.0));
        if let Some(sized) = groups(r"^len\((\w+)\)$", iterated) {
            hints.push(place.replace(at..at + iterated.len(), sized.concat(), 0.8));
        }
    }
    if let Some(parts) = groups(r"^(\s*)([\w.]+) \+= (.+?)\s*$", line)
        && let [indent, target, value] = parts.as_slice()
    {
        let at = start + indent.len();
        let end = at + target.len() + " += ".len() + value.len();
        hints.push(place.replace(at..end, format!("{target}.append({value})"), 0.95));
        hints.push(place.replace(at..end, format!("{target} += [{value}]"), 0.9));
    }
    for (at, wrong) in line.match_indices(".extend(").take(MAX_BRACKETS) {
        let range = start + at..start + at + wrong.len();
        hints.push(place.replace(range, ".append(", 1.0));
    }
    hints
}

/// Calls what the line only names: methods without arguments, and functions of the file with parameters that have the
/// names of variables here.
fn calls(place: &HintPlace<'_>) -> Vec<Hint> {
    let (line, start) = (place.line_text(), place.range().start);
    let mut hints = Vec::new();
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let (mut at, mut looked_up) = (0, 0);
    for word in line.split_inclusive(|c: char| !is_part(c)) {
        let name = word.trim_end_matches(|c: char| !is_part(c));
        let (begin, end) = (at, at + name.len());
        at += word.len();
        let rest = line.get(end..).unwrap_or_default();
        let before = line.get(..begin).unwrap_or_default();
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || rest.starts_with(['(', '.', '=']) {
            continue;
        }
        looked_up += 1;
        if looked_up > MAX_NAMES {
            break;
        }
        let place_of = start + end..start + end;
        if before.ends_with('.') {
            hints.push(place.replace(place_of, "()", 0.95));
        } else if let Some(parameters) =
            groups(&format!(r"(?m)^(?:async )?def {name}\(([^()]{{0,200}})\)"), &place.text)
        {
            let parameters = parameters.concat();
            let names: Vec<&str> = parameters
                .split(',')
                .filter_map(|one| one.split([':', '=']).next())
                .collect();
            let names: Vec<&str> = names
                .into_iter()
                .map(str::trim)
                .filter(|name| !name.is_empty())
                .collect();
            if names.len() <= MAX_PARAMETERS && names.iter().all(|name| is_known(place, name)) {
                hints.push(place.replace(place_of, format!("({})", names.join(", ")), 1.0));
            }
        }
    }
    hints
}

/// Whether the function around the line mentions a name, up to the line.
fn is_known(place: &HintPlace<'_>, name: &str) -> bool {
    let Some((first, _)) = line_above(place, |line| line.trim_start().starts_with("def ")) else {
        return false;
    };
    let lines = (first..=place.line).filter_map(|line| place.text.get(place.range_of(line)?));
    let mut lines = lines.take(MAX_LINES);
    lines.any(|line| occurrences(line, name).next().is_some())
}
