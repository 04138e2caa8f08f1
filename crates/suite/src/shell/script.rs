//! Lists the simple commands that a script runs one after the other, to find the line with the tests in a CI step.
//!
//! Follows lists and the first command of pipelines, and ignores redirections. Branches are not followed.

mod compound;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tree_sitter::Node;

use self::compound::Function;
use super::conditions::Conditions;
use super::directory::expanded;
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
        env: Vec::new(),
        exported: BTreeSet::new(),
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
    env: Vec<(String, String)>,
    /// The names of the variables that are passed on to programs.
    exported: BTreeSet<String>,
    directory: Vec<String>,
    /// The file that the current statements write to.
    output: Option<String>,
    /// The bodies of the functions that are defined so far.
    functions: HashMap<&'t str, Function<'p>>,
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
                let is_harmless = self.branch(body).is_some();
                self.functions
                    .insert(self.parsed.raw(name), Function { body, is_harmless });
            }
            "declaration_command" | "variable_assignment" | "variable_assignments"
                if matches!(before, After::Condition | After::Other) => {}
            "declaration_command" => self.declare(&words(self.parsed, node)?),
            "variable_assignment" => self.env.extend(assignment(&Word::of(self.parsed, node)?)),
            "variable_assignments" => {
                let set = words(self.parsed, node)?;
                self.env.extend(set.iter().filter_map(assignment));
            }
            "list" => self.list(node, before, depth)?,
            "pipeline" => self.apart(|reader| {
                let mut before = before;
                for child in children(node).into_iter().filter(Node::is_named) {
                    reader.statement(child, before, depth)?;
                    before = After::Other;
                }
                Some(())
            })?,
            "redirected_statement" if has_gaps(self.parsed, node) => self.branch(node)?,
            "redirected_statement" => {
                let outer = self.output.clone();
                let file = node.child_by_field_name("redirect");
                let file = file.and_then(|redirect| redirect.child_by_field_name("destination"));
                let file = file.and_then(|file| Word::of(self.parsed, file));
                self.output = file.map(|file| file.marked).or(self.output.take());
                for child in children(node) {
                    match child.kind() {
                        "heredoc_redirect" => self.branch(child)?,
                        _ if is_redirection(child) => {}
                        _ => self.statement(child, before, depth)?,
                    }
                }
                self.output = outer;
            }
            "if_statement" | "case_statement" if is_certain(before) => match self.conditions().taken(node) {
                Some(statements) => {
                    for statement in statements {
                        if !self.has_ended {
                            self.statement(statement, before, depth)?;
                        }
                    }
                }
                None => self.branch(node)?,
            },
            "for_statement" => self.repeat(node, before, depth)?,
            "compound_statement" if is_certain(before) => self.statements(node, before, depth)?,
            "subshell" if is_certain(before) => {
                self.apart(|reader| reader.statements(node, before, depth))?;
            }
            _ => self.branch(node)?,
        }
        Some(())
    }

    /// Sets and exports variables, as in `export A=b C` and `local A=b`.
    fn declare(&mut self, words: &[Word]) {
        let is_export = |word: &&Word| matches!(word.plain.as_str(), "export" | "-x" | "-gx");
        let exports = words.iter().take(2).any(|word| is_export(&word));
        for word in words.iter().skip(1) {
            let set = assignment(word);
            let name = set.as_ref().map_or(word.plain.as_str(), |(name, _)| name);
            if exports && is_name(name) {
                self.exported.insert(name.to_owned());
            }
            self.env.extend(set);
        }
    }

    /// Commands with `&&` and `||` between them.
    fn list(&mut self, node: Node<'p>, mut before: After, depth: usize) -> Option<()> {
        if is_excused(self.parsed, node) {
            let from = self.lines.len();
            if let Some(first) = children(node).first() {
                self.statement(*first, before, depth)?;
            }
            self.lines.iter_mut().skip(from).for_each(|line| line.may_fail = true);
            return Some(());
        }
        let mut holds = None;
        for child in children(node) {
            match child.kind() {
                "test_command" => {
                    self.branch(child)?;
                    holds = self.conditions().holds(child, MAX_DEPTH).filter(|_| is_certain(before));
                    before = After::Condition;
                }
                "&&" if holds == Some(false) => before = After::Other,
                "&&" if before == After::Condition && holds.is_none() => {}
                "&&" => before = After::Success,
                "||" if holds == Some(false) => before = After::Success,
                "||" => before = After::Other,
                _ => self.statement(child, before, depth)?,
            }
        }
        Some(())
    }

    /// Reads what runs in a separate shell. The directory and the variables of this one stay the same.
    fn apart(&mut self, read: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        self.seen += 1;
        let (directory, env, has_ended) = (self.directory.clone(), self.env.len(), self.has_ended);
        read(self)?;
        (self.directory, self.has_ended) = (directory, has_ended);
        self.env.truncate(env);
        Some(())
    }

    /// The variables that conditions may ask for here.
    fn conditions(&mut self) -> Conditions<'p, 't> {
        self.seen += 1;
        let mut values = self.known.clone();
        for (name, value) in &self.env {
            match expanded(value, &values) {
                Some(value) => values.insert(name.clone(), value),
                None => values.remove(name),
            };
        }
        Conditions::new(self.parsed, values)
    }

    /// Earlier variables with the path of the current directory are unknown in another one.
    fn leave_directory(&mut self) {
        let here = [
            format!("{VARIABLE}PWD{VARIABLE}"),
            format!("{VARIABLE}{QUOTED}PWD{VARIABLE}"),
        ];
        for (_, value) in &mut self.env {
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
            self.env.append(&mut line.env);
        }
        let function = line.words.first().and_then(|name| self.functions.get(name.as_str()));
        if let Some(function) = function.copied() {
            return self.call(function, &line.words[1..], before, depth);
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
            Some(name @ ("exit" | "return" | "exec")) if before == After::Nothing => {
                self.has_ended = true;
                self.has_returned = name == "return";
            }
            // The reading end of a pipeline, or a command that runs on failure or may fail.
            _ if is_other => {}
            _ => {
                let own: BTreeSet<&String> = line.env.iter().map(|(name, _)| name).collect();
                let names = self.env.iter().map(|(name, _)| name);
                let local = names.filter(|name| !self.exported.contains(*name) && !own.contains(name));
                line.local = local.cloned().collect();
                line.env = self.env.iter().cloned().chain(line.env).collect();
                line.directory.clone_from(&self.directory);
                line.output.clone_from(&self.output);
                self.lines.push(line);
            }
        }
        Some(())
    }

    /// A command with the assignments before it.
    fn line(&self, node: Node<'p>) -> Option<SimpleCommand> {
        let mut line = SimpleCommand::default();
        for word in words(self.parsed, node)? {
            match assignment(&word).filter(|_| line.words.is_empty()) {
                Some(set) => line.env.push(set),
                None => {
                    line.has_pattern |= word.has_pattern;
                    line.words.push(word.marked);
                }
            }
        }
        Some(line)
    }

    /// Code that runs only sometimes.
    fn branch(&mut self, node: Node<'p>) -> Option<()> {
        let mut is_harmless = true;
        Parsed::each(node, |node| {
            if node.kind() == "command" {
                let line = self.line(node);
                let matters = |line: &SimpleCommand| {
                    let name = line.words.first().map_or("", String::as_str);
                    let is_harmful = |function: &Function<'_>| !function.is_harmless;
                    name == "cd" || self.functions.get(name).is_some_and(is_harmful) || (self.matters)(&line.words)
                };
                is_harmless &= line.is_some_and(|line| !matters(&line));
            }
        });
        is_harmless.then_some(())
    }
}

/// Whether a list says that a failure does not count: `a || true`.
fn is_excused(parsed: &Parsed<'_>, list: Node<'_>) -> bool {
    let children = children(list);
    let [_, operator, then] = children.as_slice() else {
        return false;
    };
    operator.kind() == "||" && matches!(parsed.raw(*then), "true" | ":")
}

/// Whether a statement runs as long as nothing fails.
fn is_certain(before: After) -> bool {
    matches!(before, After::Nothing | After::Success)
}

fn assignment(word: &Word) -> Option<(String, String)> {
    let (name, value) = word.marked.split_once('=')?;
    is_name(name).then(|| (name.to_string(), value.to_string()))
}
