//! gcc and clang.

use super::{HintPlace, Said, inserted, misspelled, unknown};

pub(super) fn hints(place: &HintPlace<'_>) -> Option<Said> {
    let quoted = |pattern: &str| place.says(&pattern.replace('Q', "['‘’`]"));
    let suggested = quoted(r"did you mean Q(\w+)Q").unwrap_or_default();
    if let Some(found) = quoted(r"has no member named Q(\w+)Q").or_else(|| quoted(r"no member named Q(\w+)Q")) {
        return misspelled(place, found.first()?, &suggested);
    }
    let name = quoted(r"Q(\w+)Q undeclared")
        .or_else(|| quoted(r"use of undeclared identifier Q(\w+)Q"))
        .or_else(|| quoted(r"implicit declaration of function Q(\w+)Q"))
        .or_else(|| quoted(r"call to undeclared (?:library )?function Q(\w+)Q"))
        .or_else(|| quoted(r"unknown type name Q(\w+)Q"))
        .or_else(|| quoted(r"Q(\w+)Q was not declared in this scope"));
    if let Some(name) = name {
        let name = name.first()?;
        let mut said = unknown(place, name, &suggested)?;
        if let Some(header) = place.says(r"include '?<([\w./]+)>") {
            let line = format!("#include <{}>\n", header.concat());
            let at = place
                .text
                .lines()
                .enumerate()
                .filter(|(_, line)| line.starts_with("#include"))
                .last()
                .map_or(0, |(at, _)| at + 1);
            let at = u32::try_from(at).ok()?.checked_add(1)?;
            said.1.extend(place.insert_before(at, &line, 1.0));
        }
        return Some(said);
    }
    if quoted(r"expected Q[,=]Q.* or Q(;)Q before").is_some() || quoted(r"expected Q[,=]Q, .*Q(;)Q").is_some() {
        return Some(("expected ;".into(), inserted(place, ";", "//")));
    }
    let found = quoted(r"expected Q([;,)\]}])Q (?:before|after|at)").or_else(|| quoted(r"expected Q([;,)\]}])Q"))?;
    Some((
        format!("expected {}", found.concat()),
        inserted(place, &found.concat(), "//"),
    ))
}
