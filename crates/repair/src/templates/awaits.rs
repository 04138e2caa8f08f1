//! Waits for an asynchronous call whose result was taken for its value.

use super::site::{Edit, Site};
use crate::template::Template;

/// Functions in the grammars of Python, JavaScript and TypeScript.
const FUNCTIONS: [&str; 6] = [
    "arrow_function",
    "function_declaration",
    "function_definition",
    "function_expression",
    "generator_function_declaration",
    "method_definition",
];
/// How likely a call of a function that the file does not define has to be waited for.
const UNKNOWN: f32 = 0.5;

/// `f(x)` becomes `await f(x)` in an asynchronous function.
pub(super) fn edits(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let Some(callee) = place.callee().filter(|_| !place.parent_kind().starts_with("await")) else {
        return;
    };
    let around = (1..place.path.len()).filter_map(|levels| place.above(levels));
    let function = around
        .map(|step| step.node)
        .find(|node| FUNCTIONS.contains(&node.kind()));
    let is_async = function.is_some_and(|function| {
        let text = place.source.text_of(function).trim_start_matches("static ");
        text.starts_with("async") && !text.starts_with("async fn")
    });
    if !is_async {
        return;
    }
    let text = &place.source.text;
    let says = |before: &str, after: &str| text.contains(&format!("{before}{callee}{after}"));
    let is_waited_for = says("async def ", "(")
        || says("async function ", "(")
        || says("async ", "(")
        || says("", " = async ")
        || says("await ", "(")
        || says("await self.", "(")
        || says("await this.", "(");
    let is_other = says("def ", "(") || says("function ", "(") || says("class ", "");
    let likeness = match (is_waited_for, is_other) {
        (true, _) => 1.0,
        (false, true) => return,
        (false, false) => UNKNOWN,
    };
    let is_part = matches!(place.field(), "object" | "value" | "function")
        && matches!(
            place.parent_kind(),
            "attribute" | "subscript" | "member_expression" | "subscript_expression" | "call" | "call_expression"
        );
    let waited = match is_part {
        true => format!("(await {})", place.text()),
        false => format!("await {}", place.text()),
    };
    found.push(place.edit(waited, Template::Await).similar(likeness));
}

#[cfg(test)]
mod tests {
    use crate::templates::tests::{offers, offers_not};

    #[test]
    fn a_call_is_waited_for_where_that_is_possible() {
        let python = "async def rate(code):\n    return 2\n\n\nasync def total(code):\n    return rate(code) * 2\n";
        offers("a.py", python, &[&python.replace("return rate", "return await rate")]);
        offers_not("a.py", &python.replace("async def total", "def total"), "await");
        offers_not("a.py", &python.replace("async def rate", "def rate"), "await");
        let script = "const rate = async (code) => 2\nasync function total(code) {\n  return rate(code).length\n}\n";
        offers("a.js", script, &[&script.replace("rate(code).", "(await rate(code)).")]);
        offers_not(
            "a.js",
            &script.replace("rate(code).", "(await rate(code))."),
            "await await",
        );
        offers_not(
            "a.rs",
            "async fn rate() -> u8 { 2 }\nasync fn total() -> u8 { rate() }\n",
            "await ",
        );
    }
}
