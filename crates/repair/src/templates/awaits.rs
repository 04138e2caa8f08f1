//! Waits for an asynchronous call whose result was taken for its value.

use super::known_names::KnownNames;
use super::scope::{is_async, is_function};
use super::site::{Edit, Site};
use crate::template::Template;

/// How likely a call of a function that the file does not define has to be waited for.
const UNKNOWN: f32 = 0.5;

/// `f(x)` becomes `await f(x)` in an asynchronous function.
pub(super) fn edits(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let Some(callee) = place.callee().filter(|_| !place.parent_kind().starts_with("await")) else {
        return;
    };
    let around = (1..place.path.len()).filter_map(|levels| place.above(levels));
    let function = around.map(|step| step.node).find(|node| is_function(*node));
    if !function.is_some_and(is_async) {
        return;
    }
    let likeness = match known.functions.get(callee) {
        Some(true) => 1.0,
        Some(false) => return,
        None => UNKNOWN,
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
        offers_not(
            "a.py",
            &python.replace("return rate(code)", "return (lambda: rate(code))()"),
            "lambda: await",
        );
        let script = "const rate = async (code) => 2\nasync function total(code) {\n  return rate(code).length\n}\n";
        offers("a.js", script, &[&script.replace("rate(code).", "(await rate(code)).")]);
        offers_not(
            "a.js",
            &script.replace("rate(code).", "(await rate(code))."),
            "await await",
        );
        offers_not("a.js", "class A { asyncMap(x) { return load(x) } }\n", "await");
        let typed = "class A { public async f(x: string) { return load(x) } }\n";
        offers("a.ts", typed, &[&typed.replace("return load", "return await load")]);
        offers_not(
            "a.rs",
            "async fn rate() -> u8 { 2 }\nasync fn total() -> u8 { rate() }\n",
            "await ",
        );
    }
}
