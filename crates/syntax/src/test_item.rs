//! What is test code within a file, by attributes and names: in Rust and Python, tests stand beside the code they
//! test. Which files are tests as a whole is for the caller to know.

use tree_sitter::Node;

/// Whether an item is a test or contains tests, so that all code in it is test code.
pub fn is_test_item(item: Node<'_>, text: &str) -> bool {
    let field = |name| {
        item.child_by_field_name(name)
            .and_then(|field| text.get(field.byte_range()))
            .unwrap_or_default()
    };
    match item.kind() {
        "macro_invocation" => matches!(field("macro"), "proptest" | "quickcheck"),
        "function_definition" => field("name").starts_with("test_"),
        "class_definition" => field("superclasses").contains("TestCase"),
        "decorated_definition" => item
            .child_by_field_name("definition")
            .is_some_and(|definition| is_test_item(definition, text)),
        kind if kind.ends_with("_item") && kind != "attribute_item" => {
            (kind == "mod_item" && matches!(field("name"), "tests" | "test"))
                || attributes(item, text).any(|attribute| marks_a_test(&attribute))
        }
        _ => false,
    }
}

/// The possible files and folders of a Rust module that this file declares as `#[cfg(test)] mod name;`.
pub fn test_module_paths(file: &str, item: Node<'_>, text: &str) -> Vec<String> {
    let is_declaration = item.kind() == "mod_item" && item.child_by_field_name("body").is_none();
    let Some(name) = item.child_by_field_name("name").filter(|_| is_declaration) else {
        return Vec::new();
    };
    let (folder, own) = file.rsplit_once('/').map_or(("", file), |(folder, own)| (folder, own));
    let join = |folder: &str, rest: &str| {
        if folder.is_empty() {
            rest.to_string()
        } else {
            format!("{folder}/{rest}")
        }
    };
    let given = attributes(item, text).find_map(|attribute| {
        let path = attribute.strip_prefix("#[path")?.split('"').nth(1)?;
        Some(join(folder, path.trim_start_matches("./")))
    });
    if let Some(given) = given {
        return vec![given];
    }
    let stem = own.trim_end_matches(".rs");
    let within = if matches!(stem, "lib" | "main" | "mod") {
        folder.to_string()
    } else {
        join(folder, stem)
    };
    let module = join(&within, text.get(name.byte_range()).unwrap_or_default());
    vec![format!("{module}.rs"), format!("{module}/")]
}

/// The outer attributes of a Rust item, without white space, last one first.
pub fn attributes(item: Node<'_>, text: &str) -> impl Iterator<Item = String> {
    let mut before = item.prev_named_sibling();
    std::iter::from_fn(move || {
        while let Some(node) = before {
            before = node.prev_named_sibling();
            match node.kind() {
                "attribute_item" => {
                    let own = text.get(node.byte_range()).unwrap_or_default();
                    return Some(own.split_whitespace().collect());
                }
                "line_comment" | "block_comment" => {}
                _ => return None,
            }
        }
        None
    })
}

/// `#[test]`, `#[tokio::test]`, `#[cfg(test)]`, `#[cfg(all(test, unix))]`; not `#[cfg(not(test))]`.
pub fn marks_a_test(attribute: &str) -> bool {
    let inner = attribute
        .trim_start_matches("#![")
        .trim_start_matches("#[")
        .trim_end_matches(']');
    if let Some(condition) = inner.strip_prefix("cfg(") {
        return !condition.contains("not(test")
            && condition
                .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '"'))
                .any(|word| word == "test");
    }
    is_test_attribute(attribute)
}

/// Whether this attribute makes a function a test.
pub fn is_test_attribute(attribute: &str) -> bool {
    let inner = attribute.trim_start_matches("#[").trim_end_matches(']');
    let name = inner.split(['(', '=']).next().unwrap_or(inner);
    let last = name.rsplit("::").next().unwrap_or(name);
    matches!(
        last,
        "test" | "rstest" | "bench" | "quickcheck" | "test_case" | "case" | "proptest" | "should_panic"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_attributes_are_told_from_others() {
        for attribute in [
            "#[test]",
            "#[tokio::test]",
            "#[tokio::test(flavor=\"multi_thread\")]",
            "#[cfg(test)]",
            "#![cfg(test)]",
            "#[cfg(any(test,feature=\"x\"))]",
            "#[rstest]",
        ] {
            assert!(marks_a_test(attribute), "{attribute}");
        }
        for attribute in [
            "#[cfg(not(test))]",
            "#[cfg(feature=\"test\")]",
            "#[cfg_attr(test,derive(Debug))]",
            "#[inline]",
            "#[derive(Debug)]",
        ] {
            assert!(!marks_a_test(attribute), "{attribute}");
        }
    }

    #[track_caller]
    fn check(file: &str, text: &str, expected: &[&str]) {
        let mut parser = tree_sitter::Parser::new();
        parser.set_language(&crate::Language::Rust.grammar()).unwrap();
        let tree = parser.parse(text, None).unwrap();
        let root = tree.root_node();
        let mut cursor = root.walk();
        let found: Vec<String> = root
            .named_children(&mut cursor)
            .filter(|item| is_test_item(*item, text))
            .flat_map(|item| test_module_paths(file, item, text))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn test_modules_in_files_of_their_own_are_found() {
        check("src/lib.rs", "#[cfg(test)]\nmod t;", &["src/t.rs", "src/t/"]);
        check(
            "src/a/mod.rs",
            "/// Doc.\n#[cfg(test)]\n// Why.\nmod t;",
            &["src/a/t.rs", "src/a/t/"],
        );
        check(
            "src/a.rs",
            "#[cfg(test)]\n#[rustfmt::skip]\nmod t;",
            &["src/a/t.rs", "src/a/t/"],
        );
        check("src/a.rs", "#[cfg(test)]\n#[path = \"./x.rs\"]\nmod t;", &["src/x.rs"]);
        check("src/lib.rs", "#[cfg(test)]\nuse a;\nmod t;", &[]);
    }
}
