//! A variable that has no value yet: it is declared before the loop that uses it, with a value that fits its use, or it
//! is that of the module.

use super::super::Hint;
use super::super::place::occurrences;
use super::{HintPlace, line_above};

/// Maximum number of lines of a function that are looked at.
const MAX_LINES: u32 = 400;
/// Maximum number of values that are offered.
const MAX_VALUES: usize = 3;
/// What is done to a variable (`{}`), and the values that it then begins with: in Python and in JavaScript.
const USES: &[(&str, &str, &str)] = &[
    ("{}.append(", "[]", "[]"),
    ("{}.extend(", "[]", "[]"),
    ("{}.insert(", "[]", "[]"),
    ("{}.push(", "[]", "[]"),
    ("{}.unshift(", "[]", "[]"),
    ("{}.add(", "set()", "new Set()"),
    ("{}.set(", "{}", "new Map()"),
    ("{}.get(", "{}", "new Map()"),
    ("{} += \"", "''", "''"),
    ("{} += '", "''", "''"),
    ("{} += `", "''", "''"),
    ("{} += str(", "''", "''"),
    ("{} += [", "[]", "[]"),
    ("{} + [", "[]", "[]"),
    ("{} += (", "()", "0"),
    ("{} *= ", "1", "1"),
    ("{} += ", "0", "0"),
    ("{} -= ", "0", "0"),
    ("{}++", "0", "0"),
    ("{} + ", "0", "0"),
    ("{}[", "{}", "{}"),
];

/// What belongs to the block before it.
const CONTINUED: [&str; 7] = ["else", "elif ", "except", "finally", "}", ")", "]"];

/// How a language declares a variable.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Python,
    JavaScript,
}

/// Whether a function or a method of JavaScript begins in the line.
fn is_script_function(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default().trim();
    let is_branch = ["if", "for", "while", "switch", "catch", "}", "else", "do", "try"]
        .iter()
        .any(|word| code.strip_prefix(word).is_some_and(|rest| rest.starts_with([' ', '('])));
    let is_method = code.ends_with(") {") && !is_branch && !code.contains(['=', '.']);
    is_method || code.ends_with("=> {") || occurrences(code, "function").next().is_some()
}

/// Declarations of a variable that the line uses, in the function around it. None, if nothing shows what it holds.
pub(super) fn before_loop(place: &HintPlace<'_>, name: &str, way: Way) -> Vec<Hint> {
    let text = |line: u32| place.range_of(line).and_then(|range| place.text.get(range));
    let is_blank = |line: &str| line.trim().is_empty();
    let width = |line: &str| line.len() - line.trim_start().len();
    // Upwards to the function, and there to the last statement of its body at or above the line.
    let (mut least, mut first) = (width(place.line_text()), place.line);
    let mut function = 1;
    // An `else` needs the `if` before it.
    let mut continues = false;
    for line in (place.line.saturating_sub(MAX_LINES).max(1)..place.line).rev() {
        let Some(here) = text(line).filter(|here| !is_blank(here)) else {
            continue;
        };
        if width(here) > least || (width(here) == least && !continues) {
            continue;
        }
        continues = CONTINUED.iter().any(|word| here.trim_start().starts_with(word));
        let is_function = match way {
            Way::Python => here.trim_start().trim_start_matches("async ").starts_with("def "),
            Way::JavaScript => is_script_function(here),
        };
        if is_function {
            function = line;
            break;
        }
        least = width(here);
        if !continues {
            first = line;
        }
    }
    let uses = (function..function.saturating_add(MAX_LINES)).map_while(text);
    let uses: Vec<&str> = uses.filter(|line| occurrences(line, name).next().is_some()).collect();
    let mut values: Vec<&str> = Vec::new();
    for (pattern, python, script) in USES {
        let used = pattern.replace("{}", name);
        let value = if way == Way::Python { python } else { script };
        if !values.contains(value) && uses.iter().any(|line| line.contains(&used)) {
            values.push(value);
        }
    }
    let indent = place.indentation(first).to_string();
    let hints = values
        .iter()
        .zip([0.9, 0.85, 0.8])
        .take(MAX_VALUES)
        .filter_map(|(value, weight)| {
            let line = match way {
                Way::Python => format!("{indent}{name} = {value}\n"),
                Way::JavaScript => format!("{indent}let {name} = {value};\n"),
            };
            place.insert_before(first, &line, weight)
        });
    hints.collect()
}

/// `global name` for the function around the line, which assigns a variable of the module.
pub(super) fn global(place: &HintPlace<'_>, name: &str) -> Option<Hint> {
    let assigned = format!("{name} =");
    let is_outer = place.text.lines().any(|line| line.starts_with(&assigned));
    let (mut line, start) = line_above(place, |line| line.trim_start().starts_with("def ")).filter(|_| is_outer)?;
    let outside = start.len() - start.trim_start().len();
    // The parameters may go on in the next lines.
    if place.indentation(place.line).len() <= outside || !start.trim_end().ends_with(':') {
        return None;
    }
    let text = |line: u32| place.text.get(place.range_of(line)?).map(str::trim);
    if let Some(said) = text(line + 1).filter(|next| next.starts_with(['"', '\'', 'r']) && next.contains(['"', '\''])) {
        // A text that is not behind the head is no documentation.
        let is_whole = said.len() > 5 && (said.ends_with("\"\"\"") || said.ends_with("'''"));
        line += 1;
        if !is_whole {
            return None;
        }
    }
    let inside = place.indentation(line + 1);
    (inside.len() > outside).then(|| place.insert_before(line + 1, &format!("{inside}global {name}\n"), 1.0))?
}
