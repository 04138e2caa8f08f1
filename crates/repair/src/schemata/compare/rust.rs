//! Makes a Rust function log its arguments and results, and call itself with other arguments.

use std::ops::Range;

use tree_sitter::Node;

use super::injected;
use crate::syntax::{Below, Source};

/// Lints that a crate may deny and that injected code would violate.
const ALLOWED: &str = "warnings, unused, missing_docs, missing_debug_implementations, missing_copy_implementations, \
    trivial_casts, trivial_numeric_casts, unused_qualifications, unused_results, unused_lifetimes, unreachable_pub, \
    single_use_lifetimes, let_underscore_drop, explicit_outlives_requirements, variant_size_differences, \
    nonstandard_style, rust_2018_idioms, future_incompatible, unused_import_braces";
/// Maximum number of parameters of an observed function.
const MAX_PARAMETERS: usize = 12;

/// Everything that must be known about a function.
struct Function<'t> {
    parameters: Vec<Parameter<'t>>,
    /// The path by which it is called: `Self::name::<T>`
    path: String,
    /// `-> Result`, or empty.
    result: String,
}

struct Parameter<'t> {
    /// The name of the value; parameters with a pattern get a generated one.
    name: String,
    /// The pattern and its range, if it is more than a name.
    pattern: Option<(&'t str, Range<usize>)>,
    passed: Passed,
    /// The owned form of its type: `Vec<T>` for `&[T]`.
    owned: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Passed {
    Owned,
    Shared,
    Mutable,
}

/// The observed form of the function with this number and body, and whether it has parameters. `None` if it cannot be
/// called with other arguments. `unsafe` is left out if the crate forbids it.
pub(super) fn observed(
    source: &Source,
    function: &Range<usize>,
    (id, body): (usize, &str),
    has_unsafe: bool,
) -> Option<(String, bool)> {
    let mut found = None;
    source.walk(|steps| {
        let Some(node) = steps.last().map(|step| step.node) else {
            return Below::Skip;
        };
        if found.is_some() || node.start_byte() > function.start || node.end_byte() < function.end {
            return Below::Skip;
        }
        if node.byte_range() == *function && node.kind() == "function_item" {
            found = Function::of(source, node).and_then(|it| Some((it, head(source, node)?)));
            return Below::Skip;
        }
        Below::Enter
    });
    let (known, head) = found?;
    Some((known.text(&head, (id, body), has_unsafe), !known.parameters.is_empty()))
}

/// The text before the body, with a name for each parameter.
fn head(source: &Source, node: Node<'_>) -> Option<String> {
    let end = node.child_by_field_name("body")?.start_byte();
    let mut text = source.text.get(node.start_byte()..end)?.to_string();
    for parameter in parameters(source, node)?.iter().rev() {
        if let Some((_, range)) = &parameter.pattern {
            let start = node.start_byte();
            text.replace_range(range.start - start..range.end - start, &parameter.name);
        }
    }
    Some(text)
}

impl<'t> Function<'t> {
    fn of(source: &'t Source, node: Node<'_>) -> Option<Self> {
        let mut cursor = node.walk();
        let modifiers = node
            .children(&mut cursor)
            .find(|child| child.kind() == "function_modifiers")
            .map_or("", |modifiers| source.text_of(modifiers));
        let result = node
            .child_by_field_name("return_type")
            .map_or("", |result| source.text_of(result));
        let parameters = parameters(source, node)?;
        let name = source.text_of(node.child_by_field_name("name")?);
        let is_plain = modifiers.is_empty()
            && result != "!"
            && parameters.len() <= MAX_PARAMETERS
            && parameters.iter().all(|parameter| parameter.name != name);
        if !is_plain {
            return None;
        }
        let path = format!("{}{name}{}", owner(source, node)?, generics(source, node));
        Some(Self {
            parameters,
            path,
            result: if result.is_empty() {
                String::new()
            } else {
                format!("-> {result}")
            },
        })
    }

    fn text(&self, head: &str, (id, body): (usize, &str), has_unsafe: bool) -> String {
        let helper = injected::rust(has_unsafe);
        let digest = "greenlight_digest: &mut greenlight_help::Digest";
        let show = |value: &str| format!("greenlight_help::shown(&{value}).greenlight_show(greenlight_digest); ");
        let arguments: String = self.parameters.iter().map(|it| show(&it.name)).collect();
        let is_mutable = |it: &&Parameter<'_>| it.passed == Passed::Mutable;
        // A result that borrows from a mutable argument keeps that argument borrowed, so only the result is shown.
        let is_borrowed = self.result.contains(['&', '\'']) && self.parameters.iter().any(|it| is_mutable(&it));
        let after: String = match is_borrowed {
            true => String::new(),
            false => self
                .parameters
                .iter()
                .filter(is_mutable)
                .map(|it| show(&it.name))
                .collect(),
        };
        // Reborrow mutable references, because the body may move out of its parameters.
        let taken = self.parameters.iter().filter_map(|it| match &it.pattern {
            Some((pattern, _)) => Some(format!("let {pattern} = {}; ", it.name)),
            None if !is_borrowed && is_mutable(&it) && it.name != "self" => {
                Some(format!("let mut {0} = &mut *{0}; ", it.name))
            }
            None => None,
        });
        format!(
            "#[allow({ALLOWED}{})] {head}{{ {helper}\n\
             if greenlight_help::varies() {{ greenlight_help::vary({}, {}).greenlight_vary({id}, &|{digest}| {{ {arguments} }}); }}\n\
             let greenlight_call = greenlight_help::enter({id}, &|{digest}| {{ {arguments} }});\n\
             let greenlight_out = greenlight_help::once({}|| {} {{ {}{body} }});\n\
             greenlight_help::leave(greenlight_call, &|{digest}| {{ {}{after} }});\n\
             greenlight_out }}",
            if has_unsafe { ", unsafe_code" } else { "" },
            self.list(),
            self.again(digest, &show),
            if is_borrowed { "move " } else { "" },
            self.result,
            taken.collect::<String>(),
            show("greenlight_out"),
        )
    }

    /// The arguments as nested pairs, each with its variations.
    fn list(&self) -> String {
        self.parameters.iter().rev().fold("()".to_string(), |inner, it| {
            let value = match it.passed {
                Passed::Owned => format!("&{}", it.name),
                Passed::Shared | Passed::Mutable => format!("&*{}", it.name),
            };
            format!("(({value}, greenlight_help::like({value}).greenlight_like()), {inner})")
        })
    }

    /// The call with copied arguments.
    fn again(&self, digest: &str, show: &dyn Fn(&str) -> String) -> String {
        let own = |at: usize| format!("greenlight_own_{at}");
        let all = || self.parameters.iter().enumerate();
        let (patterns, types) = all()
            .rev()
            .fold(("()".to_string(), "()".to_string()), |inner, (at, it)| {
                (
                    format!("(mut {}, {})", own(at), inner.0),
                    format!("({}, {})", it.owned, inner.1),
                )
            });
        let passed: Vec<String> = all()
            .map(|(at, it)| match it.passed {
                Passed::Owned => own(at),
                Passed::Shared => format!("&{}", own(at)),
                Passed::Mutable => format!("&mut {}", own(at)),
            })
            .collect();
        let after = all().filter(|(_, it)| it.passed == Passed::Mutable);
        format!(
            "|{patterns}: {types}, {digest}| {{ {{ let greenlight_out = {}({}); {} }} {} }}",
            self.path,
            passed.join(", "),
            show("greenlight_out"),
            after.map(|(at, _)| show(&own(at))).collect::<String>(),
        )
    }
}

/// The prefix of the function's name in a call. `None` for provided methods of a trait, and for functions that only
/// the compiler may call.
fn owner(source: &Source, node: Node<'_>) -> Option<String> {
    let list = node.parent().filter(|list| list.kind() == "declaration_list");
    let Some(around) = list.and_then(|list| list.parent()) else {
        return Some(String::new());
    };
    let field = |name| {
        around
            .child_by_field_name(name)
            .map(|it| without_lifetimes(source.text_of(it)))
    };
    match (around.kind(), field("type"), field("trait")) {
        ("trait_item", ..) => None,
        ("impl_item", _, Some(name)) if name.ends_with("Drop") => None,
        ("impl_item", Some(kind), Some(name)) => Some(format!("<{kind} as {name}>::")),
        ("impl_item", Some(kind), None) => Some(format!("<{kind}>::")),
        _ => Some(String::new()),
    }
}

/// A type for values of any lifetime.
fn without_lifetimes(kind: &str) -> String {
    let mut text = String::new();
    let mut rest = kind;
    while let Some(at) = rest.find('\'') {
        let (before, named) = rest.split_at(at);
        let end = named
            .char_indices()
            .skip(1)
            .find(|(_, c)| !c.is_alphanumeric() && *c != '_')
            .map_or(named.len(), |(end, _)| end);
        let (name, after) = named.split_at(end);
        text.push_str(before);
        text.push_str(if name == "'static" { name } else { "'_" });
        rest = after;
    }
    text + rest
}

/// `::<T, N>`
fn generics(source: &Source, node: Node<'_>) -> String {
    let Some(list) = node.child_by_field_name("type_parameters") else {
        return String::new();
    };
    let mut cursor = list.walk();
    let names: Vec<&str> = list
        .named_children(&mut cursor)
        .filter(|child| matches!(child.kind(), "type_parameter" | "const_parameter"))
        .filter_map(|child| Some(source.text_of(child.child_by_field_name("name")?)))
        .collect();
    if names.is_empty() {
        return String::new();
    }
    format!("::<{}>", names.join(", "))
}

fn parameters<'t>(source: &'t Source, node: Node<'_>) -> Option<Vec<Parameter<'t>>> {
    let list = node.child_by_field_name("parameters")?;
    let mut cursor = list.walk();
    let mut all = Vec::new();
    for child in list.named_children(&mut cursor) {
        match child.kind() {
            "self_parameter" => all.push(of_self(source.text_of(child))),
            "parameter" => all.push(parameter(source, child, all.len())?),
            "attribute_item" | "line_comment" | "block_comment" => {}
            _ => return None,
        }
    }
    Some(all)
}

fn of_self<'t>(text: &str) -> Parameter<'t> {
    let is_mutable = text.split_whitespace().any(|word| word == "mut" || word == "&mut");
    Parameter {
        name: "self".into(),
        pattern: None,
        passed: match (text.starts_with('&'), is_mutable) {
            (false, _) => Passed::Owned,
            (true, false) => Passed::Shared,
            (true, true) => Passed::Mutable,
        },
        owned: "Self".into(),
    }
}

fn parameter<'t>(source: &'t Source, node: Node<'_>, at: usize) -> Option<Parameter<'t>> {
    let pattern = node.child_by_field_name("pattern")?;
    let kind = node.child_by_field_name("type")?;
    if source.text_of(pattern) == "self" || has_opaque(source.text_of(kind)) {
        return None;
    }
    let is_name = pattern.kind() == "identifier";
    let (passed, inner) = match kind.kind() {
        "reference_type" => {
            let mut cursor = kind.walk();
            let is_mutable = kind.children(&mut cursor).any(|it| it.kind() == "mutable_specifier");
            let passed = if is_mutable { Passed::Mutable } else { Passed::Shared };
            (passed, kind.child_by_field_name("type")?)
        }
        _ => (Passed::Owned, kind),
    };
    let text = source.text_of(inner);
    let owned = match (inner.kind(), inner.child_by_field_name("length")) {
        ("array_type", None) => {
            format!(
                "greenlight_help::Many<{}>",
                source.text_of(inner.child_by_field_name("element")?)
            )
        }
        _ if text == "str" => "greenlight_help::Text".into(),
        _ => text.into(),
    };
    Some(Parameter {
        name: if is_name {
            source.text_of(pattern).into()
        } else {
            format!("greenlight_{at}")
        },
        // `mut` is outside of the pattern.
        pattern: (!is_name).then(|| (source.text_of(pattern), pattern.byte_range())),
        passed,
        owned,
    })
}

/// Whether no variations of such a value can be made.
fn has_opaque(kind: &str) -> bool {
    let mut words = kind.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.any(|word| matches!(word, "impl" | "dyn" | "fn"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn text(source: &str) -> Option<String> {
        let start = source.find("fn f").unwrap();
        let end = start + source[start..].rfind('}').unwrap() + 1;
        let end = if source.starts_with("impl") || source.starts_with("trait") {
            end - 2
        } else {
            end
        };
        let source = Source::parse("a.rs", source.into()).unwrap();
        Some(observed(&source, &(start..end), (3, "{ BODY }"), false)?.0)
    }

    #[test]
    fn a_function_calls_itself_with_what_it_could_own() {
        let text = text("fn f<T: Ord>((a, _): (u8, u8), b: &mut [T], c: &str) -> bool { c.is_empty() }").unwrap();
        for part in [
            "fn f<T: Ord>(greenlight_0: (u8, u8), b: &mut [T], c: &str) -> bool { mod greenlight_help {",
            "|(mut greenlight_own_0, (mut greenlight_own_1, (mut greenlight_own_2, ()))): \
             ((u8, u8), (greenlight_help::Many<T>, (greenlight_help::Text, ()))), ",
            "let greenlight_out = f::<T>(greenlight_own_0, &mut greenlight_own_1, &greenlight_own_2);",
            "greenlight_help::once(|| -> bool { let (a, _) = greenlight_0; let mut b = &mut *b; { BODY } });",
        ] {
            assert!(text.contains(part), "{part}");
        }
    }

    #[test]
    fn a_method_is_called_as_one_of_its_type() {
        let text = text("impl<'a> Next for Words<'a> { fn f(&mut self) -> Option<&'a str> { None } }").unwrap();
        assert!(text.contains("<Words<'_> as Next>::f(&mut greenlight_own_0);"));
        assert!(text.contains("greenlight_help::once(move || -> Option<&'a str> { { BODY } });"));
    }

    #[test]
    fn what_cannot_be_called_again_is_not_observed() {
        for source in [
            "async fn f(a: u8) {}",
            "fn f(a: u8) -> ! { loop {} }",
            "fn f(a: impl Fn(), b: &dyn Shape) {}",
            "fn f(self: Box<Self>) {}",
            "fn f(f: u8) {}",
            "trait T { fn f(&self) {} }",
            "impl Drop for T { fn f(&mut self) {} }",
        ] {
            assert_eq!(text(source), None, "{source}");
        }
    }
}
