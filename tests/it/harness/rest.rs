//! Compares answers of the REST API with its description.

use std::sync::LazyLock;

use serde_json::{Value, json};

/// The description.
pub(crate) fn described() -> &'static Value {
    static DOCUMENT: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(greenlight::server::openapi()).unwrap());
    &DOCUMENT
}

/// Fails if an answer of a described route is not as described. `path` is below `/api/v1`.
#[track_caller]
pub(crate) fn is_as_described(method: &str, path: &str, status: u16, answer: &Value) {
    let document = described();
    let path = path.split('?').next().unwrap();
    let paths = document["paths"].as_object().unwrap();
    let Some((_, methods)) = paths.iter().find(|(template, _)| matches(template, path)) else {
        return;
    };
    let Some(operation) = methods.get(method.to_lowercase()) else {
        assert_eq!(status, 405, "{method} {path}");
        return;
    };
    let mut response = &operation["responses"][status.to_string()];
    assert!(
        response.is_object(),
        "{method} {path} may not answer {status}: {answer}"
    );
    if let Some(reference) = response["$ref"].as_str() {
        response = document.pointer(&reference[1..]).unwrap();
    }
    let Some(schema) = response.pointer("/content/application~1json/schema") else {
        return;
    };
    // References lead into the whole document.
    let root = json!({ "allOf": [schema], "components": document["components"] });
    let validator = jsonschema::options()
        .should_validate_formats(true)
        .build(&root)
        .unwrap();
    let mistakes: Vec<String> = validator
        .iter_errors(answer)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert_eq!(mistakes, [""; 0], "{method} {path} {status}: {answer:#}");
}

fn matches(template: &str, path: &str) -> bool {
    let (template, path): (Vec<&str>, Vec<&str>) = (template.split('/').collect(), path.split('/').collect());
    let fits = |(wanted, part): (&&str, &&str)| wanted == part || wanted.starts_with('{');
    template.len() == path.len() && template.iter().zip(&path).all(fits)
}
