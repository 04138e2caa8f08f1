//! What is test code within a file, and therefore never edited: a fault is not repaired by changing who complains about
//! it. Files that are off limits as a whole are told by [`crate::domain::test_path`].

use super::syntax::{Source, Step};

/// Whether the last step is an item that holds tests, so that everything in it is off limits.
pub(super) fn is_test_item(source: &Source, path: &[Step<'_>]) -> bool {
    let Some(step) = path.last() else { return false };
    match step.node.kind() {
        "class_definition" => step
            .node
            .child_by_field_name("superclasses")
            .is_some_and(|bases| source.text_of(bases).contains("TestCase")),
        "function_definition" => step
            .node
            .child_by_field_name("name")
            .is_some_and(|name| source.text_of(name).starts_with("test_")),
        kind if kind.ends_with("_item") && kind != "attribute_item" => {
            attributes(source, step).any(|attribute| marks_a_test(&attribute))
        }
        _ => false,
    }
}

/// The files and folders of a Rust module that is declared here as `#[cfg(test)] mod name;`.
pub(super) fn test_module_paths(source: &Source, file: &str, step: &Step<'_>) -> Vec<String> {
    let is_declaration = step.node.kind() == "mod_item" && step.node.child_by_field_name("body").is_none();
    let Some(name) = step.node.child_by_field_name("name").filter(|_| is_declaration) else {
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
    let given = attributes(source, step).find_map(|attribute| {
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
    let module = join(&within, source.text_of(name));
    vec![format!("{module}.rs"), format!("{module}/")]
}

/// The outer attributes of a Rust item, without white space.
fn attributes<'a>(source: &'a Source, step: &Step<'a>) -> impl Iterator<Item = String> + use<'a> {
    let mut before = step.node.prev_named_sibling();
    std::iter::from_fn(move || {
        while let Some(node) = before {
            before = node.prev_named_sibling();
            match node.kind() {
                "attribute_item" => return Some(source.text_of(node).split_whitespace().collect()),
                "line_comment" | "block_comment" => {}
                _ => return None,
            }
        }
        None
    })
}

/// `#[test]`, `#[tokio::test]`, `#[cfg(test)]`, `#[cfg(all(test, unix))]`; not `#[cfg(not(test))]`.
fn marks_a_test(attribute: &str) -> bool {
    let inner = attribute.trim_start_matches("#[").trim_end_matches(']');
    if let Some(condition) = inner.strip_prefix("cfg(") {
        return !condition.contains("not(")
            && condition
                .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '"'))
                .any(|word| word == "test");
    }
    let name = inner.split('(').next().unwrap_or(inner);
    let last = name.rsplit("::").next().unwrap_or(name);
    matches!(
        last,
        "test" | "rstest" | "bench" | "quickcheck" | "test_case" | "case" | "proptest"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repair::syntax::Below;

    #[test]
    fn test_attributes_are_told_from_others() {
        for attribute in [
            "#[test]",
            "#[tokio::test]",
            "#[tokio::test(flavor=\"multi_thread\")]",
            "#[cfg(test)]",
            "#[cfg(any(test,feature=\"x\"))]",
            "#[rstest]",
        ] {
            assert!(marks_a_test(attribute), "{attribute}");
        }
        for attribute in [
            "#[cfg(not(test))]",
            "#[cfg(feature=\"test\")]",
            "#[inline]",
            "#[derive(Debug)]",
        ] {
            assert!(!marks_a_test(attribute), "{attribute}");
        }
    }

    #[track_caller]
    fn check(file: &str, text: &str, expected: &[&str]) {
        let source = Source::parse(file, text.into()).unwrap();
        let mut found = Vec::new();
        source.walk(|path| {
            if is_test_item(&source, path) {
                found.extend(test_module_paths(&source, file, &path[path.len() - 1]));
            }
            Below::Enter
        });
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
