//! Reads the recipes of just, and never executes them: <https://just.systems/man/en/>

mod tokens;

use std::collections::{BTreeMap, BTreeSet};

use self::tokens::{Evaluator, Token, Values, tokens};
use crate::shell::{is_name, quoted};

/// Maximum number of recipes of a file, of variables and of parameters of a recipe.
const MAX_RECIPES: usize = 1_000;
const MAX_VARIABLES: usize = 200;
const MAX_PARAMETERS: usize = 20;
/// Maximum number of variables that programs get, and length of all of them.
const MAX_EXPORTED: usize = 50;
const MAX_EXPORTS: usize = 5_000;
/// Maximum number of recipes that are followed from one, of lines that are returned, and length of one.
const MAX_FOLLOWED: usize = 50;
const MAX_LINES: usize = 200;
const MAX_LINE: usize = 10_000;
/// Maximum depth of an expression in a list of arguments.
const MAX_DEPTH: usize = 20;
/// Attributes of recipes for other machines.
const OTHER_SYSTEMS: [&str; 4] = ["windows", "macos", "openbsd", "android"];

/// The scripts that `just ARGUMENTS` passes to shells. `None` if it has options, or names something else.
pub(super) fn scripts(text: &str, arguments: &[String], env: &BTreeMap<String, String>) -> Option<Vec<String>> {
    let mut file = Justfile::of(text, env);
    let mut words = arguments.iter().map(String::as_str).peekable();
    while let Some((name, value)) = words.peek().and_then(|word| word.split_once('=')) {
        file.values.insert(name, Some(value.to_owned()));
        words.next();
    }
    let mut run = RecipeRun {
        file: &file,
        env,
        done: BTreeSet::new(),
        scripts: Vec::new(),
    };
    if words.peek().is_none() {
        run.recipe(file.first?, Vec::new(), MAX_FOLLOWED);
    }
    while let Some(name) = words.next() {
        if name.starts_with('-') {
            return None;
        }
        let Some(recipe) = file.recipes.get(name) else {
            break;
        };
        let takes = match recipe.parameters.last().is_some_and(|last| last.is_variadic) {
            true => usize::MAX,
            false => recipe.parameters.len(),
        };
        let given: Vec<String> = words.by_ref().take(takes).map(String::from).collect();
        run.recipe(name, given, MAX_FOLLOWED);
    }
    run.scripts.truncate(MAX_LINES);
    Some(run.scripts)
}

#[derive(Debug, Default)]
struct Justfile<'t> {
    recipes: BTreeMap<&'t str, Recipe<'t>>,
    values: Values<'t>,
    /// The names of the variables that programs get.
    exported: BTreeSet<&'t str>,
    /// The folder of all recipes; the inner `None` if it would have to be computed.
    directory: Option<Option<String>>,
    /// The recipe that runs if none is named.
    first: Option<&'t str>,
}

#[derive(Debug, Default)]
struct Recipe<'t> {
    parameters: Vec<Parameter<'t>>,
    /// The tokens of the recipes that it needs, those after `&&` included.
    needs: Vec<Token<'t>>,
    lines: Vec<&'t str>,
    /// Its folder; the inner `None` if it would have to be computed.
    directory: Option<Option<String>>,
}

#[derive(Debug)]
struct Parameter<'t> {
    name: &'t str,
    default: Option<String>,
    is_variadic: bool,
}

impl<'t> Justfile<'t> {
    fn of(text: &'t str, env: &BTreeMap<String, String>) -> Self {
        let mut file = Self::default();
        let mut current: Option<&str> = None;
        // The systems that the attributes before a recipe name.
        let (mut is_for_others, mut is_for_this) = (false, false);
        let mut directory = None;
        for line in text.lines() {
            if line.starts_with([' ', '\t']) {
                let recipe = current.and_then(|name| file.recipes.get_mut(name));
                if let Some(recipe) = recipe.filter(|recipe| recipe.lines.len() < MAX_LINES) {
                    recipe.lines.push(line);
                }
                continue;
            }
            let tokens = tokens(line);
            match tokens.as_slice() {
                [] => {}
                [Token::Sign('['), attributes @ ..] => {
                    let has = |names: &[&str]| {
                        attributes
                            .iter()
                            .any(|token| matches!(token, Token::Name(name) if names.contains(name)))
                    };
                    is_for_others |= has(&OTHER_SYSTEMS);
                    is_for_this |= has(&["linux", "unix"]);
                    if has(&["working-directory"]) {
                        directory = Some(only_text(attributes));
                    }
                }
                [Token::Name("set"), Token::Name("working-directory"), value @ ..] => {
                    current = None;
                    file.directory = Some(only_text(value));
                }
                [Token::Name("export"), rest @ ..] | rest @ [_, Token::Sign('='), ..] => {
                    current = None;
                    if let [Token::Name(name), Token::Sign('='), value @ ..] = rest {
                        file.assign(name, value, env);
                        let is_exported = rest.len() < tokens.len() && file.exported.len() < MAX_EXPORTED;
                        file.exported.extend(Some(*name).filter(|_| is_exported));
                    }
                }
                [Token::Name("set" | "alias" | "import" | "mod"), ..] => current = None,
                _ => {
                    let found = file.recipe(&tokens, env);
                    current = found.as_ref().map(|(name, _)| *name);
                    let fits = (!is_for_others || is_for_this) && file.recipes.len() < MAX_RECIPES;
                    (is_for_others, is_for_this) = (false, false);
                    let directory = directory.take();
                    if let Some((name, recipe)) = found.filter(|_| fits) {
                        let recipe = Recipe { directory, ..recipe };
                        file.first = file.first.or(Some(name));
                        file.recipes.insert(name, recipe);
                    } else {
                        current = None;
                    }
                }
            }
        }
        file
    }

    fn assign(&mut self, name: &'t str, tokens: &[Token<'t>], env: &BTreeMap<String, String>) {
        let value = Evaluator {
            tokens,
            values: &self.values,
            env,
        };
        let value = value.all();
        if self.values.len() < MAX_VARIABLES {
            self.values.insert(name, value);
        }
    }

    /// The recipe that a line begins.
    fn recipe(&self, tokens: &[Token<'t>], env: &BTreeMap<String, String>) -> Option<(&'t str, Recipe<'t>)> {
        let mut rest = Evaluator {
            tokens,
            values: &self.values,
            env,
        };
        rest.takes('@');
        let Token::Name(name) = rest.next()? else {
            return None;
        };
        let mut parameters = Vec::new();
        while !rest.takes(':') {
            let is_variadic = rest.takes('*') || rest.takes('+');
            rest.takes('$');
            let Token::Name(name) = rest.next()? else {
                return None;
            };
            let has_default = rest.takes('=');
            let default = if has_default { rest.value(MAX_DEPTH) } else { None };
            // All words, or none.
            let default = default.or_else(|| is_variadic.then(String::new));
            parameters.push(Parameter {
                name,
                default,
                is_variadic,
            });
            if parameters.len() > MAX_PARAMETERS {
                return None;
            }
        }
        let recipe = Recipe {
            parameters,
            needs: rest.tokens.to_vec(),
            lines: Vec::new(),
            directory: None,
        };
        Some((name, recipe))
    }
}

/// The recipes that have run, and what they pass to shells.
struct RecipeRun<'r, 't> {
    file: &'r Justfile<'t>,
    env: &'r BTreeMap<String, String>,
    /// Each runs once with the same arguments.
    done: BTreeSet<(&'t str, Vec<String>)>,
    scripts: Vec<String>,
}

impl<'t> RecipeRun<'_, 't> {
    /// Runs a recipe between those that it needs.
    fn recipe(&mut self, name: &str, given: Vec<String>, depth: usize) {
        let file = self.file;
        let known = file
            .recipes
            .get_key_value(name)
            .filter(|_| self.done.len() < MAX_FOLLOWED);
        let (Some((name, recipe)), Some(depth)) = (known, depth.checked_sub(1)) else {
            return;
        };
        if !self.done.insert((name, given.clone())) {
            return;
        }
        let mut values = file.values.clone();
        for (at, parameter) in recipe.parameters.iter().enumerate() {
            let value = match parameter.is_variadic {
                true => given
                    .get(at..)
                    .filter(|rest| !rest.is_empty())
                    .map(|rest| rest.join(" ")),
                false => given.get(at).cloned(),
            };
            values.insert(parameter.name, value.or_else(|| parameter.default.clone()));
        }
        let halves: Vec<&[Token<'t>]> = recipe.needs.splitn(2, |token| *token == Token::Sign('&')).collect();
        self.needed(halves.first().copied().unwrap_or_default(), &values, depth);
        let exports: String = file
            .exported
            .iter()
            .filter_map(|name| exported(name, &values))
            .collect();
        if exports.len() > MAX_EXPORTS || self.scripts.len() >= MAX_LINES {
            return;
        }
        let directory = recipe.directory.as_ref().or(file.directory.as_ref());
        let exports = match directory.and_then(|directory| directory.as_deref()) {
            Some(directory) => format!("cd {}\n{exports}", quoted(directory)),
            // The folder is unknown.
            None if directory.is_some() => return,
            None => exports,
        };
        // With `#!`, a recipe is one script.
        let first = recipe.lines.first().map_or("", |line| line.trim());
        if let Some(program) = first.strip_prefix("#!") {
            let all: Option<Vec<String>> = recipe.lines.iter().map(|line| self.filled(line, &values)).collect();
            let all = all.filter(|_| program.trim_end().ends_with("sh"));
            self.scripts.extend(all.map(|lines| exports + &lines.join("\n")));
        } else {
            let lines = continued(&recipe.lines);
            let lines = lines.iter().map(|line| line.trim_start_matches(['@', '-', ' ']));
            let lines = lines.filter(|line| !line.starts_with('#'));
            let lines: Vec<String> = lines.filter_map(|line| self.filled(line, &values)).collect();
            self.scripts
                .extend(lines.into_iter().map(|line| exports.clone() + &line));
        }
        self.needed(halves.get(1).copied().unwrap_or_default(), &values, depth);
    }

    /// Runs the recipes in a list, such as `a (b "x" y)`.
    fn needed(&mut self, tokens: &[Token<'t>], values: &Values<'t>, depth: usize) {
        let env = self.env;
        let mut rest = Evaluator { tokens, values, env };
        while let Some(token) = rest.next() {
            match token {
                Token::Name(name) => self.recipe(name, Vec::new(), depth),
                Token::Sign('(') => {
                    let Some(Token::Name(name)) = rest.next() else {
                        return;
                    };
                    let mut arguments = Vec::new();
                    while !rest.takes(')') {
                        let Some(value) = rest.value(MAX_DEPTH) else {
                            return;
                        };
                        arguments.push(value);
                    }
                    self.recipe(name, arguments, depth);
                }
                _ => {}
            }
        }
    }

    /// A line with its expressions replaced. `None` if one of them would have to be computed.
    fn filled(&self, line: &str, values: &Values<'t>) -> Option<String> {
        let (mut whole, mut rest) = (String::new(), line.trim());
        while let Some((before, after)) = rest.split_once("{{") {
            whole.push_str(before);
            // Braces that are doubled twice are braces.
            if let Some(after) = after.strip_prefix("{{") {
                whole.push_str("{{");
                rest = after;
                continue;
            }
            let (inner, after) = after.split_once("}}")?;
            let inner = tokens(inner);
            let value = Evaluator {
                tokens: &inner,
                values,
                env: self.env,
            };
            whole.push_str(&value.all()?);
            if whole.len() > MAX_LINE {
                return None;
            }
            rest = after;
        }
        whole.push_str(rest);
        (whole.len() <= MAX_LINE).then_some(whole)
    }
}

/// The only string among tokens.
fn only_text(tokens: &[Token<'_>]) -> Option<String> {
    let mut texts = tokens.iter().filter_map(|token| match token {
        Token::Text(text) => Some(text.clone()),
        _ => None,
    });
    texts.next().filter(|_| texts.next().is_none())
}

/// A line that sets a variable for programs.
fn exported(name: &str, values: &Values<'_>) -> Option<String> {
    let value = values.get(name)?.as_ref().filter(|_| is_name(name))?;
    Some(format!("export {name}={}\n", shlex::try_quote(value).ok()?))
}

/// Lines, with those joined that end with a backslash.
fn continued(lines: &[&str]) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    for line in lines.iter().map(|line| line.trim()) {
        match joined
            .last_mut()
            .and_then(|last| last.strip_suffix('\\').map(str::to_owned))
        {
            Some(start) => {
                joined.pop();
                joined.push(format!("{start}{line}"));
            }
            None => joined.push(line.to_owned()),
        }
    }
    joined.retain(|line| !line.is_empty());
    joined
}

#[cfg(test)]
mod tests;
