//! Takes a line of shell apart into the commands that it runs one after the other.
//!
//! Only what is plain: words, quotes, `&&` and `;`. A line with pipes, redirections, substitutions or branches is not
//! taken apart.

use shlex::try_quote;

/// More commands than this are not in one line.
const MAX_COMMANDS: usize = 50;

/// Words that begin something else than a command.
const KEYWORDS: [&str; 14] = [
    "if", "then", "else", "elif", "fi", "for", "do", "done", "while", "until", "case", "esac", "{", "!",
];

/// One word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// As it stands in the line.
    pub(super) raw: String,
    /// Without its quotes.
    pub(super) plain: String,
    /// Whether a shell makes something else of it: a pattern, a variable, a home directory.
    pub(super) is_for_shell: bool,
}

impl Word {
    pub(super) fn new(plain: &str) -> Self {
        Self {
            raw: try_quote(plain).map_or_else(|_| String::new(), std::borrow::Cow::into_owned),
            plain: plain.to_string(),
            is_for_shell: false,
        }
    }

    /// Whether it sets a variable for the command that follows.
    pub(super) fn is_assignment(&self) -> bool {
        self.plain.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty()
                && !name.starts_with(|c: char| c.is_ascii_digit())
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    }
}

/// Cuts a line into its commands, each a list of words; none if it is more than a sequence.
pub(super) fn commands(line: &str) -> Option<Vec<Vec<Word>>> {
    let mut commands: Vec<Vec<Word>> = vec![Vec::new()];
    let mut word: Option<Word> = None;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let ends = c.is_whitespace() || matches!(c, ';' | '&');
        if ends {
            if let (Some(word), Some(command)) = (word.take(), commands.last_mut()) {
                command.push(word);
            }
            let separates = match c {
                '&' => chars.next_if_eq(&'&').map(|_| true)?,
                ';' | '\n' => true,
                _ => false,
            };
            if separates {
                commands.push(Vec::new());
            }
            continue;
        }
        if matches!(c, '|' | '<' | '>' | '(' | ')' | '`') || (c == '#' && word.is_none()) {
            return None;
        }
        let word = word.get_or_insert_with(|| Word {
            raw: String::new(),
            plain: String::new(),
            is_for_shell: false,
        });
        word.raw.push(c);
        match c {
            '\'' | '"' => quoted(c, &mut chars, word)?,
            '\\' => {
                let escaped = chars.next()?;
                word.raw.push(escaped);
                word.plain.push(escaped);
            }
            '$' if chars.peek() == Some(&'(') => return None,
            _ => {
                word.is_for_shell |= matches!(c, '$' | '*' | '?' | '[') || (c == '~' && word.plain.is_empty());
                word.plain.push(c);
            }
        }
    }
    if let (Some(word), Some(command)) = (word, commands.last_mut()) {
        command.push(word);
    }
    commands.retain(|command| !command.is_empty());
    let branches = |command: &Vec<Word>| {
        command
            .first()
            .is_some_and(|word| KEYWORDS.contains(&word.raw.as_str()))
    };
    (commands.len() <= MAX_COMMANDS && !commands.iter().any(branches)).then_some(commands)
}

/// Reads on to the closing quote.
fn quoted(quote: char, chars: &mut impl Iterator<Item = char>, word: &mut Word) -> Option<()> {
    loop {
        let c = chars.next()?;
        word.raw.push(c);
        match c {
            _ if c == quote => return Some(()),
            '\\' if quote == '"' => {
                let escaped = chars.next()?;
                word.raw.push(escaped);
                if !matches!(escaped, '"' | '\\' | '$' | '`') {
                    word.plain.push('\\');
                }
                word.plain.push(escaped);
            }
            '$' | '`' if quote == '"' => {
                // What is substituted could be anything; a variable stays a variable.
                if c == '`' {
                    return None;
                }
                word.is_for_shell = true;
                word.plain.push(c);
            }
            '(' if quote == '"' && word.plain.ends_with('$') => return None,
            _ => word.plain.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_is_taken_apart_and_nothing_else() {
        #[track_caller]
        fn check(line: &str, expected: Option<&str>) {
            let shown = commands(line).map(|commands| {
                let shown = commands.iter().map(|command| {
                    let words = command
                        .iter()
                        .map(|word| format!("{}{}", word.plain, if word.is_for_shell { "^" } else { "" }));
                    words.collect::<Vec<_>>().join("|")
                });
                shown.collect::<Vec<_>>().join(" ; ")
            });
            assert_eq!(shown.as_deref(), expected, "{line}");
        }
        check("xo && c8 ava&&tsd", Some("xo ; c8|ava ; tsd"));
        check("a 'b c' \"d \\\" e\" f\\ g", Some("a|b c|d \" e|f g"));
        check("mocha 'test/**/*.js' test/*.js", Some("mocha|test/**/*.js|test/*.js^"));
        check("A=b x; y $C \"$D\"", Some("A=b|x ; y|$C^|$D^"));
        check("a | b", None);
        check("a || b", None);
        check("a & b", None);
        check("a > b", None);
        check("a $(b)", None);
        check("a \"$(b)\"", None);
        check("a 'b", None);
        check("(a)", None);
        check("for F in *.js; do mocha $F; done", None);
    }
}
