//! Changes numbers by one, and swaps true and false.

use super::site::{Edit, Site};
use crate::template::Template;

pub(super) fn edits(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let language = place.source.language;
    let kind = place.kind();
    if !place.node().is_named() {
        return;
    }
    let [yes, no] = language.truths;
    match place.text() {
        text if text == yes && kind != "identifier" => found.push(place.edit(no, Template::Truth)),
        text if text == no && kind != "identifier" => found.push(place.edit(yes, Template::Truth)),
        _ if language.integers.contains(&kind) => integer(place, found),
        _ => {}
    }
    negative(place, found);
}

fn integer(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let Some((value, suffix)) = read(place.text()) else {
        return;
    };
    let is_negative = place
        .above(1)
        .is_some_and(|step| step.node.kind().starts_with("unary") && place.source.text_of(step.node).starts_with('-'));
    let mut offer = |value: u128, template| {
        let text = format!("{}{suffix}", write(value, place.text().contains('_')));
        found.push(place.edit(text, template));
    };
    if let Some(more) = value.checked_add(1) {
        offer(more, Template::Constant);
    }
    // There is no `-0`: the edit of the whole negative number offers `0`.
    if value > u128::from(is_negative) {
        offer(value - 1, Template::Constant);
    }
    if value > 1 && !is_negative {
        offer(0, Template::OtherConstant);
    }
    if value > 2 {
        offer(1, Template::OtherConstant);
    }
    let stands_alone = place.stands_in(place.source.language.values)
        || matches!(
            place.field(),
            "value" | "consequence" | "alternative" | "body" | "right"
        );
    if value > 0 && !is_negative && stands_alone && !place.parent_kind().starts_with("binary") {
        found.push(place.edit(format!("-{}", place.text()), Template::Sign));
    }
}

/// `-1` becomes `0` and `1`.
fn negative(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let digits = place.text().strip_prefix('-').map(str::trim_start);
    let Some(digits) = digits.filter(|_| place.kind().starts_with("unary")) else {
        return;
    };
    if let Some((value, suffix)) = read(digits) {
        if value == 1 {
            found.push(place.edit(format!("0{suffix}"), Template::Constant));
        }
        found.push(place.edit(digits, Template::OtherConstant));
    }
}

/// The value of a decimal literal and its type suffix.
fn read(text: &str) -> Option<(u128, &str)> {
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '_'))
        .unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    let is_suffix = suffix.is_empty() || suffix.starts_with(['u', 'i', 'f']);
    let value = digits.replace('_', "").parse().ok()?;
    is_suffix.then_some((value, suffix))
}

/// Formats the number, in groups of three if `is_grouped`.
fn write(value: u128, is_grouped: bool) -> String {
    let digits = value.to_string();
    if !is_grouped {
        return digits;
    }
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('_');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_keep_their_looks() {
        assert_eq!(read("10u32"), Some((10, "u32")));
        assert_eq!(read("1_000"), Some((1000, "")));
        assert_eq!(read("1_000_i64"), Some((1000, "i64")));
        assert_eq!(read("0x1f"), None);
        assert_eq!(read("1.5"), None);
        assert_eq!(write(1_001, true), "1_001");
        assert_eq!(write(999, true), "999");
        assert_eq!(write(1_234_567, true), "1_234_567");
        assert_eq!(write(1_234, false), "1234");
    }
}
