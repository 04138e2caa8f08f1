//! The public interface of a file: names with their parameters, as far as its language says what is public.
//!
//! Python has no keyword for it, so a leading underscore makes a name private, by convention
//! (<https://peps.python.org/pep-0008/#descriptive-naming-styles>). A name that a file re-exports from another file
//! counts as public in both.

use std::collections::{BTreeMap, BTreeSet};

use greenlight_syntax::{Below, Language, Parsed};
use tree_sitter::Node;

use crate::domain::patch::{Blob, Patch};
use crate::domain::test_path::is_test_path;

/// More deeply nested definitions are ignored.
const MAX_DEPTH: usize = 40;

/// The public interface of a file: every public name, such as `Fares.change`, with its parameters.
pub fn of(path: &str, text: &str) -> BTreeMap<String, String> {
    let mut offered = BTreeMap::new();
    if let Some(file) = Language::of(path).and_then(|language| Parsed::parse(language, text)) {
        collect(&file, file.tree.root_node(), ("", 0), &mut offered);
    }
    offered
}

/// The first way in which a patch changes the public interface of its files, as a sentence. `None` if it does not.
/// Test files are ignored.
pub fn changed(patch: &Patch) -> Option<String> {
    let files: Vec<_> = patch
        .files()
        .filter(|(path, _)| !is_test_path(path.as_str()))
        .map(|(path, change)| {
            let text = |blob: &Option<Blob>| blob.as_ref().and_then(Blob::text).unwrap_or_default().to_string();
            (path, text(&change.before), text(&change.after))
        })
        .collect();
    let after: Vec<BTreeMap<String, String>> = files.iter().map(|(path, _, after)| of(path.as_str(), after)).collect();
    let mut kept_elsewhere = BTreeSet::new();
    for ((path, before, now), offered) in files.iter().zip(&after) {
        for (name, parameters) in of(path.as_str(), before) {
            match offered.get(&name) {
                Some(same) if *same == parameters => {}
                Some(other) => {
                    return Some(format!(
                        "`{path}` exports `{name}{parameters}`, which would become `{name}{other}`"
                    ));
                }
                None => {
                    let moved = after.iter().any(|other| other.get(&name) == Some(&parameters));
                    if !(moved && offers_on(path.as_str(), now, &name)) {
                        return Some(format!("`{path}` would no longer export `{name}{parameters}`"));
                    }
                    kept_elsewhere.insert(name);
                }
            }
        }
    }
    for ((path, before, _), offered) in files.iter().zip(&after) {
        let old = of(path.as_str(), before);
        let new = offered
            .iter()
            .find(|(name, _)| !old.contains_key(*name) && !kept_elsewhere.contains(*name));
        if let Some((name, parameters)) = new {
            return Some(format!(
                "`{path}` would also export `{name}{parameters}`; make helpers private"
            ));
        }
    }
    None
}

/// Whether a file re-exports a name, so that existing imports from it still work.
fn offers_on(path: &str, text: &str, name: &str) -> bool {
    let Some(file) = Language::of(path).and_then(|language| Parsed::parse(language, text)) else {
        return false;
    };
    let root = file.tree.root_node();
    let mut cursor = root.walk();
    let mut imports = root.named_children(&mut cursor).filter(|node| match file.language {
        Language::Python => node.kind() == "import_from_statement",
        Language::JavaScript | Language::TypeScript | Language::Tsx => node.kind() == "export_statement",
        Language::Rust => node.kind() == "use_declaration" && file.raw(*node).starts_with("pub "),
        // A Go package is a unit, no matter what its files are called. Java has one file for each class.
        Language::Go => true,
        Language::Java => false,
    });
    let is_word = |text: &str| {
        text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'))
            .any(|word| word == name)
    };
    file.language == Language::Go || imports.any(|node| is_word(file.raw(node)))
}

fn collect(
    file: &Parsed<'_>,
    container: Node<'_>,
    (around, depth): (&str, usize),
    offered: &mut BTreeMap<String, String>,
) {
    if depth > MAX_DEPTH {
        return;
    }
    let mut cursor = container.walk();
    for child in container.named_children(&mut cursor) {
        match file.language {
            Language::Python => python(file, child, (around, depth), offered),
            Language::JavaScript | Language::TypeScript | Language::Tsx => javascript(file, child, depth, offered),
            Language::Rust => rust(file, child, (around, depth), offered),
            Language::Go => go(file, child, offered),
            Language::Java => java(file, child, (around, depth), offered),
        }
    }
}

fn field(file: &Parsed<'_>, node: Node<'_>, name: &str) -> String {
    let found = node.child_by_field_name(name);
    found.map(|found| file.compact(found)).unwrap_or_default()
}

fn joined(around: &str, name: &str) -> String {
    if around.is_empty() {
        name.into()
    } else {
        format!("{around}.{name}")
    }
}

fn python(file: &Parsed<'_>, node: Node<'_>, (around, depth): (&str, usize), offered: &mut BTreeMap<String, String>) {
    let is_public = |name: &str| !name.starts_with('_') || (name.starts_with("__") && name.ends_with("__"));
    match node.kind() {
        "decorated_definition" => {
            if let Some(inner) = node.child_by_field_name("definition") {
                python(file, inner, (around, depth), offered);
            }
        }
        "function_definition" | "class_definition" => {
            let name = field(file, node, "name");
            if !is_public(&name) {
                return;
            }
            let own = joined(around, &name);
            if node.kind() == "function_definition" {
                offered.insert(own, field(file, node, "parameters"));
                return;
            }
            offered.insert(own.clone(), field(file, node, "superclasses"));
            if let Some(body) = node.child_by_field_name("body") {
                collect(file, body, (&own, depth + 1), offered);
            }
        }
        "expression_statement" => {
            let assigned = node.named_child(0).filter(|inner| inner.kind() == "assignment");
            let name = assigned.map(|inner| field(file, inner, "left")).unwrap_or_default();
            if !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_') && is_public(&name) {
                offered.insert(joined(around, &name), String::new());
            }
        }
        "if_statement" | "try_statement" | "block" | "else_clause" | "except_clause" => {
            collect(file, node, (around, depth + 1), offered);
        }
        _ => {}
    }
}

fn javascript(file: &Parsed<'_>, node: Node<'_>, depth: usize, offered: &mut BTreeMap<String, String>) {
    let text = file.raw(node);
    match node.kind() {
        "export_statement" => {
            let Some(declared) = node.child_by_field_name("declaration") else {
                // `export { a, b }`, `export default …` and the like, word by word; the source module is ignored.
                let listed = file.compact(node);
                let listed = listed.split(" from").next().unwrap_or_default();
                let names = listed.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
                for name in names.filter(|name| !name.is_empty() && *name != "export").take(200) {
                    offered.entry(name.into()).or_default();
                    if name == "default" {
                        break;
                    }
                }
                return;
            };
            let default = text.contains("export default");
            definition(file, declared, default.then_some("default"), offered);
        }
        "expression_statement"
            if depth == 0 && (text.starts_with("module.exports") || text.starts_with("exports.")) =>
        {
            let (left, right) = text.split_once('=').unwrap_or((text, ""));
            let named = left.trim().trim_start_matches("module.").trim_start_matches("exports");
            let listed = if right.trim_start().starts_with('{') { right } else { "" };
            let words = [named, listed].join(" ");
            let words = words.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
            for name in words.filter(|name| !name.is_empty()).take(200) {
                offered.entry(format!("exports.{name}")).or_default();
            }
        }
        _ => {}
    }
}

fn definition(file: &Parsed<'_>, node: Node<'_>, as_name: Option<&str>, offered: &mut BTreeMap<String, String>) {
    match node.kind() {
        "lexical_declaration" | "variable_declaration" => {
            let mut cursor = node.walk();
            for one in node.named_children(&mut cursor) {
                let value = one.child_by_field_name("value");
                let parameters = value.map(|value| field(file, value, "parameters")).unwrap_or_default();
                offered.insert(field(file, one, "name"), parameters);
            }
        }
        _ => {
            let name = as_name.map_or_else(|| field(file, node, "name"), ToString::to_string);
            offered.insert(name.clone(), field(file, node, "parameters"));
            let Some(body) = node
                .child_by_field_name("body")
                .filter(|_| node.kind().contains("class"))
            else {
                return;
            };
            let mut cursor = body.walk();
            for member in body
                .named_children(&mut cursor)
                .filter(|member| member.kind() == "method_definition")
            {
                let own = field(file, member, "name");
                if !own.starts_with(['#', '_']) && !file.raw(member).starts_with("private") {
                    offered.insert(joined(&name, &own), field(file, member, "parameters"));
                }
            }
        }
    }
}

fn rust(file: &Parsed<'_>, node: Node<'_>, (around, depth): (&str, usize), offered: &mut BTreeMap<String, String>) {
    let mut cursor = node.walk();
    let visibility = node
        .named_children(&mut cursor)
        .find(|child| child.kind() == "visibility_modifier");
    let is_public = visibility.is_some_and(|visibility| file.raw(visibility) == "pub");
    let body = node.child_by_field_name("body");
    match node.kind() {
        "function_item" | "function_signature_item" if is_public || around.starts_with("trait ") => {
            let result = field(file, node, "return_type");
            let parameters = field(file, node, "parameters");
            offered.insert(
                joined(around, &field(file, node, "name")),
                format!("{parameters}{result}"),
            );
        }
        "impl_item" => {
            let own = joined(around, &field(file, node, "type"));
            if let Some(body) = body {
                collect(file, body, (&own, depth + 1), offered);
            }
        }
        "mod_item" | "trait_item" if is_public => {
            let name = joined(around, &field(file, node, "name"));
            offered.insert(name.clone(), String::new());
            let inside = if node.kind() == "trait_item" {
                format!("trait {name}")
            } else {
                name
            };
            if let Some(body) = body {
                collect(file, body, (&inside, depth + 1), offered);
            }
        }
        "struct_item" | "enum_item" | "union_item" | "type_item" | "const_item" | "static_item" if is_public => {
            offered.insert(
                joined(around, &field(file, node, "name")),
                field(file, node, "type_parameters"),
            );
            for part in public_parts(file, node) {
                offered.insert(
                    joined(&joined(around, &field(file, node, "name")), &part),
                    String::new(),
                );
            }
        }
        _ => {}
    }
}

/// Public fields, and variants, which are as public as their enum.
fn public_parts(file: &Parsed<'_>, node: Node<'_>) -> Vec<String> {
    let mut parts = Vec::new();
    file.visit(node, |node| {
        let text = file.raw(node);
        if node.kind() == "enum_variant" || (node.kind() == "field_declaration" && text.starts_with("pub ")) {
            parts.push(file.compact(node));
            return Below::Skip;
        }
        Below::Enter
    });
    parts
}

fn go(file: &Parsed<'_>, node: Node<'_>, offered: &mut BTreeMap<String, String>) {
    let is_public = |name: &str| name.starts_with(char::is_uppercase);
    match node.kind() {
        "function_declaration" | "method_declaration" => {
            let name = field(file, node, "name");
            if is_public(&name) {
                let receiver = field(file, node, "receiver");
                let receiver = receiver
                    .trim_matches(['(', ')'])
                    .rsplit([' ', '*'])
                    .next()
                    .unwrap_or_default();
                let parameters = format!("{}{}", field(file, node, "parameters"), field(file, node, "result"));
                offered.insert(joined(receiver, &name), parameters);
            }
        }
        "type_declaration" | "const_declaration" | "var_declaration" => file.visit(node, |node| {
            if matches!(node.kind(), "type_spec" | "const_spec" | "var_spec") {
                let name = field(file, node, "name");
                if is_public(&name) {
                    offered.insert(name, String::new());
                }
                return Below::Skip;
            }
            Below::Enter
        }),
        _ => {}
    }
}

fn java(file: &Parsed<'_>, node: Node<'_>, (around, depth): (&str, usize), offered: &mut BTreeMap<String, String>) {
    let mut cursor = node.walk();
    let modifiers = node
        .named_children(&mut cursor)
        .find(|child| child.kind() == "modifiers");
    let is_public = modifiers.is_some_and(|modifiers| {
        let mut words = file.raw(modifiers).split_whitespace();
        words.any(|word| matches!(word, "public" | "protected"))
    });
    if !is_public {
        return;
    }
    let own = joined(around, &field(file, node, "name"));
    match node.kind() {
        "method_declaration" | "constructor_declaration" => {
            let parameters = format!("{}{}", field(file, node, "parameters"), field(file, node, "type"));
            offered.insert(format!("{own}{parameters}"), String::new());
        }
        "class_declaration" | "interface_declaration" | "enum_declaration" | "record_declaration" => {
            offered.insert(own.clone(), field(file, node, "superclass"));
            if let Some(body) = node.child_by_field_name("body") {
                collect(file, body, (&own, depth + 1), offered);
            }
        }
        "field_declaration" => {
            offered.insert(joined(around, &field(file, node, "declarator")), String::new());
        }
        _ => {}
    }
}
