//! Reads a compiler's messages about a build: its errors with their locations, and the built programs. Cargo's
//! format: <https://doc.rust-lang.org/cargo/reference/external-tools.html#json-messages>

use serde::Deserialize;

/// Maximum number of errors that are read.
const MAX_ERRORS: usize = 2_000;

/// An error, and every location it names, primary ones first.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct BuildError {
    /// The file as the compiler names it, and the byte offset.
    pub(super) at: Vec<(String, usize)>,
}

/// The result of a build.
#[derive(Debug, Default)]
pub(super) struct Built {
    pub(super) is_complete: bool,
    pub(super) errors: Vec<BuildError>,
    pub(super) programs: Vec<Program>,
}

/// A test program.
#[derive(Debug, Clone)]
pub(super) struct Program {
    pub(super) path: String,
    pub(super) manifest: String,
    pub(super) package: String,
    pub(super) kind: String,
    pub(super) name: String,
}

#[derive(Deserialize)]
struct Message {
    reason: String,
    #[serde(default)]
    success: bool,
    #[serde(default)]
    executable: Option<String>,
    #[serde(default)]
    manifest_path: String,
    #[serde(default)]
    package_id: String,
    #[serde(default)]
    target: Named,
    #[serde(default)]
    profile: Profile,
    #[serde(default)]
    message: Option<Diagnostic>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Named {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Profile {
    test: bool,
}

#[derive(Deserialize)]
struct Diagnostic {
    level: String,
    #[serde(default)]
    spans: Vec<Span>,
    #[serde(default)]
    children: Vec<Diagnostic>,
}

#[derive(Deserialize)]
struct Span {
    file_name: String,
    byte_start: usize,
    is_primary: bool,
    #[serde(default)]
    expansion: Option<Box<Expansion>>,
}

#[derive(Deserialize)]
struct Expansion {
    span: Span,
}

impl Built {
    pub(super) fn new(is_complete: bool, errors: Vec<BuildError>) -> Self {
        Self {
            is_complete,
            errors,
            programs: Vec::new(),
        }
    }
}

/// Parses the messages of cargo.
pub(super) fn read(printed: &str) -> Built {
    let mut built = Built::default();
    for message in printed
        .lines()
        .filter_map(|line| serde_json::from_str::<Message>(line).ok())
    {
        match (message.reason.as_str(), message.executable, message.message) {
            ("build-finished", ..) => built.is_complete = message.success,
            ("compiler-artifact", Some(path), _) if message.profile.test && path.starts_with('/') => {
                built.programs.push(Program {
                    path,
                    manifest: message.manifest_path,
                    package: message.package_id,
                    kind: message.target.kind.into_iter().next().unwrap_or_default(),
                    name: message.target.name,
                });
            }
            ("compiler-message", _, Some(said))
                if said.level.starts_with("error") && !said.spans.is_empty() && built.errors.len() < MAX_ERRORS =>
            {
                built.errors.push(said.trouble());
            }
            _ => {}
        }
    }
    built
}

impl Diagnostic {
    fn trouble(&self) -> BuildError {
        let mut trouble = BuildError::default();
        let (primary, others): (Vec<&Span>, Vec<&Span>) = self.spans.iter().partition(|span| span.is_primary);
        let of_children = self.children.iter().flat_map(|child| &child.spans);
        for span in primary.into_iter().chain(others).chain(of_children) {
            // The location of a macro may be anywhere, so its call sites count as well. The parser bounds their
            // depth.
            let mut next = Some(span);
            while let Some(span) = next {
                trouble.at.push((span.file_name.clone(), span.byte_start));
                next = span.expansion.as_ref().map(|expansion| &expansion.span);
            }
        }
        trouble
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_and_anything_else_is_not() {
        let built = read(
            "{\"reason\":\"compiler-message\",\"message\":{\"level\":\"error\",\"spans\":[\
             {\"file_name\":\"src/a.rs\",\"byte_start\":7,\"is_primary\":false},\
             {\"file_name\":\"src/lib.rs\",\"byte_start\":5,\"is_primary\":true,\"expansion\":{\"span\":\
             {\"file_name\":\"src/b.rs\",\"byte_start\":9,\"is_primary\":false}}}]}}\n\
             {\"reason\":\"compiler-message\",\"message\":{\"level\":\"error\",\"spans\":[]}}\n\
             {\"reason\":\"compiler-message\",\"message\":{\"level\":\"warning\",\"spans\":[]}}\n\
             {\"reason\":\"compiler-artifact\",\"executable\":\"relative\",\"profile\":{\"test\":true}}\n\
             {\"reason\":\"build-finished\",\"success\":false}\n{\"reason\":7}\nnoise\n",
        );
        let at: Vec<_> = built.errors.iter().flat_map(|error| &error.at).collect();
        let expected = [("src/lib.rs", 5), ("src/b.rs", 9), ("src/a.rs", 7)];
        assert_eq!(
            at,
            expected
                .map(|(file, byte)| (file.to_string(), byte))
                .iter()
                .collect::<Vec<_>>()
        );
        assert_eq!(built.errors.len(), 1);
        assert!(!built.is_complete && built.programs.is_empty());
    }

    #[test]
    fn an_expansion_without_end_is_not_followed() {
        let deep = "{\"span\":".repeat(100_000);
        let built = read(&format!("{{\"reason\":\"compiler-message\",\"message\":{deep}"));
        assert!(built.errors.is_empty());
    }
}
