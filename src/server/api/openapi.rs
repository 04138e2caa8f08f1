//! The OpenAPI 3.1 description of the API, which is served without a token at `/api/v1/openapi.json`.
//!
//! A route is described where it is added to the router, so that none is left out. The schemas of answers, queries and
//! bodies are generated from their types; JSON Schema 2020-12, which `schemars` writes, is that of OpenAPI 3.1.

use axum::Router;
use axum::handler::Handler;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, get, post};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::Api;

const SCHEMAS: &str = "/components/schemas";
/// The errors that every route may have.
const USUAL: [u16; 5] = [401, 403, 404, 500, 503];

/// The routes of the API, and their description.
pub(super) struct Routes {
    router: Router<Api>,
    paths: Map<String, Value>,
    answers: SchemaGenerator,
}

/// What one route takes and answers.
pub(super) struct Operation {
    summary: &'static str,
    query: Option<Schema>,
    body: Option<Schema>,
    status: u16,
    answer: Value,
    problems: &'static [u16],
}

impl Operation {
    /// A route whose answer has this type.
    pub(super) fn answers<T: JsonSchema>(routes: &mut Routes, summary: &'static str) -> Self {
        let schema = routes.answers.subschema_for::<T>();
        Self {
            summary,
            query: None,
            body: None,
            status: 200,
            answer: json!({ "application/json": { "schema": schema } }),
            problems: &[],
        }
    }

    /// A route that answers with server-sent events, or over a WebSocket.
    pub(super) fn streams(summary: &'static str) -> Self {
        Self {
            summary,
            query: None,
            body: None,
            status: 200,
            answer: json!({ "text/event-stream": { "schema": { "type": "string" } } }),
            problems: &[],
        }
    }

    pub(super) fn query<T: JsonSchema>(mut self) -> Self {
        self.query = Some(taken::<T>());
        self.problems = &[400];
        self
    }

    /// It takes a body, which may be left out.
    pub(super) fn body<T: JsonSchema>(mut self) -> Self {
        self.body = Some(taken::<T>());
        self
    }

    /// An answer of a person that was accepted, and is carried out later.
    pub(super) fn accepted(mut self, problems: &'static [u16]) -> Self {
        self.status = 202;
        self.problems = problems;
        self
    }

    fn document(self, (method, path): (&str, &str)) -> Value {
        let in_path = path
            .split('/')
            .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let in_path =
            in_path.map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }));
        let in_query = self.query.as_ref().map(parameters).unwrap_or_default();
        let parameters: Vec<Value> = in_path.chain(in_query).collect();
        let described = if self.status == 202 {
            "recorded, and carried out after everything was checked again"
        } else {
            "as described"
        };
        let mut responses = Map::new();
        responses.insert(
            self.status.to_string(),
            json!({ "description": described, "content": self.answer }),
        );
        for status in USUAL.iter().chain(self.problems) {
            responses.insert(status.to_string(), json!({ "$ref": "#/components/responses/Problem" }));
        }
        let words = path.split('/').map(|word| word.trim_matches(['{', '}']));
        let id = std::iter::once(method).chain(words.filter(|word| !word.is_empty()));
        let mut operation = json!({
            "operationId": id.collect::<Vec<_>>().join("_"),
            "summary": self.summary,
            "parameters": parameters,
            "responses": responses,
        });
        if let Some(schema) = self.body {
            operation["requestBody"] = json!({ "content": { "application/json": { "schema": schema } } });
            operation["responses"]["413"] = json!({ "description": "the body is too large" });
        }
        operation
    }
}

impl Routes {
    pub(super) fn new() -> Self {
        let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| {
            settings.definitions_path = SCHEMAS.into();
            settings.meta_schema = None;
        });
        Self {
            router: Router::new(),
            paths: Map::new(),
            answers: settings.into_generator(),
        }
    }

    pub(super) fn get<H, T>(self, path: &'static str, handler: H, describe: impl FnOnce(&mut Self) -> Operation) -> Self
    where
        H: Handler<T, Api>,
        T: 'static,
    {
        self.add(("get", path), get(handler), describe)
    }

    pub(super) fn post<H, T>(
        self,
        path: &'static str,
        handler: H,
        describe: impl FnOnce(&mut Self) -> Operation,
    ) -> Self
    where
        H: Handler<T, Api>,
        T: 'static,
    {
        self.add(("post", path), post(handler), describe)
    }

    fn add(
        mut self,
        (method, path): (&str, &'static str),
        route: MethodRouter<Api>,
        describe: impl FnOnce(&mut Self) -> Operation,
    ) -> Self {
        let operation = describe(&mut self).document((method, path));
        self.paths.insert(path.into(), json!({ method: operation }));
        self.router = self.router.route(path, route);
        self
    }

    /// The description as text.
    pub(super) fn description(&mut self) -> String {
        let mut schemas = self.answers.take_definitions(true);
        let error = json!({
            "type": "object",
            "required": ["error"],
            "properties": { "error": { "type": "string", "description": "what is wrong, as a sentence for people" } },
        });
        schemas.insert("Problem".into(), error);
        let document = json!({
            "openapi": "3.1.1",
            "info": {
                "title": "greenlight",
                "version": "1",
                "summary": "Runs of greenlight, and answers to what they ask",
                "description": "Every request carries your own GitHub token. You see what you may see on GitHub, and your \
                                answers count as much as a comment of yours. Fields may be added, but never change their \
                                meaning.",
                "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
            },
            "servers": [{ "url": "/api/v1" }],
            "security": [{ "github": [] }],
            "paths": self.paths,
            "components": {
                "securitySchemes": {
                    "github": { "type": "http", "scheme": "bearer", "description": "a GitHub token of yours" },
                },
                "responses": {
                    "Problem": {
                        "description": "why nothing was done",
                        "content": { "application/json": { "schema": { "$ref": format!("#{SCHEMAS}/Problem") } } },
                    },
                },
                "schemas": schemas,
            },
        });
        format!("{document:#}\n")
    }

    pub(super) fn into_router(self) -> Router<Api> {
        self.router
    }
}

/// The schema of what callers send.
fn taken<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema
}

/// The fields of a query as parameters.
fn parameters(query: &Schema) -> Vec<Value> {
    let required = query
        .get("required")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let fields = query.get("properties").and_then(Value::as_object).into_iter().flatten();
    let parameter = |(name, schema): (&String, &Value)| {
        let mut schema = schema.clone();
        let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        let is_required = required.iter().any(|one| one == name);
        json!({ "name": name, "in": "query", "required": is_required, "description": description, "schema": schema })
    };
    fields.map(parameter).collect()
}

/// The description, which is public and changes only with the version.
pub(super) fn served(description: &'static str) -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "public, max-age=3600"),
    ];
    (headers, description)
}
