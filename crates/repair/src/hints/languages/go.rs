//! The Go compiler and vet.

use super::super::place::groups;
use super::super::{Hint, imports};
use super::{HintPlace, Said, inserted, misspelled, unknown};

pub(super) fn hints(place: &HintPlace<'_>) -> Option<Said> {
    member(place)
        .or_else(|| name(place))
        .or_else(|| unused(place))
        .or_else(|| assignment(place))
        .or_else(|| types(place))
        .or_else(|| other(place))
}

fn member(place: &HintPlace<'_>) -> Option<Said> {
    let found = place.says(
        r"([\w.()\[\]]+)\.(\w+) undefined \((?:[^()]|\([^()]*\))*?(?:but does have (?:method |field )?(\w+))?\)",
    )?;
    let [_, name, does_have] = found.as_slice() else {
        return None;
    };
    let suggested: Vec<String> = Some(does_have.clone())
        .filter(|name| !name.is_empty())
        .into_iter()
        .collect();
    misspelled(place, name, &suggested)
}

fn name(place: &HintPlace<'_>) -> Option<Said> {
    if let Some(found) = place.says(r"undefined: (\w+)\.(\w+)") {
        return misspelled(place, found.get(1)?, &[]);
    }
    let found = place.says(r"undefined: (\w+)")?;
    let name = found.first()?;
    let mut said = unknown(place, name, &[])?;
    // An assignment that should have been a declaration. Uses of the name follow from it.
    let declared = place.text.lines().position(|line| {
        line.trim_start()
            .strip_prefix(name.as_str())
            .is_some_and(|rest| rest.starts_with(" = "))
    });
    if let Some(at) = declared {
        let line = u32::try_from(at).ok()?.checked_add(1)?;
        let range = place.range_of(line)?;
        let sign = range.start + place.text.get(range.clone())?.find(" = ")? + 1;
        said.1.push(place.replace(sign..sign + 1, ":=", 1.0));
    }
    // A method of the receiver.
    let receiver = (1..=place.line)
        .rev()
        .find_map(|line| groups(r"^func \((\w+) [^)]*\)", place.text.get(place.range_of(line)?)?));
    if let Some(receiver) = receiver.filter(|_| place.text.contains(&format!(") {name}("))) {
        said.1
            .extend(place.rename(name, &format!("{}.{name}", receiver.concat()), 1.0));
    }
    Some(said)
}

fn unused(place: &HintPlace<'_>) -> Option<Said> {
    if let Some(found) = place.says(r#""([^"\s]+)" imported(?: as \w+)? and not used"#) {
        return Some((format!("unused {}", found.concat()), vec![place.remove_line(1.0)]));
    }
    let found = place
        .says(r"declared and not used: (\w+)")
        .or_else(|| place.says(r"(\w+) declared (?:and|but) not used"))?;
    let name = found.first()?;
    let range = place.range();
    let line = place.line_text();
    let mut hints = Vec::new();
    let words = place.words(name);
    // `x := f()` is removed if it does nothing else, and its value is dropped otherwise.
    let value =
        groups(&format!(r"^\s*(?:var )?{name}(?: [\w.\[\]*]+)?\s*:?=\s*(.+)$"), line).map(|found| found.concat());
    match value {
        Some(value) if !value.contains('(') && !value.ends_with(['{', ',', '(']) => hints.push(place.remove_line(0.95)),
        Some(_) => {
            let start = line.find(name.as_str()).map(|at| range.start + at);
            let sign = line.find(":=").map(|at| range.start + at);
            if let (Some(start), Some(sign)) = (start, sign) {
                hints.push(Hint::new(
                    vec![
                        place.change(start..start + name.len(), "_"),
                        place.change(sign..sign + 2, "="),
                    ],
                    0.9,
                ));
            }
        }
        None => {}
    }
    if line.contains(',') {
        let all = line.split(":=").next().unwrap_or_default();
        let is_last = groups(
            r"([A-Za-z]\w*)",
            &all.replace(name.as_str(), "").replace("for", "").replace("if", ""),
        )
        .is_none();
        if let Some(word) = words.first() {
            let mut changes = vec![place.change(word.clone(), "_")];
            if is_last && let Some(sign) = line.find(":=").filter(|_| !line.contains("range")) {
                changes.push(place.change(range.start + sign..range.start + sign + 2, "="));
            }
            hints.push(Hint::new(changes, 0.9));
        }
    } else if groups(&format!(r"^\s*var {name} [\w.\[\]*]+$"), line).is_some() {
        hints.push(place.remove_line(0.95));
    }
    Some((format!("unused {name}"), hints))
}

fn assignment(place: &HintPlace<'_>) -> Option<Said> {
    let range = place.range();
    let line = place.line_text();
    if place.says(r"(no new variables on left side of :=)").is_some() {
        let sign = range.start + line.find(":=")?;
        return Some(("no new variables".into(), vec![place.replace(sign..sign + 2, "=", 1.0)]));
    }
    let found = place.says(r"assignment mismatch: (\d+) variables? but .+ returns? (\d+) values?")?;
    let (has, needs): (usize, usize) = (found.first()?.parse().ok()?, found.get(1)?.parse().ok()?);
    let sign = line.find(":=").or_else(|| line.find('='))?;
    let left = line.get(..sign)?.trim_end();
    let at = range.start + left.len();
    let mut hints = Vec::new();
    if needs > has && needs - has <= 3 {
        // This may drop an error, so that it is a finding at most.
        hints.push(place.replace(at..at, ", _".repeat(needs - has), 0.25));
    } else if has > needs && needs == 1 {
        let first = left.find(',')?;
        hints.push(place.replace(range.start + first..at, "", 0.9));
    }
    Some((format!("mismatch {has} {needs}"), hints))
}

fn types(place: &HintPlace<'_>) -> Option<Said> {
    let found = place.says(r"cannot use (.+?) \((?:variable|value|constant|untyped [\w ]*constant)[^()]*?(?:of (?:struct |\w+ )?type |of type )?([\w.*\[\]]+)\) as ([\w.*\[\]]+) value in ([\w ]+)")?;
    let [value, from, to, _] = found.as_slice() else {
        return None;
    };
    let line = place.line_text();
    let at = place.range().start + line.find(value.as_str())?;
    let range = at..at + value.len();
    let is_number = |kind: &str| {
        kind.trim_end_matches(|c: char| c.is_ascii_digit())
            .trim_start_matches('u')
            == "int"
            || kind.starts_with("float")
            || kind == "byte"
            || kind == "rune"
    };
    let mut hints = Vec::new();
    let mut offer = |text: String, weight: f32| hints.push(place.replace(range.clone(), text, weight));
    if to.strip_prefix('*') == Some(from) {
        offer(format!("&{value}"), 0.95);
    } else if from.strip_prefix('*') == Some(to) {
        offer(format!("*{value}"), 0.95);
    } else if (is_number(from) && is_number(to))
        || matches!(
            (from.as_str(), to.as_str()),
            ("string", "[]byte") | ("[]byte" | "rune", "string") | ("string", "[]rune")
        )
    {
        offer(format!("{to}({value})"), 0.95);
    } else if to == "string" && is_number(from) {
        offer(format!("strconv.Itoa({value})"), 0.85);
        if let Some(hint) = hints.last_mut()
            && let Some(import) = imports::missing(place, "strconv").into_iter().next()
        {
            hint.changes.extend(import.changes);
        }
    } else if is_number(to) && is_number(from.trim_start_matches('*')) {
        offer(format!("{to}({value})"), 0.9);
    }
    Some((format!("type {from} {to}"), hints))
}

fn other(place: &HintPlace<'_>) -> Option<Said> {
    let indentation = place.indentation(place.line).to_string();
    if place.says(r"(?m)(missing return)$").is_some() {
        // What the function returns decides what is returned at its end.
        let result = (1..place.line).rev().find_map(|line| {
            groups(
                r"^func (?:\([^)]*\) )?\w*\([^)]*\) ([\w.*\[\]]+) \{$",
                place.text.get(place.range_of(line)?)?,
            )
        });
        let values: &[&str] = match result?.concat().as_str() {
            "bool" => &["false", "true"],
            "string" => &["\"\""],
            "error" => &["nil"],
            kind if kind.starts_with(['*', '[']) || kind.starts_with("map") => &["nil"],
            kind if kind.starts_with("int") || kind.starts_with("uint") || kind.starts_with("float") => &["0"],
            _ => &[],
        };
        let mut weight = 0.95;
        let mut hints = Vec::new();
        for value in values {
            hints.extend(place.insert_before(place.line, &format!("{indentation}\treturn {value}\n"), weight));
            weight -= 0.15;
        }
        return Some(("missing return".into(), hints));
    }
    if let Some(found) = place.says(r"format (%\w) has arg \S+ of wrong type ([\w.\[\]*]+)") {
        let verb = found.first()?;
        let right = match found.get(1)?.as_str() {
            "string" | "error" => "%s",
            "bool" => "%t",
            kind if kind.contains("int") => "%d",
            kind if kind.starts_with("float") => "%g",
            _ => "%v",
        };
        let line = place.line_text();
        let start = place.range().start;
        let at = line.match_indices(verb.as_str()).map(|(at, _)| start + at).take(4);
        let mut hints: Vec<Hint> = at
            .clone()
            .map(|at| place.replace(at..at + verb.len(), right, 0.95))
            .collect();
        hints.extend(at.map(|at| place.replace(at..at + verb.len(), "%v", 0.8)));
        return Some((format!("format {verb}"), hints));
    }
    let found = place.says(r"syntax error: unexpected (.+?)(?:,| at |$)")?;
    let says = place.message;
    let mut hints = Vec::new();
    for (expected, token) in [
        ("expected )", ")"),
        ("possibly missing comma or )", ")"),
        ("possibly missing comma or }", ","),
        ("expected {", " {"),
        ("expected ]", "]"),
        ("possibly missing comma or ]", "]"),
    ] {
        if says.contains(expected) {
            hints.extend(inserted(place, token, " //"));
        }
    }
    Some((format!("syntax {}", found.concat()), hints))
}
