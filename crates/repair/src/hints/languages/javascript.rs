//! V8's errors, ESLint, and tsc where its language service is missing.

use super::super::Hint;
use super::super::place::{groups, occurrences};
use super::{HintPlace, Said, declared, inserted, line_above, misspelled, unknown};

pub(super) fn hints(place: &HintPlace<'_>) -> Option<Said> {
    name(place)
        .or_else(|| member(place))
        .or_else(|| constant(place))
        .or_else(|| syntax(place))
        .or_else(|| unused(place))
        .or_else(|| module(place))
}

fn suggested(place: &HintPlace<'_>) -> Vec<String> {
    place
        .says(r"Did you mean (?:the instance member )?'([\w.$]+)'")
        .unwrap_or_default()
}

fn name(place: &HintPlace<'_>) -> Option<Said> {
    let found = place
        .says(r"(?m)(?:^|: )'?([\w$]+)'? is not defined")
        .or_else(|| place.says(r"Cannot find name '([\w$]+)'"))
        .or_else(|| place.says(r"No value exists in scope for the shorthand property '([\w$]+)'"))?;
    let name = found.first()?;
    let mut said = unknown(place, name, &suggested(place))?;
    let foreign = [
        ("None", "null"),
        ("nil", "null"),
        ("True", "true"),
        ("False", "false"),
        ("self", "this"),
    ];
    for (foreign, own) in foreign {
        if name == foreign {
            said.1.extend(place.rename(name, own, 1.0));
        }
    }
    said.1
        .extend(declared::before_loop(place, name, declared::Way::JavaScript));
    // A method or field of the same object.
    let own = [
        format!(r"(?m)^\s+(?:async |get |static |private |readonly )*{name}\s*(?:\(|=|:)"),
        format!(r"this\.{name} = "),
    ];
    let is_own = own
        .iter()
        .any(|pattern| regex::Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(&place.text)));
    if is_own && place.text.contains("class ") {
        said.1.extend(place.rename(name, &format!("this.{name}"), 0.99));
    }
    Some(said)
}

fn member(place: &HintPlace<'_>) -> Option<Said> {
    let found = place
        .says(r"(?m)(?:^|: |\.)([\w$]+) is not a function")
        .or_else(|| place.says(r"Property '([\w$]+)' does not exist on type"))
        .or_else(|| {
            place.says(r"(?:Cannot read properties of undefined|Cannot set properties of undefined) .*?'([\w$]+)'")
        })?;
    let name = found.first()?;
    misspelled(place, name, &suggested(place))
}

fn constant(place: &HintPlace<'_>) -> Option<Said> {
    let is_said = place.says(r"(Assignment to constant variable)").is_some();
    let named = place
        .says(r"Cannot assign to '([\w$]+)' because it is a constant")
        .or_else(|| place.says(r"'([\w$]+)' is constant"));
    if !is_said && named.is_none() {
        return None;
    }
    let line = place.line_text();
    let (at, text) = line_above(place, |other| {
        groups(r"\bconst ([\w$]+)\b", other).is_some_and(|name| {
            let name = name.concat();
            let is_assigned = regex::Regex::new(&format!(
                r"(?:^|[^.\w$]){0}\s*(?:[-+*/%&|^]|\*\*|\|\||&&|\?\?|<<|>>)?=[^=>]|(?:\+\+|--){0}\b|\b{0}(?:\+\+|--)",
                regex::escape(&name)
            ));
            occurrences(line, &name).next().is_some() && is_assigned.is_ok_and(|pattern| pattern.is_match(line))
        })
    })?;
    let start = place.range_of(at)?.start + text.find("const ")?;
    Some((
        "constant".into(),
        vec![place.replace(start..start + "const".len(), "let", 1.0)],
    ))
}

fn syntax(place: &HintPlace<'_>) -> Option<Said> {
    if place
        .says(r"(await is only valid in async functions|'await' expressions are only allowed within async)")
        .is_some()
    {
        let line = place.line_text();
        let mut hints = Vec::new();
        let start = place.range().start;
        let before = line.find("await ").and_then(|at| line.get(..at)).unwrap_or_default();
        if let Some(at) = before.rfind("=>") {
            let head = before.get(..at).unwrap_or_default().trim_end();
            let open = match head.ends_with(')') {
                true => head.rfind('('),
                false => head.rfind(|c: char| !c.is_alphanumeric() && c != '_').map(|at| at + 1),
            };
            hints.extend(open.map(|at| place.replace(start + at..start + at, "async ", 1.0)));
        }
        let function = line_above(place, |line| {
            groups(r"^\s*(?:export |default |static )*(?:function\b|[\w$]+\([^)]*\)[^;=]*\{\s*$|(?:const|let) [\w$]+ = (?:function|\())", line).is_some() && groups(r"^\s*(if|for|while|switch|catch)\b", line).is_none()
        });
        if let Some((at, text)) = function {
            let range = place.range_of(at)?;
            let offset = text
                .find("function")
                .or_else(|| text.find("= (").map(|at| at + 2))
                .unwrap_or(text.len() - text.trim_start().len());
            hints.push(place.replace(range.start + offset..range.start + offset, "async ", 0.95));
        }
        return Some(("await".into(), hints));
    }
    let found = place.says(r"(?m)(?:SyntaxError: |Parsing error: |^)(missing \) after argument list|Unexpected token '?\S+?'?|Unexpected identifier.*|Invalid or unexpected token|Unexpected end of input|missing \) .*|'[);}\],]' expected\.?)$")?;
    let says = found.concat();
    let tokens: &[&str] = match says.as_str() {
        says if says.starts_with("missing )") || says.starts_with("')'") => &[")"],
        says if says.starts_with("';'") => &[";"],
        says if says.starts_with("'}'") => &["}"],
        says if says.starts_with("']'") => &["]"],
        says if says.starts_with("','") => &[","],
        says if says.starts_with("Unexpected token '}'") => &[")", "]"],
        says if says.starts_with("Unexpected token ';'") => &[")", "]", "}"],
        says if says.starts_with("Unexpected identifier") => &[",", ")", ";"],
        "Invalid or unexpected token" => &["'", "\"", "`"],
        "Unexpected end of input" => &["}", "\n}"],
        _ => &[")", "}", ","],
    };
    let mut hints = Vec::new();
    for token in tokens {
        hints.extend(inserted(place, token, " //"));
        // Before the end of the statement.
        let code = place.line_text().trim_end();
        for end in [";", " {", ");", "},"] {
            if let Some(inner) = code.strip_suffix(end) {
                let at = place.range().start + inner.len();
                hints.push(place.replace(at..at, *token, 0.98));
            }
        }
    }
    if says == "Unexpected end of input" {
        let end = place.text.trim_end().len();
        hints.push(place.replace(end..end, "\n}", 0.9));
    }
    Some((format!("syntax {says}"), hints))
}

fn unused(place: &HintPlace<'_>) -> Option<Said> {
    let range = place.range();
    let line = place.line_text();
    if place.says(r"Expected '(===|!==)' and instead saw").is_some() {
        let mut changes = Vec::new();
        for (from, to) in [(" == ", " === "), (" != ", " !== ")] {
            changes.extend(
                line.match_indices(from)
                    .map(|(at, _)| place.change(range.start + at..range.start + at + from.len(), to)),
            );
        }
        changes.sort();
        return Some(("eqeqeq".into(), vec![Hint::new(changes, 0.9)]));
    }
    let found = place.says(r"'([\w$]+)' is (?:assigned a value but never used|defined but never used|declared but its value is never read|declared but never used)")?;
    let name = found.first()?;
    let mut hints = Vec::new();
    let declared = groups(
        &format!(
            r"^\s*(?:const|let|var) {}(?:: [^=]+)? = ([^;]+);?\s*$",
            regex::escape(name)
        ),
        line,
    );
    if let Some(value) = declared {
        let has_effect = value.concat().contains(['(', '`', '+']) && value.concat().contains('(');
        match has_effect {
            false => hints.push(place.remove_line(0.95)),
            true => {
                let start = range.start + line.len() - line.trim_start().len();
                let end = range.start + line.find("= ")? + 2;
                hints.push(place.replace(start..end, "", 0.8));
            }
        }
    }
    if line.starts_with("import ") || line.contains("require(") {
        let listed = groups(r"\{([^}]*)\}", line).map(|names| names.concat());
        match listed.filter(|names| names.contains(',')) {
            Some(names) => {
                let rest: Vec<&str> = names
                    .split(',')
                    .map(str::trim)
                    .filter(|other| occurrences(other, name).next().is_none() && !other.is_empty())
                    .collect();
                let at = range.start + line.find(names.as_str())?;
                hints.push(place.replace(at..at + names.len(), format!(" {} ", rest.join(", ")), 1.0));
            }
            None => hints.push(place.remove_line(1.0)),
        }
    }
    Some((format!("unused {name}"), hints))
}

/// A module of the project that cannot be found.
fn module(place: &HintPlace<'_>) -> Option<Said> {
    let found = place.says(r"Cannot find module '(\.[^']+)'")?;
    let name = found.first()?;
    let last = name.rsplit('/').next()?;
    let stem = last.split('.').next()?;
    let at = place.range().start + place.line_text().find(name.as_str())?;
    let start = at + name.len() - last.len();
    let mut hints = Vec::new();
    for path in place.checkout.paths().into_iter().take(20_000) {
        let file = path.as_str().rsplit('/').next().unwrap_or_default();
        let other = file.split('.').next().unwrap_or_default();
        if let Some(weight) = super::names::likeness(stem, other) {
            let text = if last.contains('.') { file } else { other };
            hints.push(place.replace(start..start + last.len(), text, weight));
        }
    }
    hints.truncate(6);
    Some((format!("no module {name}"), hints))
}
