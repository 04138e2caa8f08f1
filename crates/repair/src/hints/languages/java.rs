//! javac, also behind Maven and Gradle.

use super::super::Hint;
use super::super::place::groups;
use super::{HintPlace, Said, inserted, line_above, misspelled, unknown};

pub(super) fn hints(place: &HintPlace<'_>) -> Option<Said> {
    symbol(place)
        .or_else(|| token(place))
        .or_else(|| exception(place))
        .or_else(|| types(place))
        .or_else(|| other(place))
}

fn symbol(place: &HintPlace<'_>) -> Option<Said> {
    if let Some(found) = place.says(r"package (\w+) does not exist") {
        let name = found.first()?;
        return place.line_text().contains(name).then(|| unknown(place, name, &[]))?;
    }
    place.says(r"(cannot find symbol)")?;
    let found = place.says(r"(?m)symbol: +(class|variable|method|interface|static) (\w+)")?;
    let [kind, name] = found.as_slice() else { return None };
    let is_of_a_value = place.says(r"(?m)location: +(variable|class) .* of type").is_some();
    match kind.as_str() {
        "method" => misspelled(place, name, &[]),
        "variable" if is_of_a_value => misspelled(place, name, &[]),
        _ => unknown(place, name, &[]),
    }
}

fn token(place: &HintPlace<'_>) -> Option<Said> {
    if place.says(r"(reached end of file while parsing)").is_some() {
        let text = place.text.trim_end();
        let hint = place.replace(text.len()..text.len(), "\n}", 0.9);
        return Some(("end of file".into(), vec![hint]));
    }
    if place.says(r"(unclosed string literal)").is_some() {
        let code = place.line_text().trim_end();
        let inner = code.trim_end_matches([')', ';', ',']);
        let at = place.range().start + inner.len();
        return Some(("unclosed string".into(), vec![place.replace(at..at, "\"", 1.0)]));
    }
    let found = place
        .says(r"error: '?(;|\)|\]|\}|\{|,)'?(?:, '?(?:\)|\]|;)'?)*(?: or '?\S'?)? expected")
        .or_else(|| place.says(r"(?m)^(?:.*\] )?'(;|\)|\]|\}|\{|,)'(?:, '?\S'?)*(?: or '?\S'?)? expected"))?;
    let mut hints = inserted(place, &found.concat(), " //");
    if let Some(or) = place.says(r"'\S'(?:, '\S')* or '(\S)' expected") {
        hints.extend(inserted(place, &or.concat(), " //"));
    }
    Some((format!("expected {}", found.concat()), hints))
}

fn exception(place: &HintPlace<'_>) -> Option<Said> {
    let found = place.says(r"unreported exception (\w+); must be caught or declared to be thrown")?;
    let name = found.first()?;
    let (line, text) = line_above(place, |line| {
        groups(r"^\s+(?:[\w@<>\[\], ?]+ )?\w+\([^)]*\)[^;]*\{\s*$", line).is_some()
            && groups(
                r"^\s*(?:if|for|while|switch|catch|\} |try|synchronized|else|new)\b",
                line,
            )
            .is_none()
    })?;
    let at = place.range_of(line)?.start + text.rfind('{')?;
    let is_known = place.text.contains(&format!(".{name};"))
        || place.text.contains(&format!("class {name} "))
        || matches!(
            name.as_str(),
            "Exception" | "InterruptedException" | "CloneNotSupportedException" | "ClassNotFoundException"
        );
    let has_throws = text.contains(" throws ");
    let (start, added) = match has_throws {
        true => (at, format!(", {name} ")),
        false => (at, format!("throws {name} ")),
    };
    let mut changes = vec![match has_throws {
        true => {
            let end = place.text.get(..at)?.trim_end().len();
            place.change(end..at, added)
        }
        false => place.change(start..start, added),
    }];
    if !is_known {
        let import = super::imports::missing(place, name).into_iter().next()?;
        changes.extend(import.changes);
    }
    changes.sort();
    Some((format!("unreported {name}"), vec![Hint::new(changes, 0.95)]))
}

fn types(place: &HintPlace<'_>) -> Option<Said> {
    let range = place.range();
    let line = place.line_text();
    if let Some(found) = place.says(r"incompatible types: possible lossy conversion from (\w+) to (\w+)") {
        let to = found.get(1)?;
        let mut hints = Vec::new();
        if let Some(groups) = groups(r"^(\s*(?:return|[^=]*[^=!<>]=)\s+)([^;]+);\s*$", line)
            && let [before, value] = groups.as_slice()
        {
            let at = range.start + before.len();
            let is_simple = value
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '(' | ')'));
            let cast = if is_simple {
                format!("({to}) {value}")
            } else {
                format!("({to}) ({value})")
            };
            hints.push(place.replace(at..at + value.len(), cast, 0.95));
        }
        return Some((format!("lossy {}", found.join(" ")), hints));
    }
    let found = place.says(r"incompatible types: ([\w<>,.\[\] ?]+) cannot be converted to ([\w<>,.\[\] ?]+)")?;
    let [from, to] = found.as_slice() else { return None };
    let parts = groups(r"^(\s*(?:return|[^=]*[^=!<>]=)\s+)([^;]+);\s*$", line)?;
    let [before, value] = parts.as_slice() else { return None };
    let at = range.start + before.len();
    let offers: Vec<String> = match (from.as_str(), to.as_str()) {
        (_, "String") => vec![format!("String.valueOf({value})")],
        ("String", "int" | "Integer") => vec![format!("Integer.parseInt({value})")],
        ("String", "long" | "Long") => vec![format!("Long.parseLong({value})")],
        ("String", "double" | "Double") => vec![format!("Double.parseDouble({value})")],
        (kind, "int") if kind.starts_with("Optional") => vec![format!("{value}.orElse(0)")],
        ("Object", other) => vec![format!("({other}) {value}")],
        (_, other) if other.starts_with("Optional<") => vec![format!("Optional.ofNullable({value})")],
        (_, other) if other.starts_with("List<") && from.ends_with("[]") => vec![format!("Arrays.asList({value})")],
        _ => Vec::new(),
    };
    let hints = offers
        .into_iter()
        .map(|text| place.replace(at..at + value.len(), text, 0.9))
        .collect();
    Some((format!("incompatible {from} {to}"), hints))
}

fn other(place: &HintPlace<'_>) -> Option<Said> {
    let indentation = place.indentation(place.line).to_string();
    let method = |line: &str| {
        groups(
            r"^\s+(?:(?:public|protected|private|static|final|synchronized|abstract) )*([\w<>\[\], ?]+) \w+\([^)]*\)[^;]*\{\s*$",
            line,
        )
    };
    if place.says(r"(missing return statement)").is_some() {
        let (_, text) = line_above(place, |line| {
            method(line).is_some_and(|kind| !matches!(kind.concat().as_str(), "else" | "new" | "return"))
        })?;
        let kind = method(&text)?.concat();
        let values: &[&str] = match kind.trim() {
            "boolean" => &["false", "true"],
            "int" | "long" | "short" | "byte" | "double" | "float" | "char" => &["0"],
            _ => &["null"],
        };
        let mut weight = 0.95;
        let mut hints = Vec::new();
        for value in values {
            hints.extend(place.insert_before(place.line, &format!("{indentation}    return {value};\n"), weight));
            weight -= 0.15;
        }
        return Some(("missing return".into(), hints));
    }
    if let Some(found) = place.says(r"variable (\w+) might not have been initialized") {
        let name = found.first()?;
        let pattern = format!(r"^\s*(?:final )?([\w<>\[\]]+) {name};\s*$");
        let (line, text) = line_above(place, |line| groups(&pattern, line).is_some())?;
        let kind = groups(&pattern, &text)?.concat();
        let value = match kind.as_str() {
            "boolean" => "false",
            "int" | "long" | "short" | "byte" | "double" | "float" | "char" => "0",
            "String" => "\"\"",
            _ => "null",
        };
        let at = place.range_of(line)?.start + text.rfind(';')?;
        return Some((
            format!("uninitialized {name}"),
            vec![place.replace(at..at, format!(" = {value}"), 0.9)],
        ));
    }
    if place
        .says(r"(non-static (?:method|variable) .* cannot be referenced from a static context)")
        .is_some()
    {
        let (line, text) = line_above(place, |line| groups(r"(\bstatic\b.*\([^)]*\).*\{)", line).is_some())?;
        let at = place.range_of(line)?.start + text.find("static ")?;
        return Some(("static".into(), vec![place.replace(at..at + "static ".len(), "", 0.95)]));
    }
    let found = place.says(r"cannot assign a value to final variable (\w+)")?;
    let name = found.first()?;
    let pattern = format!(r"\bfinal [\w<>\[\], ]+ {name}\b");
    let at = (1..)
        .zip(place.text.lines())
        .find_map(|(line, text)| groups(&format!("({pattern})"), text).map(|_| line))?;
    let range = place.range_of(at)?;
    let start = range.start + place.text.get(range.clone())?.find("final ")?;
    Some((
        format!("final {name}"),
        vec![place.replace(start..start + "final ".len(), "", 0.9)],
    ))
}
