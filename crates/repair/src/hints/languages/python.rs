//! CPython, ruff and mypy.

use super::super::place::{groups, occurrences};
use super::super::{Hint, names};
use super::{HintPlace, Said, declared, line_above, misspelled, python_types, unknown};

/// Names of other languages.
const FOREIGN: [(&str, &str); 7] = [
    ("true", "True"),
    ("false", "False"),
    ("null", "None"),
    ("none", "None"),
    ("undefined", "None"),
    ("nil", "None"),
    ("this", "self"),
];
/// Functions that need no import.
const FUNCTIONS: [&str; 20] = [
    "abs",
    "all",
    "any",
    "bool",
    "dict",
    "enumerate",
    "float",
    "int",
    "isinstance",
    "len",
    "list",
    "max",
    "min",
    "range",
    "reversed",
    "set",
    "sorted",
    "str",
    "sum",
    "zip",
];
/// Words that begin a block.
const BLOCKS: [&str; 12] = [
    "if ", "elif ", "else", "for ", "while ", "def ", "class ", "try", "except", "finally", "with ", "async ",
];

pub(super) fn hints(place: &HintPlace<'_>) -> Option<Said> {
    syntax(place)
        .or_else(|| imports(place))
        .or_else(|| name(place))
        .or_else(|| python_types::hints(place))
        .or_else(|| member(place))
        .or_else(|| call(place))
        .or_else(|| unused(place))
}

/// The suggestion at the end of a message: `Did you mean: 'total'?`, or mypy's `maybe "total"?`.
fn suggested(place: &HintPlace<'_>) -> Vec<String> {
    let found = place.says(r#"(?:Did you mean:?|maybe) ['"](?:self\.)?(\w+)['"]"#);
    found.unwrap_or_default()
}

fn name(place: &HintPlace<'_>) -> Option<Said> {
    let found = place
        .says(r"name '(\w+)' is not defined")
        .or_else(|| place.says(r"F821 Undefined name `(\w+)`"))
        .or_else(|| place.says(r#"Name "(\w+)" is not defined"#))
        .or_else(|| {
            place.says(r"(?:cannot access (?:local|free) variable|local variable) '(\w+)' (?:where|referenced)")
        })?;
    let name = found.first()?;
    if place.words(name).is_empty() {
        return None;
    }
    if FOREIGN.iter().any(|(foreign, _)| foreign == name) {
        let changes = FOREIGN.iter().flat_map(|(foreign, own)| {
            let words = place.words(foreign);
            words
                .into_iter()
                .map(|range| place.change(range, *own))
                .collect::<Vec<_>>()
        });
        let mut changes: Vec<_> = changes.collect();
        changes.sort();
        return Some((format!("unknown {name}"), vec![Hint::new(changes, 1.0)]));
    }
    // A local variable is assigned in the function, so nothing has to be imported.
    let is_local = place.says("local variable").is_some();
    let mut said = match is_local {
        true => misspelled(place, name, &suggested(place))?,
        false => unknown(place, name, &suggested(place))?,
    };
    let declarations =
        declared::global(place, name)
            .into_iter()
            .chain(declared::before_loop(place, name, declared::Way::Python));
    // A local variable is assigned in the function, so nothing has to be imported.
    let at = if place.says("local variable").is_some() {
        0
    } else {
        said.1.len()
    };
    said.1.splice(at..at, declarations);
    // A method or attribute of the same object.
    let is_own = [
        format!("def {name}(self"),
        format!("self.{name} = "),
        format!("self.{name}: "),
    ];
    if is_own.iter().any(|own| place.text.contains(own)) && line_above(place, |line| line.contains("(self")).is_some() {
        said.1.extend(place.rename(name, &format!("self.{name}"), 1.0));
    }
    Some(said)
}

fn member(place: &HintPlace<'_>) -> Option<Said> {
    let found = place
        .says(r"has no attribute '(\w+)'")
        .or_else(|| place.says(r#"has no attribute "(\w+)""#))?;
    let name = found.first()?;
    let said = misspelled(place, name, &suggested(place));
    // A function that is no method.
    let own = format!("self.{name}(");
    let is_function = FUNCTIONS.contains(&name.as_str()) || place.text.lines().any(|line| defines(line, name));
    let line = place.line_text();
    let at = line.match_indices(&own).map(|(at, _)| at).find(|at| {
        let before = line.get(..*at).unwrap_or_default();
        !before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.'))
    });
    let Some(at) = at.filter(|_| is_function).map(|at| place.range().start + at) else {
        return said;
    };
    let (says, mut hints) = said.unwrap_or_else(|| (format!("unknown {name}"), Vec::new()));
    hints.push(place.replace(at..at + own.len(), format!("{name}("), 1.0));
    Some((says, hints))
}

/// Whether a line without indentation defines or imports a function.
fn defines(line: &str, name: &str) -> bool {
    let rest = ["def ", "async def "].iter().find_map(|word| line.strip_prefix(word));
    let imported = line
        .strip_prefix("from ")
        .and_then(|line| Some(line.split_once(" import ")?.1));
    let is_name = |text: &str| text.split(|c: char| !(c.is_alphanumeric() || c == '_')).next() == Some(name);
    let binds = |part: &str| {
        is_name(
            part.rsplit(" as ")
                .next()
                .unwrap_or(part)
                .trim()
                .trim_start_matches('('),
        )
    };
    rest.is_some_and(is_name) || imported.is_some_and(|names| names.split(',').any(binds))
}

fn imports(place: &HintPlace<'_>) -> Option<Said> {
    if let Some(found) = place.says(r"cannot import name '(\w+)' from (?:partially initialized module )?'([\w.]+)'") {
        let [name, module] = found.as_slice() else { return None };
        let (_, mut hints) = everywhere(place, name)?;
        // From another module, if it is not a matter of spelling.
        let line = place.line_text();
        if line.trim_start().starts_with("from ") {
            for other in super::imports::missing(place, name) {
                let text = other.changes.first().map(|change| change.text.trim().to_string());
                hints.extend(text.map(|text| place.replace(place.range(), text, 0.9)));
            }
        }
        return Some((format!("no {name} in {module}"), hints));
    }
    let found = place.says(r"No module named '([\w.]+)'")?;
    let module = found.first()?;
    let last = module.split('.').find(|part| !place.words(part).is_empty())?;
    let mut hints = Vec::new();
    for (other, weight) in modules(place, last) {
        hints.extend(place.rename(last, &other, weight));
    }
    Some((format!("no module {module}"), hints))
}

/// Replaces a name in the whole file: in the import, and where it is used.
fn everywhere(place: &HintPlace<'_>, name: &str) -> Option<Said> {
    if place.words(name).is_empty() {
        return None;
    }
    let mut hints = Vec::new();
    let module = place.says(r"from '([\w.]+)'").unwrap_or_default().concat();
    let mut near = of_module(place, &module, name);
    near.extend(names::near(place, name, &suggested(place)));
    for (other, weight) in near {
        let used = occurrences(&place.text, name).take(100);
        let changes: Vec<_> = used
            .map(|at| place.change(at..at + name.len(), other.as_str()))
            .collect();
        hints.push(Hint::new(changes, weight));
        hints.extend(place.rename(name, &other, weight * 0.95));
    }
    Some((format!("unknown {name}"), hints))
}

/// Names of a module that are spelled like this one.
fn of_module(place: &HintPlace<'_>, module: &str, name: &str) -> Vec<(String, f32)> {
    let path = module.replace('.', "/");
    let files = [
        format!("{path}.py"),
        format!("{path}/__init__.py"),
        format!("src/{path}.py"),
        format!("src/{path}/__init__.py"),
    ];
    let own = files.iter().find_map(|file| place.checkout.read_text(file));
    let known = super::imports::members(module)
        .map(String::from)
        .chain(own.iter().flat_map(|text| {
            text.lines()
                .filter_map(|line| Some(groups(r"^(?:def |class |async def )?(\w+)\b", line)?.concat()))
        }));
    let near = known.filter_map(|other| Some((names::likeness(name, &other)?, other)));
    let mut near: Vec<(String, f32)> = near.map(|(weight, other)| (other, (weight + 0.04).min(1.0))).collect();
    near.sort_by(|a, b| b.1.total_cmp(&a.1));
    near.dedup();
    near
}

/// Modules that are spelled like this one: of the project and of the standard library.
fn modules(place: &HintPlace<'_>, name: &str) -> Vec<(String, f32)> {
    let own = place.checkout.paths().into_iter().filter_map(|path| {
        let path = path.as_str().strip_suffix(".py")?;
        Some(path.trim_end_matches("/__init__").rsplit('/').next()?.to_string())
    });
    let all = own
        .take(5_000)
        .chain(super::imports::python_modules().map(String::from));
    let mut near: Vec<(String, f32)> = all
        .filter_map(|other| Some((names::likeness(name, &other)?, other)))
        .map(|(weight, other)| (other, weight))
        .collect();
    near.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    near.dedup();
    near.truncate(6);
    near
}

/// Calls that do not fit the called function.
fn call(place: &HintPlace<'_>) -> Option<Said> {
    if let Some(found) = place.says(r"got an unexpected keyword argument '(\w+)'") {
        return misspelled(place, found.first()?, &suggested(place));
    }
    let found = place.says(r"(\w+)\(\) takes (\d+) positional arguments? but (\d+) (?:was|were) given")?;
    let [name, takes, given] = found.as_slice() else {
        return None;
    };
    let is_one_more = given.parse::<u32>().ok()? == takes.parse::<u32>().ok()? + 1;
    let start = format!("def {name}(");
    let at = place.text.find(&start).filter(|_| is_one_more)? + start.len();
    let is_method = place.text.get(..at)?.lines().last()?.starts_with([' ', '\t']);
    let rest = place.text.get(at..)?;
    let self_ = if rest.starts_with(')') { "self" } else { "self, " };
    let hints = is_method.then(|| place.replace(at..at, self_, 1.0));
    Some((format!("{name} takes {takes}"), hints.into_iter().collect()))
}

fn unused(place: &HintPlace<'_>) -> Option<Said> {
    let found = place.says(r"E711 Comparison|E712 Comparison").map(|_| ());
    if found.is_some() {
        let line = place.line_text();
        let mut text = line.to_string();
        for (from, to) in [
            (" == None", " is None"),
            (" != None", " is not None"),
            (" == True", " is True"),
            (" == False", " is False"),
            (" != True", " is not True"),
            (" != False", " is not False"),
        ] {
            text = text.replace(from, to);
        }
        return (text != line).then(|| ("comparison".into(), vec![place.replace(place.range(), text, 0.9)]));
    }
    None
}

/// Errors of the parser. Several things are tried, as CPython only guesses.
fn syntax(place: &HintPlace<'_>) -> Option<Said> {
    let found = place
        .says(r"(?m)(?:SyntaxError|IndentationError|TabError|E999 \w+|invalid-syntax)\w*:? ?(.*)$")
        .or_else(|| place.says(r"(?m)^(?:Syntax error|SyntaxError)[: ]+(.*)$"))?;
    let says = found.first()?.clone();
    let line = place.line_text();
    let code = line.trim_end();
    let mut hints = Vec::new();
    if says.contains("indent") {
        hints.extend(indentations(place));
    }
    let begins = BLOCKS.iter().any(|word| line.trim_start().starts_with(word));
    if begins && !code.ends_with(':') {
        hints.push(place.append(":", if says.contains("':'") { 1.0 } else { 0.9 }, " #"));
    }
    if says.contains("'=='") || (begins && says.contains("invalid syntax")) {
        for (at, _) in line.match_indices(" = ").take(4) {
            let start = place.range().start + at;
            hints.push(place.replace(start..start + 3, " == ", 0.97));
        }
    }
    if let Some(open) = groups(r"'([\(\[\{])' was never closed", &says) {
        let closing = match open.concat().as_str() {
            "(" => ")",
            "[" => "]",
            _ => "}",
        };
        hints.push(place.append(closing, 1.0, " #"));
        if code.ends_with(':') {
            let at = place.range().start + code.len() - 1;
            hints.push(place.replace(at..at, closing, 1.0));
        }
        for at in line
            .match_indices(closing)
            .map(|(at, _)| place.range().start + at)
            .take(4)
        {
            hints.push(place.replace(at..at, closing, 0.8));
        }
    }
    if let Some(surplus) = groups(r"unmatched '([\)\]\}])'", &says) {
        for (at, mark) in line.match_indices(surplus.concat().as_str()).take(6) {
            let start = place.range().start + at;
            hints.push(place.replace(start..start + mark.len(), "", 0.9));
        }
    }
    if says.contains("unterminated") || says.contains("EOL while scanning") {
        let column = place.caret().or_else(|| line.rfind(['"', '\'']));
        let quote = column.and_then(|column| line.get(column..)?.chars().find(|c| matches!(c, '"' | '\'')));
        let quote = quote.map(|quote| quote.to_string()).unwrap_or_default();
        let inner = code.trim_end_matches([')', ']', '}', ',', ':']);
        let at = place.range().start + inner.len();
        hints.push(place.replace(at..at, quote.as_str(), 1.0));
        hints.push(place.append(&quote, 0.9, " #"));
    }
    if says.contains("forgot a comma") || says.contains("invalid syntax") {
        let spaces = line
            .trim_start()
            .match_indices(' ')
            .map(|(at, _)| at + line.len() - line.trim_start().len());
        for at in spaces.take(12) {
            let start = place.range().start + at;
            hints.push(place.replace(start..start, ",", 0.75));
        }
        hints.push(place.append(",", 0.8, " #"));
    }
    Some((format!("syntax {says}"), hints))
}

/// The line with the indentation of its neighbours.
fn indentations(place: &HintPlace<'_>) -> Vec<Hint> {
    let own = place.indentation(place.line).to_string();
    let mut offers: Vec<(String, f32)> = Vec::new();
    let above = (1..place.line).rev().find(|line| {
        place
            .range_of(*line)
            .and_then(|range| place.text.get(range))
            .is_some_and(|text| !text.trim().is_empty())
    });
    if let Some(above) = above {
        let indentation = place.indentation(above).to_string();
        let text = place
            .range_of(above)
            .and_then(|range| place.text.get(range))
            .unwrap_or_default();
        let step = if own.contains('\t') || indentation.contains('\t') {
            "\t"
        } else {
            "    "
        };
        if text.trim_end().ends_with(':') {
            offers.push((format!("{indentation}{step}"), 1.0));
        }
        let mut outer = indentation.clone();
        let mut weight = 0.97;
        loop {
            offers.push((outer.clone(), weight));
            if !outer.ends_with(step) || outer.is_empty() {
                break;
            }
            outer.truncate(outer.len() - step.len());
            // The nearest is the likeliest.
            weight = if own.len().abs_diff(outer.len()) < own.len().abs_diff(indentation.len()) {
                1.0
            } else {
                0.8
            };
        }
    }
    let start = place.range().start;
    let offers = offers.into_iter().filter(|(indentation, _)| *indentation != own);
    offers
        .map(|(indentation, weight)| place.replace(start..start + own.len(), indentation, weight))
        .collect()
}
