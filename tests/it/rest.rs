//! The description of the REST API: what is published, what is documented, and what is served say the same.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::harness::rest::described;

/// `just openapi` writes it.
#[test]
fn the_published_description_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/openapi.json");
    let served = greenlight::server::openapi();
    if std::env::var_os("GREENLIGHT_WRITE_OPENAPI").is_some() {
        std::fs::write(&path, served).unwrap();
    }
    let published = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        published == served,
        "docs/openapi.json is outdated: `just openapi` writes it"
    );
}

#[test]
fn the_manual_and_the_description_have_the_same_routes() {
    let manual = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/serve.md")).unwrap();
    let rows = manual
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let rows = rows.filter_map(|(route, _)| route.split_once(" /api/v1"));
    let documented: BTreeSet<String> = rows
        .map(|(method, path)| format!("{method} {}", path.split('?').next().unwrap()))
        .filter(|route| route != "GET /openapi.json")
        .collect();
    let paths = described()["paths"].as_object().unwrap();
    let routes = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().keys();
        methods.map(move |method| format!("{} {path}", method.to_uppercase()))
    });
    assert_eq!(routes.collect::<BTreeSet<_>>(), documented);
}

/// Every schema is valid, and nothing in the document refers to what is not there.
#[test]
fn the_description_is_complete() {
    let document = described();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1."));
    let schemas = document["components"]["schemas"].as_object().unwrap();
    for (name, schema) in schemas {
        assert!(jsonschema::draft202012::meta::is_valid(schema), "{name}");
    }
    let mut references = Vec::new();
    collect(document, &mut references);
    assert!(references.len() > 20);
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
}

fn collect<'a>(value: &'a Value, references: &mut Vec<&'a str>) {
    match value {
        Value::Object(members) => {
            references.extend(members.get("$ref").and_then(Value::as_str));
            members.values().for_each(|member| collect(member, references));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, references)),
        _ => {}
    }
}
