//! Lists the simple commands that a script runs one after the other, to find the line with the tests in a CI step.
//!
//! Follows lists and the first command of pipelines, and ignores redirections. Branches are not followed.

mod compound;
mod lists;
mod variables;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tree_sitter::Node;

use self::variables::{Arguments, Variables};
use super::conditions::Conditions;
use super::word::{QUOTED, VARIABLE, Word, has_gaps, is_name, is_redirection, words};
use super::{MAX_DEPTH, Parsed, children};

/// Maximum number of commands.
const MAX_COMMANDS: usize = 500;

/// A simple command. The names of variables are enclosed in two [`VARIABLE`]s.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SimpleCommand {
    pub(crate) words: Vec<String>,
    /// Variables set before it, for it alone and by earlier lines, in order.
    pub(crate) env: Vec<(String, String)>,
    /// The names of those variables that only the shell has, and no program that it starts.
    pub(crate) local: BTreeSet<String>,
    /// The arguments of earlier `cd` commands, in order.
    pub(crate) directory: Vec<String>,
    /// Whether it contains a pattern that a shell would expand.
    pub(crate) has_pattern: bool,
    /// Whether the script says that its failure does not count.
    pub(crate) may_fail: bool,
    /// The file that its output is written to, where it is redirected.
    pub(crate) output: Option<String>,
}

/// The simple commands that certainly run, in order: those outside of branches, and those in branches on variables that are
/// known. `None` if the script cannot be followed, or if a branch may be
/// important: it changes the directory, or `matters` accepts the words of one of its commands.
pub(crate) fn lines(
    script: &str,
    known: &BTreeMap<String, String>,
    matters: impl Fn(&[String]) -> bool,
) -> Option<Vec<SimpleCommand>> {
    let parsed = Parsed::of(script)?;
    let mut reader = ScriptReader {
        parsed: &parsed,
        matters: &matters,
        known,
        variables: Variables::default(),
        directory: Vec::new(),
        output: None,
        functions: HashMap::new(),
        lines: Vec::new(),
        seen: 0,
        has_ended: false,
        has_returned: false,
    };
    reader.statements(parsed.root(), After::Nothing, MAX_DEPTH)?;
    Some(reader.lines)
}

/// What precedes a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    /// A newline or `;`.
    Nothing,
    /// `&&`.
    Success,
    /// `&&` after a test such as `[ "$x" = y ]`, which only a shell could evaluate.
    Condition,
    /// `||` or `|`: it runs on failure, or reads the output of another command.
    Other,
}

struct ScriptReader<'p, 't> {
    parsed: &'p Parsed<'t>,
    matters: &'p dyn Fn(&[String]) -> bool,
    /// The variables that are set before the script runs.
    known: &'p BTreeMap<String, String>,
    variables: Variables,
    directory: Vec<String>,
    /// The file that the current statements write to.
    output: Option<String>,
    /// The bodies of the functions that are defined so far.
    functions: HashMap<&'t str, Node<'p>>,
    lines: Vec<SimpleCommand>,
    seen: usize,
    has_ended: bool,
    /// Whether only a function has ended.
    has_returned: bool,
}

impl<'p, 't> ScriptReader<'p, 't> {
    /// The statements of a program or a group, each with its terminator. `around` is what precedes the group.
    fn statements(&mut self, node: Node<'p>, around: After, depth: usize) -> Option<()> {
        let children = children(node);
        for (at, child) in children.iter().enumerate().filter(|(_, child)| child.is_named()) {
            if self.has_ended || self.seen > MAX_COMMANDS {
                break;
            }
            let runs_beside = children.get(at + 1).is_some_and(|next| next.kind() == "&");
            let before = if runs_beside { After::Other } else { around };
            self.statement(*child, before, depth)?;
        }
        Some(())
    }

    fn statement(&mut self, node: Node<'p>, before: After, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match node.kind() {
            "command" => self.command(node, before, depth)?,
            "function_definition" => {
                let (name, body) = (node.child_by_field_name("name")?, node.child_by_field_name("body")?);
                self.functions.insert(self.parsed.raw(name), body);
            }
            "declaration_command" | "variable_assignment" | "variable_assignments"
                if matches!(before, After::Condition | After::Other) => {}
            "declaration_command" => self.declare(&words(self.parsed, node)?)?,
            "unset_command" => {
                for word in words(self.parsed, node)?
                    .iter()
                    .skip(1)
                    .filter(|word| is_name(&word.plain))
                {
                    self.variables.assign(word.plain.clone(), String::new())?;
                }
            }
            "variable_assignment" => self.assign(&Word::of(self.parsed, node)?)?,
            "variable_assignments" => {
                for word in words(self.parsed, node)? {
                    self.assign(&word)?;
                }
            }
            "list" => _ = self.list(node, before, depth)?,
            "pipeline" => self.apart(|reader| reader.pipeline(node, before, depth))?,
            "redirected_statement" if has_gaps(self.parsed, node) => self.branch(node)?,
            "redirected_statement" => {
                let outer = self.output.clone();
                self.output = self.written_to(node).or(self.output.take());
                for child in children(node) {
                    match child.kind() {
                        "heredoc_redirect" => self.branch(child)?,
                        _ if is_redirection(child) => {}
                        _ => self.statement(child, before, depth)?,
                    }
                }
                self.output = outer;
            }
            "if_statement" | "case_statement" if is_certain(before) => {
                match self.conditions(children(node).len()).taken(node) {
                    Some(statements) => {
                        for statement in statements {
                            if !self.has_ended {
                                self.statement(statement, before, depth)?;
                            }
                        }
                    }
                    None => self.branch(node)?,
                }
            }
            "for_statement" => self.repeat(node, before, depth)?,
            "compound_statement" if is_certain(before) => self.statements(node, before, depth)?,
            "subshell" if is_certain(before) => {
                self.apart(|reader| reader.statements(node, before, depth))?;
            }
            _ => self.branch(node)?,
        }
        Some(())
    }

    /// Sets a variable, if a word does so.
    fn assign(&mut self, word: &Word) -> Option<()> {
        match assignment(word) {
            Some((name, value)) => self.variables.assign(name, value),
            None => Some(()),
        }
    }

    /// Sets and exports variables, as in `export A=b C` and `local A=b`.
    fn declare(&mut self, words: &[Word]) -> Option<()> {
        let is = |names: &[&str]| words.iter().take(2).any(|word| names.contains(&word.plain.as_str()));
        let (exports, is_local) = (is(&["export", "-x", "-gx"]), is(&["local"]));
        for word in words.iter().skip(1) {
            let set = assignment(word);
            let name = set.as_ref().map_or(word.plain.as_str(), |(name, _)| name);
            if exports && is_name(name) {
                self.variables.exported.insert(name.to_owned());
            }
            if is_local && is_name(name) {
                self.variables.is_local(name);
            }
            self.assign(word)?;
        }
        Some(())
    }

    /// Commands with `|` between them. Only the first is read; `tee` may say where its output goes.
    fn pipeline(&mut self, node: Node<'p>, mut before: After, depth: usize) -> Option<()> {
        let parts: Vec<Node<'p>> = children(node).into_iter().filter(Node::is_named).collect();
        let last = parts
            .last()
            .and_then(|last| words(self.parsed, *last))
            .unwrap_or_default();
        let last: Vec<&str> = last.iter().map(|word| word.marked.as_str()).collect();
        let outer = self.output.clone();
        if let ["tee", "-a", file] | ["tee", file] = last.as_slice() {
            self.output = Some((*file).to_owned());
        }
        for part in parts {
            self.statement(part, before, depth)?;
            before = After::Other;
        }
        self.output = outer;
        Some(())
    }

    /// The file that the output of a statement is redirected to.
    fn written_to(&self, node: Node<'p>) -> Option<String> {
        let parts = children(node)
            .into_iter()
            .filter(|child| child.kind() == "file_redirect");
        let is_output = |redirect: &Node<'_>| {
            let descriptor = redirect.child_by_field_name("descriptor");
            let raw = self.parsed.raw(*redirect);
            raw.starts_with('>') || descriptor.is_some_and(|number| self.parsed.raw(number) == "1")
        };
        let file = parts.rev().find(is_output)?.child_by_field_name("destination")?;
        Some(Word::of(self.parsed, file)?.marked)
    }

    /// Reads what runs in a separate shell. The directory and the variables of this one stay the same.
    fn apart(&mut self, read: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        self.seen += 1;
        let outer = (self.directory.clone(), self.variables.clone(), self.has_ended);
        read(self)?;
        (self.directory, self.variables, self.has_ended) = outer;
        Some(())
    }

    /// The variables that conditions may ask for here; `count` is how much they cost.
    fn conditions(&mut self, count: usize) -> Conditions<'p, 't> {
        self.seen += count;
        Conditions::new(self.parsed, self.variables.values(self.known))
    }

    /// Earlier variables with the path of the current directory are unknown in another one.
    fn leave_directory(&mut self) {
        let here = [
            format!("{VARIABLE}PWD{VARIABLE}"),
            format!("{VARIABLE}{QUOTED}PWD{VARIABLE}"),
        ];
        for (_, value) in &mut self.variables.set {
            if here.iter().any(|here| value.contains(here)) {
                *value = format!("{VARIABLE}{VARIABLE}");
            }
        }
    }

    fn command(&mut self, node: Node<'p>, before: After, depth: usize) -> Option<()> {
        self.seen += 1;
        let mut line = self.line(node)?;
        // The grammar parses assignments and the command on the next line as one command.
        let set = children(node)
            .into_iter()
            .rfind(|child| child.kind() == "variable_assignment");
        let name = node.child_by_field_name("name");
        let between = set.zip(name).map(|(set, name)| set.end_byte()..name.start_byte());
        let between = between
            .and_then(|range| self.parsed.text.get(range))
            .unwrap_or_default();
        if between.contains('\n') && !between.contains('\\') {
            for (name, value) in std::mem::take(&mut line.env) {
                self.variables.assign(name, value)?;
            }
        }
        let function = line.words.first().and_then(|name| self.functions.get(name.as_str()));
        if let Some(body) = function.copied() {
            return self.call((body, line.env), &line.words[1..], before, depth);
        }
        let ends = is_certain(before) && line.words.first().is_some_and(|name| name == "exec");
        if ends {
            line.words.remove(0);
            if line.words.is_empty() {
                // It only redirects.
                return Some(());
            }
        }
        let is_other = before == After::Other;
        match line.words.first().map(String::as_str) {
            Some("cd" | "pushd") => match line.words.as_slice() {
                [_, to] if is_certain(before) => {
                    self.leave_directory();
                    self.directory.push(to.clone());
                }
                _ => return None,
            },
            Some("popd") => {
                self.leave_directory();
                self.directory.pop();
            }
            // The grammar parses `! {` and the like as commands.
            Some("{" | "}" | "(" | ")" | "!") => return None,
            Some("shift") if is_certain(before) => self.variables.shift(self.known),
            Some("set") if line.words.get(1).is_some_and(|word| word == "--") => {
                self.variables.arguments = Arguments::Words(line.words.split_off(2));
            }
            Some(name @ ("exit" | "return")) if before == After::Nothing => {
                self.has_ended = true;
                self.has_returned = name == "return";
            }
            // The reading end of a pipeline, or a command that runs on failure or may fail.
            _ if is_other => {}
            _ => {
                line.local = self.variables.local_names();
                line.local.retain(|name| line.env.iter().all(|(own, _)| own != name));
                line.env = self.variables.set.iter().cloned().chain(line.env).collect();
                line.directory.clone_from(&self.directory);
                line.output.clone_from(&self.output);
                self.lines.push(line);
            }
        }
        self.has_ended |= ends;
        Some(())
    }

    /// A command with the assignments before it, those of `env A=b COMMAND` among them.
    fn line(&self, node: Node<'p>) -> Option<SimpleCommand> {
        let mut line = SimpleCommand::default();
        let mut words = words(self.parsed, node)?.into_iter().peekable();
        while let Some(word) = words.next() {
            let is_env = line.words.is_empty() && matches!(word.plain.as_str(), "env" | "/usr/bin/env");
            if is_env && words.peek().and_then(assignment).is_some() {
                continue;
            }
            match assignment(&word).filter(|_| line.words.is_empty()) {
                Some(set) => line.env.push(set),
                None => {
                    // No file is called like an option, and so a shell leaves it as it is.
                    line.has_pattern |= word.has_pattern && !word.plain.starts_with("--");
                    line.words.extend(self.variables.with_arguments(&word.marked));
                }
            }
        }
        Some(line)
    }

    /// Code that runs only sometimes, with the functions that it calls. What it sets is no longer certain.
    fn branch(&mut self, node: Node<'p>) -> Option<()> {
        self.seen += 1;
        let (mut open, mut called, mut changed) = (vec![node], BTreeSet::new(), BTreeSet::new());
        let mut is_harmless = self.seen <= MAX_COMMANDS;
        while let Some(node) = open.pop().filter(|_| is_harmless) {
            Parsed::each(node, |node| match node.kind() {
                "command" => {
                    let words = self.line(node).map(|line| line.words).unwrap_or_default();
                    let name = words.first().map_or("", String::as_str);
                    if let Some((name, body)) = self.functions.get_key_value(name) {
                        open.extend(called.insert(*name).then_some(*body));
                    }
                    is_harmless &= !words.is_empty() && name != "cd" && !(self.matters)(&words);
                    if matches!(name, "read" | "printf" | "mapfile" | "readarray" | "getopts") {
                        changed.extend(words.into_iter().skip(1));
                    }
                }
                "variable_assignment" => {
                    let name = node.child_by_field_name("name");
                    changed.extend(name.map(|name| self.parsed.raw(name).to_owned()));
                }
                "unset_command" => {
                    let words = words(self.parsed, node).unwrap_or_default();
                    changed.extend(words.into_iter().map(|word| word.plain));
                }
                _ => {}
            });
        }
        for name in changed.iter().filter(|name| is_name(name)) {
            self.variables.doubt(name);
        }
        is_harmless.then_some(())
    }
}

/// Whether a statement runs as long as nothing fails.
fn is_certain(before: After) -> bool {
    matches!(before, After::Nothing | After::Success)
}

fn assignment(word: &Word) -> Option<(String, String)> {
    let (name, value) = word.marked.split_once('=')?;
    is_name(name).then(|| (name.to_string(), value.to_string()))
}
