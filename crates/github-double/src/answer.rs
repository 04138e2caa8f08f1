//! Responses, with GitHub's own bodies for errors.

use serde_json::{Value, json};

/// The response to a request.
#[derive(Debug, Clone)]
pub(super) struct RestAnswer {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: ResponseBody,
}

#[derive(Debug, Clone)]
pub(super) enum ResponseBody {
    Empty,
    Json(Value),
    Bytes(&'static str, Vec<u8>),
}

impl RestAnswer {
    pub(super) fn ok(body: Value) -> Self {
        Self::json(200, body)
    }

    pub(super) fn created(body: Value) -> Self {
        Self::json(201, body)
    }

    pub(super) fn json(status: u16, body: Value) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: ResponseBody::Json(body),
        }
    }

    pub(super) fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: ResponseBody::Empty,
        }
    }

    pub(super) fn bytes(kind: &'static str, bytes: Vec<u8>) -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
            body: ResponseBody::Bytes(kind, bytes),
        }
    }

    pub(super) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// An error in GitHub's format.
    pub(super) fn error(status: u16, message: &str) -> Self {
        Self::json(
            status,
            json!({
                "message": message, "documentation_url": "https://docs.github.com/rest", "status": status.to_string()
            }),
        )
    }

    pub(super) fn not_found() -> Self {
        Self::error(404, "Not Found")
    }

    pub(super) fn not_accessible() -> Self {
        Self::error(403, "Resource not accessible by integration")
    }

    /// 422 for a body that does not match the documented schema.
    pub(super) fn invalid(message: &str) -> Self {
        Self::error(422, message)
    }

    /// 422 for a body that matches the schema but breaks a rule.
    pub(super) fn unprocessable(errors: &[Value]) -> Self {
        let mut answer = Self::error(422, "Validation Failed");
        if let ResponseBody::Json(Value::Object(body)) = &mut answer.body {
            body.insert("errors".into(), json!(errors));
        }
        answer
    }
}

impl From<git2::Error> for RestAnswer {
    fn from(error: git2::Error) -> Self {
        Self::error(500, &format!("the double's git failed: {error}"))
    }
}

/// Checks GitHub's limit for texts that people or Apps write.
pub(super) fn check_body(body: &str) -> Result<(), RestAnswer> {
    if body.chars().count() <= 65_536 {
        return Ok(());
    }
    Err(RestAnswer::unprocessable(&[json!({
        "resource": "IssueComment", "code": "unprocessable", "field": "data",
        "message": "Body is too long (maximum is 65536 characters)"
    })]))
}

pub(super) fn wrong_type(key: &str, value: &Value, wanted: &str) -> RestAnswer {
    RestAnswer::invalid(&format!(
        "Invalid request.\n\nFor 'properties/{key}', {value} is not {wanted}."
    ))
}
