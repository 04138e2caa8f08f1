//! The words of a command: with quotes resolved, and with marks for what only a shell can expand.

use std::borrow::Cow;

use shlex::try_quote;
use tree_sitter::Node;

use super::{MAX_DEPTH, Parsed, children};

/// Encloses the name of a variable in a word. No script contains it: control characters are rejected.
pub(crate) const VARIABLE: char = '\u{1}';
/// Precedes the name of a variable in double quotes: its value is one word, even if it is empty or has spaces.
pub(super) const QUOTED: char = '"';
/// Separates the name of a variable from what is used in its place if it is empty or not set.
pub(crate) const DEFAULT: &str = ":-";
/// The name of all arguments of a script.
pub(crate) const ARGUMENTS: &str = "@";
/// The variable that stands for what `uname` prints. No job has it.
pub(super) const SYSTEM: &str = "GREENLIGHT_UNAME";
/// Unknown text: a variable without a name, which is never set.
const UNKNOWN: &str = "\u{1}\u{1}";

/// One word of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a separate thing that a shell may do with it"
)]
pub(crate) struct Word {
    /// As written in the script.
    pub(crate) raw: String,
    /// Without quotes; variables are unchanged.
    pub(crate) plain: String,
    /// Without quotes; the name of each variable is enclosed in two [`VARIABLE`]s.
    pub(super) marked: String,
    /// Whether it contains a pattern that a shell would expand.
    pub(super) has_pattern: bool,
    /// Whether a shell would expand it: a pattern, a variable, a home directory.
    pub(crate) is_for_shell: bool,
    /// Whether it contains a command substitution.
    pub(super) runs_a_command: bool,
}

impl Word {
    /// A word that a shell takes literally.
    pub(crate) fn new(plain: &str) -> Self {
        Self {
            raw: try_quote(plain).map_or_else(|_| String::new(), Cow::into_owned),
            plain: plain.to_string(),
            marked: plain.to_string(),
            ..Self::default()
        }
    }

    /// Whether it sets a variable for the command that follows.
    pub(crate) fn is_assignment(&self) -> bool {
        self.plain.split_once('=').is_some_and(|(name, _)| is_name(name))
    }

    /// The word of a node. `None` if it contains anything unsupported.
    pub(super) fn of(parsed: &Parsed<'_>, node: Node<'_>) -> Option<Self> {
        let mut word = Self {
            raw: parsed.raw(node).to_string(),
            ..Self::default()
        };
        word.take(parsed, node, MAX_DEPTH, false)?;
        Some(word)
    }

    /// Joins two words that are separated only by a line continuation.
    pub(super) fn join(&mut self, next: Self) {
        self.raw += &next.raw;
        self.plain += &next.plain;
        self.marked += &next.marked;
        self.has_pattern |= next.has_pattern;
        self.is_for_shell |= next.is_for_shell;
        self.runs_a_command |= next.runs_a_command;
    }

    fn push(&mut self, text: &str) {
        self.plain.push_str(text);
        self.marked.push_str(text);
    }

    /// Adds a node, which is in double quotes if `quoted`.
    fn take(&mut self, parsed: &Parsed<'_>, node: Node<'_>, depth: usize, quoted: bool) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        let raw = parsed.raw(node);
        match node.kind() {
            "raw_string" => self.push(raw.strip_prefix('\'')?.strip_suffix('\'')?),
            "string" => self.parts(parsed, node, depth, true)?,
            "string_content" => self.unescaped(raw, true),
            "concatenation" | "command_name" | "variable_assignment" => self.parts(parsed, node, depth, false)?,
            "simple_expansion" => self.variable(raw, raw.strip_prefix('$')?, quoted),
            "expansion" => self.variable(raw, raw.strip_prefix("${")?.strip_suffix('}')?, quoted),
            "command_substitution" | "process_substitution" | "arithmetic_expansion" => {
                self.runs_a_command = true;
                let inner = raw.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')'));
                let name = match inner.map(str::trim) {
                    Some("pwd") => "PWD",
                    Some("git rev-parse --show-toplevel") => "GITHUB_WORKSPACE",
                    Some("uname" | "uname -s") => SYSTEM,
                    _ => "",
                };
                // A program that is found on the path is named.
                let found = inner.and_then(|inner| inner.trim().strip_prefix("which "));
                let is_program = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
                match found.filter(|name| !name.is_empty() && is_program(name)) {
                    Some(program) => self.push(program),
                    None => self.variable(raw, name, quoted),
                }
            }
            "array" => self.array(parsed, node)?,
            "ansi_c_string" | "translated_string" | "brace_expression" | "subscript" => {
                self.variable(raw, "", quoted);
            }
            "extglob_pattern" | "regex" => {
                self.has_pattern = true;
                self.is_for_shell = true;
                self.push(raw);
            }
            "word" | "number" | "variable_name" | "test_operator" => self.unescaped(raw, false),
            // Tokens, such as `=` and `"`.
            _ if !node.is_named() => match raw {
                "\"" => {}
                "+=" => self.add_to(),
                _ => self.push(raw),
            },
            _ => return None,
        }
        Some(())
    }

    /// Adds a node's children and the text between them: whitespace in a string, and line continuations.
    fn parts(&mut self, parsed: &Parsed<'_>, node: Node<'_>, depth: usize, quoted: bool) -> Option<()> {
        let mut end = node.start_byte();
        for part in children(node) {
            self.unescaped(parsed.text.get(end..part.start_byte())?, quoted);
            self.take(parsed, part, depth, quoted)?;
            end = part.end_byte();
        }
        self.unescaped(parsed.text.get(end..node.end_byte())?, quoted);
        Some(())
    }

    /// The words of an array, separated by spaces; unknown if one of them is not that plain.
    fn array(&mut self, parsed: &Parsed<'_>, node: Node<'_>) -> Option<()> {
        let words = children(node)
            .into_iter()
            .filter(|child| child.is_named() && child.kind() != "comment");
        let words: Vec<Self> = words.map(|word| Self::of(parsed, word)).collect::<Option<_>>()?;
        let is_plain = |word: &Self| !word.plain.is_empty() && !word.plain.contains(char::is_whitespace);
        if !words.iter().all(is_plain) || words.iter().any(|word| word.has_pattern) {
            self.variable(parsed.raw(node), "", false);
            return Some(());
        }
        self.plain.push_str(parsed.raw(node));
        for word in words {
            if self.marked.ends_with(|c| c != '=') {
                self.marked.push(' ');
            }
            self.marked.push_str(&word.marked);
        }
        Some(())
    }

    /// `A+=b` as if it were `A=${A}b`.
    fn add_to(&mut self) {
        let name = std::mem::take(&mut self.plain);
        self.marked.push('=');
        self.variable(&name, &format!("{name}{DEFAULT}"), true);
        self.plain = format!("{name}+=");
    }

    fn variable(&mut self, raw: &str, name: &str, quoted: bool) {
        self.is_for_shell = true;
        self.plain.push_str(raw);
        self.marked.push(VARIABLE);
        // All words of an array are several words, even in quotes.
        let array = name.strip_suffix("[@]");
        let name = name.strip_suffix("[*]").unwrap_or(name);
        let (name, quoted) = array.map_or((name, quoted), |name| (name, false));
        // `$?` and the like are not environment variables.
        let is_plain = |text: &str| text == ARGUMENTS || text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let (own, default) = name.split_once(DEFAULT).unwrap_or((name, ""));
        let is_literal = |c: char| c.is_ascii_alphanumeric() || " _-./=,:+@".contains(c);
        let (cut, affix) = name.split_once(['#', '%']).unwrap_or((name, ""));
        let is_cut = !cut.is_empty() && is_plain(cut) && !affix.is_empty() && affix.chars().all(is_literal);
        if is_plain(name) || (is_plain(own) && default.chars().all(is_literal)) || is_cut {
            // All arguments are several words, or none, even in quotes.
            if quoted && own != ARGUMENTS {
                self.marked.push(QUOTED);
            }
            self.marked.push_str(name);
        }
        self.marked.push(VARIABLE);
    }

    /// Adds text without its backslashes; in double quotes, a backslash only escapes special characters.
    fn unescaped(&mut self, raw: &str, quoted: bool) {
        let mut chars = raw.chars().peekable();
        while let Some(c) = chars.next() {
            let mut own = [0; 4];
            let is_first = self.plain.is_empty();
            match c {
                '\\' => {
                    let escaped = chars.next();
                    if escaped == Some('\r') {
                        let _line_end = chars.next_if_eq(&'\n');
                        continue;
                    }
                    let Some(escaped) = escaped.filter(|c| *c != '\n') else {
                        continue;
                    };
                    if quoted && !matches!(escaped, '"' | '\\' | '$' | '`') {
                        self.push("\\");
                    }
                    self.push(escaped.encode_utf8(&mut own));
                    continue;
                }
                _ if quoted => {}
                '*' | '?' => {
                    self.has_pattern = true;
                    self.is_for_shell = true;
                }
                // The shell expands it, and it is not a pattern that can be passed on.
                '~' if is_first => {
                    self.is_for_shell = true;
                    self.marked.push_str(UNKNOWN);
                }
                '[' => {
                    self.is_for_shell = true;
                    if is_first {
                        self.marked.push_str(UNKNOWN);
                    }
                }
                '$' => self.is_for_shell = true,
                _ => {}
            }
            self.push(c.encode_utf8(&mut own));
        }
    }
}

/// Whether a variable can have this name.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The words of a command or a declaration, without redirections. `None` if one of them is not a word.
pub(super) fn words(parsed: &Parsed<'_>, command: Node<'_>) -> Option<Vec<Word>> {
    let mut words: Vec<Word> = Vec::new();
    let mut end = command.start_byte();
    for node in children(command) {
        if is_redirection(node) {
            end = node.end_byte();
            continue;
        }
        let word = Word::of(parsed, node)?;
        let between = parsed.text.get(end..node.start_byte()).unwrap_or_default();
        let blank = without_line_ends(between);
        if !blank.trim().is_empty() {
            return None;
        }
        let is_continued = !between.is_empty() && blank.is_empty();
        match words.last_mut().filter(|_| is_continued) {
            Some(last) => last.join(word),
            None => words.push(word),
        }
        end = node.end_byte();
    }
    Some(words)
}

/// Text without line continuations.
fn without_line_ends(text: &str) -> String {
    text.replace("\\\r\n", "").replace("\\\n", "")
}

/// Whether the grammar omitted something between the parts of a node, as it does with `-` before a here-document.
pub(super) fn has_gaps(parsed: &Parsed<'_>, node: Node<'_>) -> bool {
    let children = children(node);
    let mut pairs = children.iter().zip(children.iter().skip(1));
    pairs.any(|(one, next)| {
        let between = parsed.text.get(one.end_byte()..next.start_byte());
        !without_line_ends(between.unwrap_or_default()).trim().is_empty()
    })
}

pub(super) fn is_redirection(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "file_redirect" | "herestring_redirect" | "heredoc_redirect"
    )
}

/// A word as a person would type it in a shell. Unlike `try_quote`, it leaves `--features=a,b` as it is: `=` is special
/// only in the first word of a command.
pub(crate) fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,@+%=".contains(c);
    if word.starts_with('-') && word.chars().all(is_plain) {
        return Cow::Borrowed(word);
    }
    try_quote(word).unwrap_or(Cow::Borrowed("…"))
}
