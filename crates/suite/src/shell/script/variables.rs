//! The variables of a script while it is read, and its arguments.

use std::collections::{BTreeMap, BTreeSet};

use super::super::directory::expanded;
use super::super::word::{ARGUMENTS, DEFAULT, QUOTED, VARIABLE, is_name};

/// Maximum number of assignments, and of their bytes: each line gets a copy.
const MAX_SET: usize = 300;
const MAX_BYTES: usize = 32 << 10;
/// Maximum number of arguments that are known by their number.
const MAX_ARGUMENTS: usize = 9;

/// The arguments of a script or a function.
#[derive(Debug, Clone, Default)]
pub(super) enum Arguments {
    /// Those of the script, which are known where it is called.
    #[default]
    OfScript,
    /// Words that refer to no other arguments.
    Words(Vec<String>),
    Unknown,
}

/// What is set at some point of a script.
#[derive(Debug, Clone, Default)]
pub(super) struct Variables {
    /// Assignments in order; later ones may refer to earlier ones.
    pub(super) set: Vec<(String, String)>,
    /// The names of the variables that are passed on to programs.
    pub(super) exported: BTreeSet<String>,
    pub(super) arguments: Arguments,
    /// The names of the variables that a branch may have changed.
    doubtful: BTreeSet<String>,
    /// What variables of the current function were before it, with the number of assignments then.
    locals: Vec<(String, usize)>,
    bytes: usize,
}

impl Variables {
    /// Sets a variable. `None` if there are too many.
    pub(super) fn assign(&mut self, name: String, value: String) -> Option<()> {
        self.bytes += name.len() + value.len();
        self.doubtful.remove(&name);
        self.set.push((name, value));
        (self.set.len() <= MAX_SET && self.bytes <= MAX_BYTES).then_some(())
    }

    /// Notes that a function has its own variable of this name.
    pub(super) fn is_local(&mut self, name: &str) {
        self.locals.push((name.to_owned(), self.set.len()));
    }

    /// Begins a function with these arguments, and returns what `leave` needs.
    pub(super) fn enter(&mut self, words: &[String]) -> (Arguments, usize) {
        let outer = std::mem::replace(&mut self.arguments, Arguments::Words(words.to_vec()));
        (outer, self.locals.len())
    }

    /// Ends a function: its own variables and arguments are gone.
    pub(super) fn leave(&mut self, (outer, locals): (Arguments, usize)) {
        self.arguments = outer;
        for (name, from) in self.locals.split_off(locals).into_iter().rev() {
            let mut at = 0;
            self.set.retain(|(own, _)| {
                at += 1;
                at <= from || *own != name
            });
        }
    }

    /// Notes that a branch may have changed a variable.
    pub(super) fn doubt(&mut self, name: &str) {
        if self.doubtful.len() < MAX_SET {
            self.doubtful.insert(name.to_owned());
        }
    }

    /// `shift`: the first argument is gone.
    pub(super) fn shift(&mut self, known: &BTreeMap<String, String>) {
        let words = match &self.arguments {
            Arguments::Words(words) => Some(words.clone()),
            Arguments::OfScript => of_script(known),
            Arguments::Unknown => None,
        };
        self.arguments = match words {
            Some(words) => Arguments::Words(words.into_iter().skip(1).collect()),
            None => Arguments::Unknown,
        };
    }

    /// The values that conditions may ask for.
    pub(super) fn values(&self, known: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let mut values = known.clone();
        if !matches!(self.arguments, Arguments::OfScript) {
            values.retain(|name, _| is_name(name));
        }
        for (name, value) in &self.set {
            match expanded(value, &values) {
                Some(value) => values.insert(name.clone(), value),
                None => values.remove(name),
            };
        }
        if let Arguments::Words(words) = &self.arguments {
            for at in 0..MAX_ARGUMENTS {
                let value = words
                    .get(at)
                    .map_or(Some(String::new()), |word| expanded(word, &values));
                values.extend(value.map(|value| ((at + 1).to_string(), value)));
            }
        }
        values.retain(|name, _| !self.doubtful.contains(name));
        values
    }

    /// The names of the variables that only the shell has.
    pub(super) fn local_names(&self) -> BTreeSet<String> {
        let names = self.set.iter().map(|(name, _)| name);
        names.filter(|name| !self.exported.contains(*name)).cloned().collect()
    }

    /// A word with the arguments of the current function in their places: several words for all of them, or none.
    pub(super) fn with_arguments(&self, word: &str) -> Vec<String> {
        let words = match &self.arguments {
            Arguments::OfScript => return vec![word.to_owned()],
            Arguments::Words(words) => Some(words),
            Arguments::Unknown => None,
        };
        let (mut whole, mut rest, mut is_quoted) = (String::new(), word, word.is_empty());
        while let Some((before, after)) = rest.split_once(VARIABLE) {
            whole.push_str(before);
            let Some((mark, after)) = after.split_once(VARIABLE) else {
                break;
            };
            let name = mark.strip_prefix(QUOTED).unwrap_or(mark);
            let (own, default) = name.split_once(DEFAULT).unwrap_or((name, ""));
            let number = own.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            let is_alone = before.is_empty() && after.is_empty() && rest.len() == word.len();
            rest = after;
            is_quoted |= name.len() < mark.len();
            match (number, words) {
                (None, _) if own != ARGUMENTS => {
                    for part in [&VARIABLE.to_string(), mark, &VARIABLE.to_string()] {
                        whole.push_str(part);
                    }
                }
                (_, None) => return vec![format!("{VARIABLE}{VARIABLE}")],
                (None, Some(words)) if is_alone => return words.clone(),
                (None, Some(words)) => whole.push_str(&words.join(" ")),
                (Some(at), Some(words)) => {
                    let value = words.get(at).filter(|value| !value.is_empty());
                    whole.push_str(value.map_or(default, String::as_str));
                }
            }
        }
        whole.push_str(rest);
        // Outside of quotes, nothing is no word.
        let is_nothing = whole.is_empty() && !is_quoted;
        (!is_nothing).then_some(whole).into_iter().collect()
    }
}

/// The arguments of a script, if all of them are known.
fn of_script(known: &BTreeMap<String, String>) -> Option<Vec<String>> {
    let all = known.get(ARGUMENTS)?;
    let words: Vec<String> = all.split_whitespace().map(String::from).collect();
    (words.len() <= MAX_ARGUMENTS).then_some(words)
}
