//! A recursion that leaves out the first element: `return f(xs[1:])` becomes `return xs[0] + f(xs[1:])`.

use greenlight_syntax::Language as Syntax;

use super::super::role::MAX_TEXT;
use super::super::site::{Edit, Site};
use crate::template::Template;

/// What follows a sequence without its first element, how the element is written, and how it is put before the rest, by
/// language. In texts, `{}` is the sequence and `{rest}` the call.
const RESTS: &[(Syntax, &str, &[&str])] = &[
    (
        Syntax::Python,
        "[1:]",
        &[
            "{}[0] + {rest}",
            "{rest} + {}[0]",
            "[{}[0]] + {rest}",
            "{rest} + [{}[0]]",
        ],
    ),
    (
        Syntax::JavaScript,
        ".slice(1)",
        &[
            "{}[0] + {rest}",
            "{rest} + {}[0]",
            "[{}[0], ...{rest}]",
            "[...{rest}, {}[0]]",
        ],
    ),
    (
        Syntax::TypeScript,
        ".slice(1)",
        &[
            "{}[0] + {rest}",
            "{rest} + {}[0]",
            "[{}[0], ...{rest}]",
            "[...{rest}, {}[0]]",
        ],
    ),
    (
        Syntax::Tsx,
        ".slice(1)",
        &[
            "{}[0] + {rest}",
            "{rest} + {}[0]",
            "[{}[0], ...{rest}]",
            "[...{rest}, {}[0]]",
        ],
    ),
    (
        Syntax::JavaScript,
        ".substring(1)",
        &["{}[0] + {rest}", "{rest} + {}[0]"],
    ),
    (
        Syntax::TypeScript,
        ".substring(1)",
        &["{}[0] + {rest}", "{rest} + {}[0]"],
    ),
    (Syntax::Go, "[1:]", &["{}[0] + {rest}", "{rest} + {}[0]"]),
    (Syntax::Rust, "[1..]", &["{}[0] + {rest}", "{rest} + {}[0]"]),
    (
        Syntax::Java,
        ".substring(1)",
        &["{}.charAt(0) + {rest}", "{rest} + {}.charAt(0)"],
    ),
];

pub(super) fn edits(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let Some(callee) = place.callee().filter(|_| place.text().len() <= MAX_TEXT) else {
        return;
    };
    // It is the whole value that the function returns.
    let language = place.source.language;
    let is_returned = place.parent_kind() == language.returns.0
        || (place.parent_kind() == "expression_list"
            && place.node().parent().is_some_and(|list| list.named_child_count() == 1))
        || (place.parent_kind() == "block" && place.node().next_named_sibling().is_none());
    if !is_returned || enclosing(place) != Some(callee) {
        return;
    }
    let call = place.text();
    // Another object's method of the same name is no recursion.
    let arguments = call
        .strip_prefix(callee)
        .and_then(|rest| rest.strip_prefix('(')?.strip_suffix(')'));
    let Some(arguments) = arguments else { return };
    for (_, ending, ways) in RESTS.iter().filter(|(syntax, _, _)| *syntax == language.syntax) {
        let sequences = arguments
            .split(',')
            .filter_map(|argument| argument.trim().strip_suffix(ending));
        let sequence = sequences.map(|sequence| sequence.trim_start_matches('&')).next();
        let is_name = |text: &&str| text.chars().all(|c| c.is_alphanumeric() || c == '_');
        let Some(sequence) = sequence.filter(is_name) else {
            continue;
        };
        for (way, share) in ways.iter().zip([1.0, 0.8, 0.95, 0.75]) {
            let made = way.replace("{rest}", call).replace("{}", sequence);
            found.push(place.edit(made, Template::Combined).similar(share));
        }
    }
}

/// The name of the function around the place.
fn enclosing<'t>(place: &Site<'_, 't>) -> Option<&'t str> {
    let functions = place.source.language.functions;
    let at = place
        .path
        .iter()
        .rposition(|step| functions.contains(&step.node.kind()))?;
    let name = |index: usize| place.path.get(index)?.node.child_by_field_name("name");
    name(at)
        .or_else(|| name(at.checked_sub(1)?))
        .map(|name| place.source.text_of(name))
}

#[cfg(test)]
mod tests {
    use crate::templates::tests::{offers, offers_not};

    #[test]
    fn the_first_element_is_put_before_the_rest() {
        for (path, text, from, to) in [
            (
                "a.go",
                "package a\n\nfunc join(s []string) string {\n\tif len(s) == 0 {\n\t\treturn \"\"\n\t}\n\treturn join(s[1:])\n}\n",
                "return join(s[1:])",
                "return s[0] + join(s[1:])",
            ),
            (
                "a.py",
                "def join(s):\n    return join(s[1:])\n",
                "join(s[1:])\n",
                "[s[0]] + join(s[1:])\n",
            ),
            (
                "a.js",
                "const join = (s) => { return join(s.slice(1)); };\n",
                "join(s.slice(1));",
                "[s[0], ...join(s.slice(1))];",
            ),
            (
                "A.java",
                "class A { String join(String s) { return join(s.substring(1)); } }\n",
                "return join",
                "return s.charAt(0) + join",
            ),
        ] {
            offers(path, text, &[&text.replacen(from, to, 1)]);
        }
        offers_not("a.py", "def f(s):\n    return g(s[1:])\n", "s[0] + g");
        offers_not("a.py", "def f(s, a):\n    return a.f(s[1:])\n", "s[0] + a");
    }
}
