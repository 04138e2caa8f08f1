//! The tools as Python functions, generated from their schemas, and their description for the model.

use std::fmt::Write as _;

use serde_json::Value;

use crate::agent::model::ToolSpec;

/// Python keywords that are names of arguments.
const KEYWORDS: [&str; 4] = ["from", "in", "is", "for"];

/// The first line of the instructions for acting through code.
pub(super) const HEADING: &str = "## How you act";

/// A parameter, and whether it is optional.
struct Parameter<'a> {
    name: &'a str,
    is_optional: bool,
    description: &'a str,
}

impl Parameter<'_> {
    fn in_python(&self) -> String {
        let escape = if KEYWORDS.contains(&self.name) { "_" } else { "" };
        format!("{}{escape}", self.name)
    }
}

/// The code that defines the functions.
pub(super) fn definitions(tools: &[ToolSpec]) -> String {
    let mut code = String::new();
    for tool in functions(tools) {
        let parameters = parameters(tool);
        let passed: Vec<_> = parameters
            .iter()
            .map(|parameter| format!("{:?}: {}", parameter.name, parameter.in_python()))
            .collect();
        let _infallible = write!(
            code,
            "def {}:\n    {:?}\n    arguments = {{{}}}\n    \
             return _call_tool({:?}, {{name: value for name, value in arguments.items() if value is not None}})\n\n",
            signature(tool.name, &parameters),
            documentation(tool, &parameters),
            passed.join(", "),
            tool.name,
        );
    }
    code
}

/// How the model acts through code, and the functions it can call.
pub(super) fn instructions(tools: &[ToolSpec]) -> String {
    let mut text = HEADING.to_string();
    text.push_str(
        "\n\
         You act by writing Python between `<execute>` and `</execute>`; nothing else you write does anything. The \
         code \
         runs in a sandbox without network, at the root of a copy of the repository. Variables, imports and functions \
         persist from one block to the next. You see what the code prints, its error, and the value of its last \
         expression; so write a block, stop, and read the result before you continue. `<execute lang=\"bash\">` and \
         `<execute lang=\"javascript\">` run in separate interpreters, without the functions.\n\n\
         Only these Python functions change, test and submit the work. Each returns text. Files that code writes in \
         any other way stay in the sandbox and are never part of the fix.\n\n",
    );
    for tool in functions(tools) {
        let parameters = parameters(tool);
        let _infallible = writeln!(
            text,
            "- `{}`: {}",
            signature(tool.name, &parameters),
            documentation(tool, &parameters)
        );
    }
    text
}

/// All tools but `think`: code needs no function for a thought.
fn functions(tools: &[ToolSpec]) -> impl Iterator<Item = &ToolSpec> {
    tools.iter().filter(|tool| tool.name != "think")
}

fn signature(name: &str, parameters: &[Parameter<'_>]) -> String {
    let parameters: Vec<_> = parameters
        .iter()
        .map(|parameter| {
            let default = if parameter.is_optional { "=None" } else { "" };
            format!("{}{default}", parameter.in_python())
        })
        .collect();
    format!("{name}({})", parameters.join(", "))
}

fn documentation(tool: &ToolSpec, parameters: &[Parameter<'_>]) -> String {
    let mut text = tool.description.to_owned();
    for parameter in parameters.iter().filter(|parameter| !parameter.description.is_empty()) {
        let _infallible = write!(text, " {}: {}", parameter.in_python(), parameter.description);
    }
    text
}

/// The required parameters in their order, then the others.
fn parameters(tool: &ToolSpec) -> Vec<Parameter<'_>> {
    let required = tool.parameters["required"].as_array().into_iter().flatten();
    let required: Vec<&str> = required.filter_map(Value::as_str).collect();
    let all = tool.parameters["properties"].as_object();
    let description = |name: &str| {
        let described = all
            .and_then(|all| all.get(name))
            .and_then(|field| field["description"].as_str());
        described.unwrap_or_default()
    };
    let optional = all
        .into_iter()
        .flatten()
        .map(|(name, _)| name.as_str())
        .filter(|name| !required.contains(name));
    let parameter = |name, is_optional| Parameter {
        name,
        is_optional,
        description: description(name),
    };
    required
        .iter()
        .map(|name| parameter(name, false))
        .chain(optional.map(|name| parameter(name, true)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_a_function() {
        let tool = ToolSpec {
            name: "read_file",
            description: "Read \"it\".",
            parameters: serde_json::json!({
                "required": ["path"],
                "properties": { "path": {}, "from": { "description": "First line." }, "to": {} },
            }),
        };
        insta::assert_snapshot!(definitions(std::slice::from_ref(&tool)), @r#"
        def read_file(path, from_=None, to=None):
            "Read \"it\". from_: First line."
            arguments = {"path": path, "from": from_, "to": to}
            return _call_tool("read_file", {name: value for name, value in arguments.items() if value is not None})
        "#);
        assert!(
            instructions(&[tool])
                .ends_with("- `read_file(path, from_=None, to=None)`: Read \"it\". from_: First line.\n")
        );
    }
}
