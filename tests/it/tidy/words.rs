//! The vocabulary of this project: the table in CONTRIBUTING.md says which phrases to replace.

use std::sync::LazyLock;

use regex::Regex;

use super::sources::{Tree, code};

/// A row of the table: `| not this | but this |`.
static ROW: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?m)^\| `([^`|]+)` \| [^|]+ \|$").unwrap());
/// Code inside prose.
static QUOTED: LazyLock<Regex> = LazyLock::new(|| Regex::new("`[^`\n]*`").unwrap());

/// A file path.
static PATH: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#"[^\s"]*/[^\s"]*"#).unwrap());

pub(super) fn prose_uses_the_words_of_the_table(tree: &Tree) -> Vec<String> {
    let table = tree.document("CONTRIBUTING.md");
    let phrases: Vec<&str> = ROW.captures_iter(table).map(|row| row.extract::<1>().1[0]).collect();
    if phrases.is_empty() {
        return vec!["CONTRIBUTING.md: the table of words is gone".into()];
    }
    let any: Vec<String> = phrases.iter().map(|phrase| whole(phrase)).collect();
    let any = Regex::new(&format!("(?i){}", any.join("|"))).unwrap();
    let mut complaints = Vec::new();
    // The tests of this rule contain violations on purpose.
    for (path, text) in tree.0.iter().filter(|(path, _)| !path.starts_with("tests/it/tidy")) {
        let prose = match path.rsplit_once('.') {
            // Strings in tests also contain text of frameworks, models and hostile authors.
            Some((file, "rs"))
                if path.starts_with("tests/") || file.ends_with("/tests") || file.contains("/tests/") =>
            {
                comments(text)
            }
            Some((_, "rs")) => comments_and_strings(text),
            Some((_, "md" | "yml")) => text.clone(),
            _ => continue,
        };
        for (index, line) in prose.lines().enumerate() {
            let is_the_table = path == "CONTRIBUTING.md" && ROW.is_match(line);
            let line = QUOTED.replace_all(line, "");
            if let Some(found) = any.captures(&line).filter(|_| !is_the_table) {
                complaints.push(format!("{path}:{}: `{}`: see CONTRIBUTING.md", index + 1, &found[0]));
            }
        }
    }
    complaints
}

/// A phrase that is not part of a longer word.
fn whole(phrase: &str) -> String {
    let edge = |is_word: bool| if is_word { r"\b" } else { "" };
    let begins = phrase.starts_with(|c: char| c.is_alphanumeric());
    let ends = phrase.ends_with(|c: char| c.is_alphanumeric());
    format!("{}{}{}", edge(begins), regex::escape(phrase), edge(ends))
}

/// The comments and strings of a Rust file: the parts that are blank in `code`. Paths are names, not prose.
fn comments_and_strings(text: &str) -> String {
    let code = code(text);
    let prose = |(written, code): (char, char)| match written == code && !written.is_whitespace() {
        true => ' ',
        false => written,
    };
    let prose: String = text.chars().zip(code.chars()).map(prose).collect();
    PATH.replace_all(&prose, "").into_owned()
}

/// The comments of Rust code, each on its line.
fn comments(text: &str) -> String {
    let code = code(text);
    let line = |(line, code): (&str, &str)| match line.find("//").filter(|at| code.get(*at..*at + 2) == Some("  ")) {
        Some(at) => line[at..].to_string(),
        None => String::new(),
    };
    text.lines().zip(code.lines()).map(line).collect::<Vec<_>>().join("\n")
}
