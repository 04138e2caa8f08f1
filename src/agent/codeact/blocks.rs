//! Finds the blocks of code in a model's reply.

use serde::{Deserialize, Serialize};

use crate::agent::transcript::{EXECUTE, Reply, ToolCall};
use crate::domain::redact::inline;
use crate::sandbox::Language;

const OPEN: &str = "<execute";
const CLOSE: &str = "</execute>";

/// One block of code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Block {
    pub(super) language: String,
    pub(super) code: String,
}

impl Block {
    /// The interpreter that runs it.
    pub(super) fn language(&self) -> Result<Language, String> {
        match self.language.to_ascii_lowercase().as_str() {
            "" | "python" | "py" | "python3" => Ok(Language::Python),
            "bash" | "sh" | "shell" => Ok(Language::Bash),
            "javascript" | "js" | "node" => Ok(Language::Node),
            other => Err(format!("{} is not python, bash or javascript.", inline(other, 50))),
        }
    }
}

/// The reply with its blocks as calls, in order. Calls of other kinds do not exist for such a model.
pub(super) fn read(reply: Reply, turn: u32) -> Reply {
    let blocks = blocks_in(reply.text.as_deref().unwrap_or_default());
    let calls = blocks.into_iter().enumerate().map(|(index, block)| ToolCall {
        id: format!("code_{turn}_{index}"),
        name: EXECUTE.into(),
        // Two strings can always be written as JSON.
        arguments: serde_json::to_string(&block).unwrap_or_default(),
    });
    Reply {
        calls: calls.collect(),
        ..reply
    }
}

/// The block that a call represents.
pub(super) fn of(call: &ToolCall) -> Result<Block, String> {
    let block = serde_json::from_str(&call.arguments)
        .ok()
        .filter(|_| call.name == EXECUTE);
    block.ok_or_else(|| "the block is too long; write several smaller ones.".into())
}

/// A block without an end tag ends with the reply.
fn blocks_in(text: &str) -> Vec<Block> {
    let (mut blocks, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find(OPEN) {
        rest = &rest[at + OPEN.len()..];
        let Some(end) = rest.find('>') else { break };
        let attributes = &rest[..end];
        if !(attributes.is_empty() || attributes.starts_with(char::is_whitespace)) || attributes.len() > 100 {
            continue;
        }
        let body = &rest[end + 1..];
        let (body, after) = body.split_once(CLOSE).unwrap_or((body, ""));
        rest = after;
        let (fence, code) = unfenced(body);
        let language = language(attributes).or(fence).unwrap_or("python");
        if !code.trim().is_empty() {
            blocks.push(Block {
                language: language.to_owned(),
                code: code.to_owned(),
            });
        }
    }
    blocks
}

fn language(attributes: &str) -> Option<&str> {
    let (_, value) = attributes.split_once("lang")?;
    let value = value
        .trim_start_matches("uage")
        .trim_start()
        .strip_prefix('=')?
        .trim_start();
    value.trim_matches(['"', '\'', '/', ' ']).split(['"', '\'', ' ']).next()
}

/// The code without the fence that models like to put around it, and the language that the fence names.
fn unfenced(body: &str) -> (Option<&str>, &str) {
    let trimmed = body.trim();
    let inner = trimmed.strip_prefix("```").and_then(|rest| rest.split_once('\n'));
    match inner {
        Some((name, code)) if !name.contains('`') => {
            let code = code.trim_end().strip_suffix("```").unwrap_or(code);
            (Some(name.trim()).filter(|name| !name.is_empty()), code)
        }
        _ => (None, body.strip_prefix('\n').unwrap_or(body)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)]) {
        let blocks = blocks_in(text);
        let seen: Vec<_> = blocks
            .iter()
            .map(|block| (block.language.as_str(), block.code.as_str()))
            .collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn blocks_are_found_however_they_are_written() {
        check("no code", &[]);
        check("a <execute>print(1)</execute> b", &[("python", "print(1)")]);
        check(
            "<execute>\nx = 1\nx\n</execute>\n<execute lang=\"bash\">ls</execute>",
            &[("python", "x = 1\nx\n"), ("bash", "ls")],
        );
        check("<execute lang='javascript'>\n1\n", &[("javascript", "1\n")]);
        check(
            "<execute>\n```python\nif x:\n    y\n```\n</execute>",
            &[("python", "if x:\n    y\n")],
        );
        check("<execute>```bash\nls\n```</execute>", &[("bash", "ls\n")]);
        check("<execute language=bash>ls", &[("bash", "ls")]);
        check("<execute> </execute><executed>x</executed><execute", &[]);
    }
}
