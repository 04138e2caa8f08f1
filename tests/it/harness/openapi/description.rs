//! Parses the slice of GitHub's OpenAPI description into operations with compiled schemas.

use std::collections::BTreeMap;

use jsonschema::{Draft, Registry, Validator as Schema};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

const SLICE: &str = include_str!("../../../fixtures/openapi/api.github.com.slice.json");
const SLICE_URI: &str = "https://api.github.com/description";

pub(super) struct Description {
    document: Value,
    operations: Vec<Operation>,
    pub(super) error_body: Schema,
}

pub(super) struct Operation {
    pub(super) method: String,
    pub(super) template: String,
    segments: Vec<Segment>,
    pub(super) parameters: Vec<Parameter>,
    pub(super) request: Option<Request>,
    /// By status; `None` for a status without a JSON body.
    pub(super) responses: BTreeMap<u16, Option<Schema>>,
}

enum Segment {
    Literal(String),
    One(String),
    /// A path or a branch, which may contain slashes.
    Several(String),
}

pub(super) struct Parameter {
    pub(super) name: String,
    /// `path` or `query`.
    pub(super) place: String,
    pub(super) is_required: bool,
    /// `integer`, `boolean` or `string`.
    pub(super) kind: String,
    pub(super) schema: Schema,
}

pub(super) struct Request {
    pub(super) is_required: bool,
    pub(super) schema: Schema,
    /// The source of `schema`.
    pub(super) source: Value,
}

impl Description {
    pub(super) fn read() -> Self {
        let mut document: Value = serde_json::from_str(SLICE).unwrap();
        // GitHub answers null for both once a comment is outdated, although its description forbids it.
        for name in ["line", "position"] {
            let comment = &mut document["components"]["schemas"]["pull-request-review-comment"];
            comment["properties"][name]["nullable"] = json!(true);
        }
        // Its inlined schema asks for a person who is an enterprise too. The schema `installation` says: either of them.
        let list = &mut document["paths"]["/app/installations"]["get"]["responses"]["200"];
        let account = &mut list["content"]["application/json"]["schema"]["items"]["properties"]["account"];
        account["anyOf"] = account["allOf"].take();
        account.as_object_mut().unwrap().remove("allOf");
        allow_null(&mut document);
        // Like OpenAPI 3.0, draft 7 ignores keywords beside a reference.
        let registry = Registry::new()
            .draft(Draft::Draft7)
            .add(SLICE_URI, document.clone())
            .unwrap()
            .prepare()
            .unwrap();
        let compiler = Compiler {
            document: &document,
            registry: &registry,
        };
        let mut operations = Vec::new();
        for (template, methods) in document["paths"].as_object().unwrap() {
            for method in methods.as_object().unwrap().keys() {
                operations.push(compiler.operation(template, method));
            }
        }
        let error_body = compiler.schema("/components/schemas/basic-error");
        Self {
            operations,
            error_body,
            document,
        }
    }

    /// Finds the operation whose template matches with the most literal segments, and the values of its parameters.
    pub(super) fn find(&self, method: &str, path: &str) -> Option<(&Operation, Vec<(&str, String)>)> {
        let parts: Vec<_> = path.strip_prefix('/')?.split('/').collect();
        (self.operations.iter())
            .filter(|operation| operation.method == method)
            .filter_map(|operation| Some((operation, fit(&operation.segments, &parts)?)))
            .max_by_key(|(operation, _)| {
                operation
                    .segments
                    .iter()
                    .filter(|segment| matches!(segment, Segment::Literal(_)))
                    .count()
            })
    }

    /// Follows a node that is a reference.
    pub(super) fn resolve<'a>(&'a self, node: &'a Value) -> &'a Value {
        follow(&self.document, node)
    }

    /// Collects the properties of a schema and of all its alternatives.
    pub(super) fn properties<'a>(&'a self, schema: &'a Value) -> BTreeMap<&'a str, &'a Value> {
        let schema = self.resolve(schema);
        let alternatives = ["allOf", "anyOf", "oneOf"]
            .iter()
            .filter_map(|key| schema[key].as_array())
            .flatten();
        let mut properties: BTreeMap<_, _> = alternatives.flat_map(|schema| self.properties(schema)).collect();
        let own = schema["properties"].as_object().into_iter().flatten();
        properties.extend(own.map(|(name, schema)| (name.as_str(), schema)));
        properties
    }
}

fn follow<'a>(document: &'a Value, node: &'a Value) -> &'a Value {
    let target = node["$ref"]
        .as_str()
        .and_then(|reference| document.pointer(&reference[1..]));
    target.map_or(node, |target| follow(document, target))
}

/// Assigns parts of a path to the parameters of a template. `None` if the path does not match.
fn fit<'a>(segments: &'a [Segment], parts: &[&str]) -> Option<Vec<(&'a str, String)>> {
    let Some((first, others)) = segments.split_first() else {
        return parts.is_empty().then(Vec::new);
    };
    let longest = if matches!(first, Segment::Several(_)) {
        parts.len()
    } else {
        parts.len().min(1)
    };
    (1..=longest).rev().find_map(|length| {
        let mut arguments = fit(others, &parts[length..])?;
        let text = parts[..length].join("/");
        match first {
            Segment::Literal(literal) if *literal == text => {}
            Segment::One(name) | Segment::Several(name) if !text.is_empty() => {
                arguments.push((name, percent_decode_str(&text).decode_utf8().ok()?.into_owned()));
            }
            _ => return None,
        }
        Some(arguments)
    })
}

struct Compiler<'a> {
    document: &'a Value,
    registry: &'a Registry<'a>,
}

impl Compiler<'_> {
    fn operation(&self, template: &str, method: &str) -> Operation {
        let at = format!("/paths/{}/{method}", template.replace('/', "~1"));
        let operation = self.document.pointer(&at).unwrap();
        let parameters = operation["parameters"].as_array().map_or(0, Vec::len);
        let request = self
            .json_schema_of(&format!("{at}/requestBody"))
            .map(|pointer| Request {
                is_required: operation["requestBody"]["required"] == true,
                schema: self.schema(&pointer),
                source: self.document.pointer(&pointer).unwrap().clone(),
            });
        let responses = operation["responses"].as_object().unwrap().keys().map(|status| {
            let pointer = self.json_schema_of(&format!("{at}/responses/{status}"));
            (status.parse().unwrap(), pointer.map(|pointer| self.schema(&pointer)))
        });
        Operation {
            method: method.to_uppercase(),
            template: template.to_owned(),
            segments: template[1..]
                .split('/')
                .map(|segment| self.segment(operation, segment))
                .collect(),
            parameters: (0..parameters)
                .map(|index| self.parameter(&format!("{at}/parameters/{index}")))
                .collect(),
            responses: responses.collect(),
            request,
        }
    }

    fn segment(&self, operation: &Value, segment: &str) -> Segment {
        let Some(name) = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else {
            return Segment::Literal(segment.to_owned());
        };
        let mut parameters = operation["parameters"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| follow(self.document, it));
        let parameter = parameters.find(|parameter| parameter["name"] == name).unwrap();
        let name = name.to_owned();
        if parameter["x-multi-segment"] == true {
            Segment::Several(name)
        } else {
            Segment::One(name)
        }
    }

    fn parameter(&self, pointer: &str) -> Parameter {
        let (pointer, parameter) = self.target(pointer).unwrap();
        Parameter {
            name: parameter["name"].as_str().unwrap().to_owned(),
            place: parameter["in"].as_str().unwrap().to_owned(),
            is_required: parameter["required"] == true,
            kind: parameter["schema"]["type"].as_str().unwrap_or("string").to_owned(),
            schema: self.schema(&format!("{pointer}/schema")),
        }
    }

    /// The location of the schema for the JSON body of a request or response.
    fn json_schema_of(&self, pointer: &str) -> Option<String> {
        let (pointer, body) = self.target(pointer)?;
        body["content"].get("application/json")?;
        Some(format!("{pointer}/content/application~1json/schema"))
    }

    /// Follows the reference at a pointer, if there is one.
    fn target(&self, pointer: &str) -> Option<(String, &Value)> {
        let node = self.document.pointer(pointer)?;
        let reference = node["$ref"].as_str().map(|reference| reference[1..].to_owned());
        reference.map_or(Some((pointer.to_owned(), node)), |target| self.target(&target))
    }

    fn schema(&self, pointer: &str) -> Schema {
        let fragment = pointer.replace('{', "%7B").replace('}', "%7D");
        let reference = json!({ "$ref": format!("{SLICE_URI}#{fragment}") });
        let options = jsonschema::options()
            .with_draft(Draft::Draft7)
            .with_registry(self.registry);
        options.should_validate_formats(true).build(&reference).unwrap()
    }
}

/// Converts OpenAPI 3.0's `nullable` to JSON Schema.
fn allow_null(node: &mut Value) {
    match node {
        Value::Array(items) => items.iter_mut().for_each(allow_null),
        Value::Object(map) => {
            map.values_mut().for_each(allow_null);
            if map.get("nullable") != Some(&json!(true)) {
                return;
            }
            map.remove("nullable");
            if let Some(values) = map.get_mut("enum").and_then(Value::as_array_mut) {
                values.push(Value::Null);
            }
            match map.get_mut("type") {
                Some(kind) => *kind = json!([kind.take(), "null"]),
                None => *node = json!({ "anyOf": [node.take(), { "type": "null" }] }),
            }
        }
        _ => {}
    }
}
