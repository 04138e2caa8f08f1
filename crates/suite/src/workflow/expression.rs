//! Evaluates the expressions of workflows, as far as they follow from the workflow alone:
//! <https://docs.github.com/en/actions/reference/workflows-and-actions/expressions>
//!
//! Unknown values (secrets, outputs of other steps, files) make the whole text unknown. Nothing is guessed.

use std::collections::BTreeMap;

use github_actions_expressions::call::{Call, Function};
use github_actions_expressions::literal::Literal;
use github_actions_expressions::op::{BinExpr, BinOp, UnOp};
use github_actions_expressions::{Evaluation as Value, Expr, SpannedExpr};

use super::EVENTS;
use super::node::{Node, parse};

/// Maximum length of an expression, and of the text that it evaluates to.
const MAX_EXPRESSION: usize = 2_000;
const MAX_TEXT: usize = 64 << 10;
/// Maximum length of a call with its arguments; its result is longer by less than the length of an expression.
const MAX_CONSTANT: usize = 8 << 10;

/// The branch of a change; no condition names it.
const A_BRANCH: &str = "greenlight-of-a-change";

/// How much of a matrix is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum MatrixExtent {
    #[default]
    Whole,
    /// It may have further values, which only a run would know.
    Partial,
}

/// The values that expressions can refer to.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    pub(super) matrix: Vec<(String, Node)>,
    pub(super) extent: MatrixExtent,
    pub(super) env: BTreeMap<String, String>,
    pub(super) inputs: BTreeMap<String, String>,
    /// `Linux`, `macOS` or `Windows`.
    pub(super) runner_os: Option<&'static str>,
    /// The system whose jobs count, too: `macOS` or `Windows`.
    pub(super) elsewhere: Option<&'static str>,
    /// Whether it is about what a change of the code runs, and not about a run that there was.
    pub(super) is_for_changes: bool,
    /// The event, unless it is a pull request.
    pub(super) event: Option<&'static str>,
}

/// The text with every `${{ … }}` replaced. `None` if one of them is unknown.
pub(super) fn interpolate(text: &str, scope: &Scope) -> Option<String> {
    replaced(text, None, scope)
}

/// The same, with `unknown` in the place of those that are unknown.
pub(super) fn interpolate_known(text: &str, unknown: &str, scope: &Scope) -> Option<String> {
    replaced(text, Some(unknown), scope)
}

fn replaced(text: &str, unknown: Option<&str>, scope: &Scope) -> Option<String> {
    let mut whole = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${{") {
        let end = end_of(after)?;
        whole.push_str(before);
        let value = evaluate(&after[..end], scope);
        let value = value.filter(|value| !matches!(value, Value::Array(_) | Value::Object(_)));
        match value {
            Some(value) => whole.push_str(&value.sema().to_string()),
            None => whole.push_str(unknown?),
        }
        rest = &after[end + 2..];
        if whole.len() > MAX_TEXT {
            return None;
        }
    }
    whole.push_str(rest);
    (whole.len() <= MAX_TEXT).then_some(whole)
}

/// The value of a text that is one expression for a list or an object, as in `${{ fromJSON(inputs.targets) }}`.
pub(super) fn structure(text: &str, scope: &Scope) -> Option<Node> {
    let inner = text.trim().strip_prefix("${{")?;
    let expression = inner
        .get(..end_of(inner)?)
        .filter(|expression| expression.len() + 2 == inner.len())?;
    let value = evaluate(expression, scope)?;
    matches!(value, Value::Array(_) | Value::Object(_)).then_some(())?;
    let json: serde_json::Value = value.try_into().ok()?;
    parse(&json.to_string(), false)
}

/// Whether the condition of a step or a job is false, as far as its matrix and its runner tell, and for every event of a
/// change. What depends on earlier steps or on a matrix that is computed counts as unknown.
pub(super) fn is_false(condition: &Node, scope: &Scope) -> bool {
    let Some(text) = condition.scalar() else { return false };
    let expression = without_braces(&text);
    let depends_on = |context: &str| expression.contains(context);
    let is_unknown = depends_on("env.") || (scope.matrix.is_empty() && depends_on("matrix."));
    let is_false = |scope: &Scope| evaluate(expression, scope).is_some_and(|value| !value.as_boolean());
    let is_false_for = |event| {
        is_false(&Scope {
            event: Some(event),
            ..scope.clone()
        })
    };
    match depends_on("github.") {
        _ if is_unknown => false,
        false => is_false(scope),
        true => scope.is_for_changes && EVENTS.into_iter().all(is_false_for),
    }
}

/// Whether a condition is true, as far as its matrix and its runner tell.
pub(super) fn is_true(condition: &Node, scope: &Scope) -> bool {
    let Some(text) = condition.scalar() else { return false };
    evaluate(without_braces(&text), scope).is_some_and(|value| value.as_boolean())
}

/// The expression of a condition, which may be written without braces.
fn without_braces(condition: &str) -> &str {
    let text = condition.trim();
    let inner = text.strip_prefix("${{").and_then(|text| text.strip_suffix("}}"));
    inner.unwrap_or(text)
}

/// The literal parts of a text, around its expressions.
pub(super) fn literals(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${{") {
        parts.push(before);
        let Some(end) = end_of(after) else { break };
        rest = &after[end + 2..];
    }
    parts.push(rest);
    parts
}

/// The position of the `}}` that ends an expression; one inside a string does not count.
fn end_of(text: &str) -> Option<usize> {
    let mut quoted = false;
    let bytes = text.as_bytes();
    (0..bytes.len()).find(|&at| {
        quoted ^= bytes[at] == b'\'';
        !quoted && bytes[at..].starts_with(b"}}")
    })
}

fn evaluate(expression: &str, scope: &Scope) -> Option<Value> {
    if expression.len() > MAX_EXPRESSION {
        return None;
    }
    let parsed = Expr::parse(expression.trim()).ok()?;
    value(&parsed, scope)
}

/// Evaluates an expression; the parser bounds its depth.
fn value(expression: &SpannedExpr<'_>, scope: &Scope) -> Option<Value> {
    match &expression.inner {
        Expr::Literal(literal) => Some(match literal {
            Literal::Number(number) => Value::Number(*number),
            Literal::String(text) => Value::String(text.to_string()),
            Literal::Boolean(is_true) => Value::Boolean(*is_true),
            Literal::Null => Value::Null,
        }),
        Expr::Context(context) => look_up(&context.parts, scope),
        Expr::Identifier(_) => look_up(std::slice::from_ref(expression), scope),
        Expr::BinExpr(BinExpr { lhs, op, rhs }) => {
            let Some(left) = value(lhs, scope) else {
                return decided_by(value(rhs, scope)?, op, scope);
            };
            match op {
                // The other side may be unknown if it does not matter.
                BinOp::And if !left.as_boolean() => return Some(left),
                BinOp::Or if left.as_boolean() => return Some(left),
                BinOp::And | BinOp::Or => return value(rhs, scope),
                _ => {}
            }
            let right = value(rhs, scope)?;
            let (left, right) = (left.sema(), right.sema());
            Some(Value::Boolean(match op {
                BinOp::Eq => left == right,
                BinOp::Neq => left != right,
                BinOp::Lt => left < right,
                BinOp::Le => left <= right,
                BinOp::Gt => left > right,
                BinOp::Ge => left >= right,
                BinOp::And | BinOp::Or => return None,
            }))
        }
        Expr::UnExpr { op: UnOp::Not, expr } => Some(Value::Boolean(!value(expr, scope)?.as_boolean())),
        Expr::Call(call) => called(call, expression.origin.raw, scope),
        Expr::Star | Expr::Index(_) => None,
    }
}

/// The value of a condition whose left side is unknown, where the right side alone decides. As text, it would be one of
/// the two sides.
fn decided_by(right: Value, op: &BinOp, scope: &Scope) -> Option<Value> {
    let decides = match op {
        BinOp::And => !right.as_boolean(),
        BinOp::Or => right.as_boolean(),
        _ => false,
    };
    (decides && scope.event.is_some()).then(|| Value::Boolean(right.as_boolean()))
}

/// Evaluates a function. The crate can do that for constants, so the arguments become constants first.
fn called(call: &Call<'_>, source: &str, scope: &Scope) -> Option<Value> {
    match call.func {
        // A step that failed did run.
        Function::Always => return Some(Value::Boolean(true)),
        // What counts is what runs as long as nothing fails.
        Function::Failure | Function::Cancelled if scope.is_for_changes => return Some(Value::Boolean(false)),
        Function::Success if scope.is_for_changes => return Some(Value::Boolean(true)),
        _ => {}
    }
    let arguments: Vec<Value> = call
        .args
        .iter()
        .map(|argument| value(argument, scope))
        .collect::<Option<_>>()?;
    // The order of an object's members is lost.
    if call.func == Function::ToJSON && matches!(arguments.as_slice(), [Value::Array(_) | Value::Object(_)]) {
        return None;
    }
    // For such text, the crate mistakes byte offsets for character offsets.
    if call.func == Function::Format && matches!(arguments.first(), Some(Value::String(text)) if !text.is_ascii()) {
        return None;
    }
    let (name, _) = source.split_once('(')?;
    let arguments = match (call.func, arguments.as_slice()) {
        (Function::FromJSON, [Value::String(text)]) => vec![Value::String(as_json(text))],
        _ => arguments,
    };
    let arguments: Vec<String> = arguments.into_iter().map(literal).collect::<Option<_>>()?;
    let constant = format!("{name}({})", arguments.join(", "));
    if constant.len() > MAX_CONSTANT {
        return None;
    }
    Expr::parse(&constant).ok()?.consteval()
}

/// JSON as it should be: GitHub also accepts strings in single quotes.
fn as_json(text: &str) -> String {
    let is_json = |text: &str| serde_json::from_str::<serde_json::Value>(text).is_ok();
    let swapped = || Some(text.replace('\'', "\"")).filter(|swapped| !text.contains('"') && is_json(swapped));
    match is_json(text) {
        true => text.to_owned(),
        false => swapped().unwrap_or_else(|| text.to_owned()),
    }
}

/// A value as source code.
fn literal(value: Value) -> Option<String> {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    Some(match value {
        Value::String(text) => quoted(&text),
        Value::Number(number) if number.is_finite() => number.to_string(),
        Value::Boolean(is_true) => is_true.to_string(),
        Value::Null => "null".into(),
        Value::Array(_) | Value::Object(_) => {
            let json: serde_json::Value = value.try_into().ok()?;
            format!("fromJSON({})", quoted(&json.to_string()))
        }
        Value::Number(_) => return None,
    })
}

/// Looks up a context such as `matrix.os` or `fromJSON(…)[0].name`.
fn look_up(parts: &[SpannedExpr<'_>], scope: &Scope) -> Option<Value> {
    let (head, rest) = parts.split_first()?;
    let mut names = Vec::new();
    for part in rest {
        names.push(match &part.inner {
            Expr::Identifier(name) => Value::String(name.as_str().to_string()),
            Expr::Index(index) => value(index, scope)?,
            _ => return None,
        });
    }
    let Expr::Identifier(head) = &head.inner else {
        return names.iter().try_fold(value(head, scope)?, member);
    };
    let head = head.as_str().to_ascii_lowercase();
    let (first, rest) = names.split_first()?;
    let Value::String(name) = first else { return None };
    if head == "matrix" {
        let own = scope.matrix.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        let value = match own {
            Some((_, node)) => of_node(node),
            None if scope.extent == MatrixExtent::Partial => return None,
            None => Value::Null,
        };
        return rest.iter().try_fold(value, member);
    }
    if !rest.is_empty() {
        // A change has none of the inputs that people give by hand.
        let is_input = |name: &Value| matches!(name, Value::String(name) if name.eq_ignore_ascii_case("inputs"));
        let is_given = head == "github" && name.eq_ignore_ascii_case("event") && rest.first().is_some_and(is_input);
        return (is_given && scope.is_for_changes).then_some(Value::Null);
    }
    let text = match (head.as_str(), name.to_ascii_lowercase().as_str()) {
        // An earlier step may have set more variables.
        ("env", _) => scope.env.get(name)?.clone(),
        ("inputs", _) => scope.inputs.get(name)?.clone(),
        ("github", "workspace") => super::WORKSPACE.into(),
        ("github", "event_name") => scope.event.unwrap_or("pull_request").into(),
        // Of a change, which is on neither the default branch nor that of a release.
        ("github", "ref") => match scope.event? {
            "pull_request" => "refs/pull/1/merge".into(),
            _ => format!("refs/heads/{A_BRANCH}"),
        },
        ("github", "ref_name") => match scope.event? {
            "pull_request" => "1/merge".into(),
            _ => A_BRANCH.into(),
        },
        ("github", "ref_type") => scope.event.map(|_| "branch".into())?,
        ("runner", "os") => scope.runner_os?.into(),
        _ => return None,
    };
    Some(Value::String(text))
}

/// A member of an object or an array; null if it is missing, as on GitHub.
fn member(value: Value, name: &Value) -> Option<Value> {
    let found = match (value, name) {
        (Value::Object(members), Value::String(name)) => {
            let mut members = members.into_iter();
            members
                .find(|(own, _)| own.eq_ignore_ascii_case(name))
                .map(|(_, value)| value)
        }
        (Value::Array(values), Value::Number(at)) => {
            let mut values = values.into_iter().zip(0_u32..);
            values
                .find(|(_, own)| f64::from(*own) == at.floor())
                .map(|(value, _)| value)
        }
        _ => None,
    };
    Some(found.unwrap_or(Value::Null))
}

fn of_node(node: &Node) -> Value {
    match node {
        Node::Null => Value::Null,
        Node::Bool(value) => Value::Boolean(*value),
        Node::Number(value) => Value::Number(*value),
        Node::Text(text) => Value::String(text.clone()),
        Node::List(nodes) => Value::Array(nodes.iter().map(of_node).collect()),
        Node::Map(entries) => {
            let entries = entries.iter().map(|(name, node)| (name.clone(), of_node(node)));
            Value::Object(entries.collect())
        }
    }
}

#[cfg(test)]
mod tests;
