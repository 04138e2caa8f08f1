//! Takes a shell script apart into the simple commands that it runs one after the other.
//!
//! Only what is needed to find the line with the tests: quotes, variables, lists, pipelines and redirections of that
//! line. The branches of a script are not followed.

/// Stands on both sides of a variable's name in a word. No script has it: control characters are refused.
pub(super) const VARIABLE: char = '\u{1}';
/// What a change of directory to the root of the checkout begins with.
pub(super) const WORKSPACE: [&str; 2] = ["\u{1}GITHUB_WORKSPACE\u{1}", "\u{1}PWD\u{1}"];
/// Lines beyond this are not looked at.
const MAX_COMMANDS: usize = 500;

/// A simple command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::suite::find) struct Line {
    pub(in crate::suite::find) words: Vec<String>,
    /// Variables set before it, by itself and by lines before it, in order.
    pub(in crate::suite::find) env: Vec<(String, String)>,
    /// The directories changed to before it, in order.
    pub(in crate::suite::find) directory: Vec<String>,
    /// Whether a shell would expand a pattern in it.
    pub(in crate::suite::find) has_pattern: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word {
        text: String,
        has_pattern: bool,
    },
    /// `;`, a line end, `&&`, `||`, `|`, `&`.
    Operator(&'static str),
    /// `>`, `<` and their like; the next word, if any, is where to.
    Redirection {
        takes_word: bool,
    },
}

/// The simple commands outside of branches, in order; none if the script cannot be followed, or if a branch may be what
/// runs the tests.
pub(in crate::suite::find) fn lines(script: &str) -> Option<Vec<Line>> {
    let tokens = tokens(script)?;
    let mut lines: Vec<Line> = Vec::new();
    let mut env: Vec<(String, String)> = Vec::new();
    let mut directory: Vec<String> = Vec::new();
    let mut branches = 0_usize;
    let mut before = ";";
    for (words, after) in commands(tokens).into_iter().take(MAX_COMMANDS) {
        let previous = std::mem::replace(&mut before, after);
        let (mut line, first) = simple(words);
        match first.as_deref() {
            None => {
                env.append(&mut line.env);
                continue;
            }
            Some("if" | "for" | "while" | "until" | "case" | "function" | "{" | "(") => branches += 1,
            Some("fi" | "done" | "esac" | "}" | ")") => {
                branches = branches.saturating_sub(1);
                continue;
            }
            _ => {}
        }
        let inside = branches > 0;
        if inside {
            // The words after `then`, `do` and `if` are commands of their own.
            let skipped = line
                .words
                .iter()
                .skip_while(|word| is_keyword(word))
                .cloned()
                .collect::<Vec<_>>();
            if super::tool::of(&skipped).is_some() || skipped.first().is_some_and(|word| word == "cd") {
                return None;
            }
            continue;
        }
        match first.as_deref() {
            Some("cd" | "pushd") => match line.words.as_slice() {
                [_, to] if previous != "||" && previous != "|" => directory.push(to.clone()),
                _ => return None,
            },
            Some("popd") => {
                directory.pop();
            }
            Some("export") => {
                let set = line.words.iter().skip(1).filter_map(|word| assignment(word));
                env.extend(set);
            }
            Some("exit" | "return" | "exec") if previous == ";" => break,
            // The part of a pipeline that reads, what is done on failure, and what may fail.
            _ if previous == "|" || previous == "||" || after == "&" => {}
            _ => {
                line.env = env.iter().cloned().chain(line.env).collect();
                line.directory.clone_from(&directory);
                lines.push(line);
            }
        }
    }
    Some(lines)
}

fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "if" | "then" | "else" | "elif" | "while" | "until" | "do" | "!" | "{" | "(" | "time"
    )
}

/// The words of each simple command with the operator that follows it.
fn commands(tokens: Vec<Token>) -> Vec<(Vec<(String, bool)>, &'static str)> {
    let mut commands = Vec::new();
    let mut words = Vec::new();
    let mut redirected = false;
    for token in tokens.into_iter().chain([Token::Operator(";")]) {
        match token {
            Token::Word { .. } if std::mem::take(&mut redirected) => {}
            Token::Word { text, has_pattern } => words.push((text, has_pattern)),
            Token::Redirection { takes_word } => redirected = takes_word,
            Token::Operator(operator) => {
                redirected = false;
                if !words.is_empty() {
                    commands.push((std::mem::take(&mut words), operator));
                }
            }
        }
    }
    commands
}

/// A command with the assignments before it, and its first word.
fn simple(words: Vec<(String, bool)>) -> (Line, Option<String>) {
    let mut line = Line::default();
    let mut words = words.into_iter().peekable();
    while let Some(set) = words.peek().and_then(|(word, _)| assignment(word)) {
        line.env.push(set);
        words.next();
    }
    for (word, has_pattern) in words {
        line.has_pattern |= has_pattern;
        line.words.push(word);
    }
    let first = line.words.first().cloned();
    (line, first)
}

fn assignment(word: &str) -> Option<(String, String)> {
    let (name, value) = word.split_once('=')?;
    let is_name = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then(|| (name.to_string(), value.to_string()))
}

/// The tokens of a script. What is not understood inside a word (substitutions, braces) makes a variable without a
/// name of it, which nothing sets; none if a quote stays open, or for a here-document.
fn tokens(script: &str) -> Option<Vec<Token>> {
    if script
        .chars()
        .any(|c| c.is_control() && !matches!(c, '\n' | '\t' | '\r'))
    {
        return None;
    }
    let script = script.replace("\\\r\n", " ").replace("\\\n", " ");
    let mut tokens = Vec::new();
    let mut reader = Reader {
        rest: script.chars().peekable(),
    };
    while let Some(c) = reader.rest.peek().copied() {
        match c {
            ' ' | '\t' | '\r' => {
                reader.rest.next();
            }
            '#' => while reader.rest.next_if(|c| *c != '\n').is_some() {},
            '\n' | ';' => {
                reader.rest.next();
                tokens.push(Token::Operator(";"));
            }
            '&' | '|' => {
                reader.rest.next();
                let twice = reader.rest.next_if_eq(&c).is_some();
                if c == '&' && !twice && reader.rest.peek() == Some(&'>') {
                    reader.rest.next();
                    tokens.push(Token::Redirection { takes_word: true });
                    continue;
                }
                // `|&` is a pipe, too.
                let _and_errors = reader.rest.next_if(|next| c == '|' && *next == '&');
                tokens.push(Token::Operator(match (c, twice) {
                    ('&', true) => "&&",
                    ('&', false) => "&",
                    (_, true) => "||",
                    (_, false) => "|",
                }));
            }
            '>' | '<' => tokens.push(reader.redirection()?),
            '(' | ')' => {
                reader.rest.next();
                tokens.push(Token::Operator(";"));
                let text = c.to_string();
                tokens.push(Token::Word {
                    text,
                    has_pattern: false,
                });
                tokens.push(Token::Operator(";"));
            }
            _ => {
                let (text, has_pattern) = reader.word()?;
                let is_number = text.chars().all(|c| c.is_ascii_digit());
                // The number of a stream belongs to the redirection.
                if !(is_number && matches!(reader.rest.peek(), Some('>' | '<'))) {
                    tokens.push(Token::Word { text, has_pattern });
                }
            }
        }
    }
    Some(tokens)
}

struct Reader<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
}

impl Reader<'_> {
    fn redirection(&mut self) -> Option<Token> {
        let first = self.rest.next()?;
        if first == '<' && self.rest.peek() == Some(&'<') {
            return None;
        }
        let _twice = self.rest.next_if(|c| matches!(c, '>' | '|'));
        Some(Token::Redirection {
            takes_word: match self.rest.next_if_eq(&'&') {
                Some(_) => {
                    while self.rest.next_if(|c| c.is_ascii_digit() || *c == '-').is_some() {}
                    false
                }
                None => true,
            },
        })
    }

    /// One word with its quotes taken off, and whether there is a pattern in it.
    fn word(&mut self) -> Option<(String, bool)> {
        let mut word = String::new();
        let mut has_pattern = false;
        while let Some(c) = self
            .rest
            .next_if(|c| !matches!(c, ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')'))
        {
            match c {
                '\'' => loop {
                    match self.rest.next()? {
                        '\'' => break,
                        c => word.push(c),
                    }
                },
                '"' => self.quoted(&mut word)?,
                '\\' => word.extend(self.rest.next()),
                '$' => self.variable(&mut word)?,
                '`' => {
                    while self.rest.next()? != '`' {}
                    word.push_str("\u{1}\u{1}");
                }
                // Not literally what it says, and no pattern that can be handed on.
                '[' | '~' if word.is_empty() && !matches!(self.rest.peek(), None | Some(' ' | '[')) => {
                    word.push_str("\u{1}\u{1}");
                    word.push(c);
                }
                '*' | '?' => {
                    has_pattern = true;
                    word.push(c);
                }
                c => word.push(c),
            }
        }
        Some((word, has_pattern))
    }

    fn quoted(&mut self, word: &mut String) -> Option<()> {
        loop {
            match self.rest.next()? {
                '"' => return Some(()),
                '\\' => match self.rest.next()? {
                    c @ ('"' | '\\' | '$' | '`') => word.push(c),
                    c => word.extend(['\\', c]),
                },
                '$' => self.variable(word)?,
                '`' => {
                    while self.rest.next()? != '`' {}
                    word.push_str("\u{1}\u{1}");
                }
                c => word.push(c),
            }
        }
    }

    /// What follows a dollar sign: `$NAME`, `${NAME}`, or something that is not known here.
    fn variable(&mut self, word: &mut String) -> Option<()> {
        let mut name = String::new();
        let is_part = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
        match self.rest.peek() {
            Some('{') => {
                self.rest.next();
                while let Some(c) = self.rest.next_if(|c| *c != '}') {
                    name.push(c);
                }
                self.rest.next()?;
            }
            Some('(') => {
                let mut open = 0_usize;
                loop {
                    match self.rest.next()? {
                        '(' => open += 1,
                        ')' => open -= 1,
                        _ => {}
                    }
                    if open == 0 {
                        break;
                    }
                }
            }
            Some(c) if is_part(c) => {
                while let Some(c) = self.rest.next_if(is_part) {
                    name.push(c);
                }
            }
            Some('@' | '*' | '#' | '?' | '!' | '$' | '-' | '\'') => {}
            _ => {
                word.push('$');
                return Some(());
            }
        }
        word.push(VARIABLE);
        word.push_str(&name);
        word.push(VARIABLE);
        Some(())
    }
}
