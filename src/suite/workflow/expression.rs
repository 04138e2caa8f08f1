//! The expressions of workflows, as far as they follow from the workflow alone:
//! <https://docs.github.com/en/actions/reference/workflows-and-actions/expressions>
//!
//! What is not known here (secrets, outputs of other steps, files) makes the whole text unknown. Nothing is guessed.

use std::collections::BTreeMap;

use super::node::Node;

/// Longest expression, and longest text that comes of one.
const MAX_EXPRESSION: usize = 2_000;
const MAX_TEXT: usize = 64 << 10;
const MAX_DEPTH: usize = 20;

/// What expressions may name.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    pub(super) matrix: Vec<(String, Node)>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) inputs: BTreeMap<String, String>,
    /// `Linux`, `macOS` or `Windows`.
    pub(super) runner_os: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq)]
enum Value {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
}

/// The text with every `${{ … }}` replaced; none if one of them is not known.
pub(super) fn interpolate(text: &str, scope: &Scope) -> Option<String> {
    let mut whole = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${{") {
        let end = end_of(after)?;
        whole.push_str(before);
        whole.push_str(&evaluate(&after[..end], scope)?.shown());
        rest = &after[end + 2..];
        if whole.len() > MAX_TEXT {
            return None;
        }
    }
    whole.push_str(rest);
    (whole.len() <= MAX_TEXT).then_some(whole)
}

/// The parts of a text around its expressions.
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

/// Where the `}}` of an expression is; one inside a string is none.
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
    let mut parser = Parser {
        rest: expression,
        scope,
        depth: 0,
    };
    let value = parser.either()?;
    parser.rest.trim().is_empty().then_some(value)?
}

/// A value that may be unknown; the outer `Option` of the parser's functions says that it cannot be read at all.
type Known = Option<Value>;

struct Parser<'a> {
    rest: &'a str,
    scope: &'a Scope,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn eat(&mut self, token: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn either(&mut self) -> Option<Known> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let mut left = self.both()?;
        while self.eat("||") {
            let right = self.both()?;
            left = left.and_then(|left| if left.is_true() { Some(left) } else { right });
        }
        self.depth -= 1;
        Some(left)
    }

    fn both(&mut self) -> Option<Known> {
        let mut left = self.equal()?;
        while self.eat("&&") {
            let right = self.equal()?;
            left = left.and_then(|left| if left.is_true() { right } else { Some(left) });
        }
        Some(left)
    }

    fn equal(&mut self) -> Option<Known> {
        let left = self.single()?;
        let wanted = match (self.eat("=="), self.rest.trim_start().starts_with("!=")) {
            (true, _) => true,
            (false, true) => {
                self.eat("!=");
                false
            }
            (false, false) => return Some(left),
        };
        let right = self.single()?;
        Some(
            left.zip(right)
                .map(|(left, right)| Value::Bool(left.equals(&right) == wanted)),
        )
    }

    fn single(&mut self) -> Option<Known> {
        if self.rest.trim_start().starts_with("!=") {
            return None;
        }
        if self.eat("!") {
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return None;
            }
            let value = self.single()?;
            self.depth -= 1;
            return Some(value.map(|value| Value::Bool(!value.is_true())));
        }
        if self.eat("(") {
            let value = self.either()?;
            return self.eat(")").then_some(value);
        }
        if self.eat("'") {
            return self.text().map(|text| Some(Value::Text(text)));
        }
        let word = self.word()?;
        if self.eat("(") {
            return self.call(word);
        }
        if let Ok(number) = word.parse::<f64>() {
            return Some(Some(Value::Number(number)));
        }
        Some(match word.to_ascii_lowercase().as_str() {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            "null" => Some(Value::Null),
            _ => {
                let path = self.path(word)?;
                self.look_up(&path)
            }
        })
    }

    /// The rest of a string after its opening quote; two quotes are one.
    fn text(&mut self) -> Option<String> {
        let mut text = String::new();
        loop {
            let (part, rest) = self.rest.split_once('\'')?;
            text.push_str(part);
            self.rest = rest;
            if let Some(rest) = rest.strip_prefix('\'') {
                text.push('\'');
                self.rest = rest;
            } else {
                return Some(text);
            }
        }
    }

    /// A name, or a number.
    fn word(&mut self) -> Option<&'a str> {
        let rest = self.rest.trim_start();
        let number = rest.starts_with(|c: char| c.is_ascii_digit());
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-') || (number && c == '.');
        let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }

    /// The names after the first one: `.name` and `['name']`.
    fn path(&mut self, first: &str) -> Option<Vec<String>> {
        let mut path = vec![first.to_ascii_lowercase()];
        loop {
            if self.eat(".") {
                path.push(self.word()?.to_string());
            } else if self.eat("[") {
                if !self.eat("'") {
                    return None;
                }
                path.push(self.text()?);
                if !self.eat("]") {
                    return None;
                }
            } else {
                return Some(path);
            }
        }
    }

    fn look_up(&self, path: &[String]) -> Known {
        let names: Vec<&str> = path.iter().map(String::as_str).collect();
        match names.as_slice() {
            ["matrix", first, rest @ ..] => {
                let own = self
                    .scope
                    .matrix
                    .iter()
                    .find(|(name, _)| name.eq_ignore_ascii_case(first));
                let mut node = own.map_or(&Node::Null, |(_, node)| node);
                for name in rest {
                    node = node.get(name).unwrap_or(&Node::Null);
                }
                Some(match node {
                    Node::Null => Value::Null,
                    Node::Bool(value) => Value::Bool(*value),
                    Node::Number(value) => Value::Number(*value),
                    Node::Text(text) => Value::Text(text.clone()),
                    Node::List(_) | Node::Map(_) => return None,
                })
            }
            // A step before may have set more.
            ["env", name] => self.scope.env.get(*name).cloned().map(Value::Text),
            ["inputs", name] => self.scope.inputs.get(*name).cloned().map(Value::Text),
            ["github", "workspace"] => Some(Value::Text(super::WORKSPACE.into())),
            ["github", "event_name"] => Some(Value::Text("pull_request".into())),
            ["runner", "os"] => self.scope.runner_os.map(|os| Value::Text(os.into())),
            _ => None,
        }
    }

    fn call(&mut self, function: &str) -> Option<Known> {
        let mut arguments: Vec<Known> = Vec::new();
        if !self.eat(")") {
            loop {
                arguments.push(self.either()?);
                if self.eat(")") {
                    break;
                }
                if !self.eat(",") {
                    return None;
                }
            }
        }
        let Some(arguments) = arguments.into_iter().collect::<Option<Vec<Value>>>() else {
            return Some(None);
        };
        let texts: Vec<String> = arguments.iter().map(Value::shown).collect();
        let lower = |at: usize| texts.get(at).map(|text| text.to_lowercase());
        let two = lower(0).zip(lower(1));
        Some(match function.to_ascii_lowercase().as_str() {
            "format" => texts
                .split_first()
                .and_then(|(pattern, values)| format(pattern, values))
                .map(Value::Text),
            "contains" => two.map(|(all, part)| Value::Bool(all.contains(&part))),
            "startswith" => two.map(|(all, part)| Value::Bool(all.starts_with(&part))),
            "endswith" => two.map(|(all, part)| Value::Bool(all.ends_with(&part))),
            // A step that failed ran.
            "always" => Some(Value::Bool(true)),
            _ => None,
        })
    }
}

impl Value {
    fn shown(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Bool(value) => value.to_string(),
            Self::Number(value) => value.to_string(),
            Self::Text(text) => text.clone(),
        }
    }

    fn is_true(&self) -> bool {
        match self {
            Self::Null => false,
            Self::Bool(value) => *value,
            Self::Number(value) => *value != 0.0,
            Self::Text(text) => !text.is_empty(),
        }
    }

    /// As GitHub compares: texts without case, and values of two kinds as numbers.
    fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(one), Self::Text(other)) => one.to_lowercase() == other.to_lowercase(),
            _ => self.number() == other.number(),
        }
    }

    fn number(&self) -> f64 {
        match self {
            Self::Null => 0.0,
            Self::Bool(value) => f64::from(u8::from(*value)),
            Self::Number(value) => *value,
            Self::Text(text) if text.trim().is_empty() => 0.0,
            Self::Text(text) => text.trim().parse().unwrap_or(f64::NAN),
        }
    }
}

/// `format('{0} {1}', …)`; doubled braces are literal ones.
fn format(pattern: &str, values: &[String]) -> Option<String> {
    let mut text = String::new();
    let mut rest = pattern;
    while let Some(at) = rest.find(['{', '}']) {
        text.push_str(&rest[..at]);
        let found = &rest[at..];
        if let Some(after) = found.strip_prefix("{{").or_else(|| found.strip_prefix("}}")) {
            text.push_str(&found[..1]);
            rest = after;
        } else {
            let (number, after) = found.strip_prefix('{')?.split_once('}')?;
            text.push_str(values.get(number.trim().parse::<usize>().ok()?)?);
            rest = after;
        }
        if text.len() > MAX_TEXT {
            return None;
        }
    }
    text.push_str(rest);
    Some(text)
}

#[cfg(test)]
mod tests;
