//! Parses the YAML below a TAP result: keys with words, quoted strings and blocks. Everything else stays as written.

use std::collections::BTreeMap;

/// Values by key; the keys of a nested map are joined, as in `at.line`.
pub(crate) type Entries = BTreeMap<String, String>;

/// Parses the lines between `---` and `...`.
pub(crate) fn entries(lines: &[String]) -> Entries {
    let lines: Vec<&str> = lines
        .iter()
        .map(String::as_str)
        .filter(|line| !matches!(line.trim(), "---" | "..."))
        .collect();
    let base = lines
        .iter()
        .find(|line| !line.trim().is_empty())
        .map_or(0, |line| indent(line));
    let mut entries = Entries::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        at += 1;
        let Some((key, value)) = key(line).filter(|_| indent(line) == base) else {
            continue;
        };
        let below = lines[at..]
            .iter()
            .take_while(|line| line.trim().is_empty() || indent(line) > base)
            .count();
        let block = &lines[at..at + below];
        at += below;
        // If an expected or actual value is an error, Node prints its fields beside the keys of the result instead of
        // below. The fields of the failure come first, so the first value of a key counts; of stack traces, the last
        // counts.
        if key != "stack" && entries.contains_key(key) {
            continue;
        }
        if value.starts_with(['|', '>']) && value.len() <= 3 {
            entries.insert(key.to_string(), dedented(block));
        } else if value.is_empty() {
            for (inner, value) in block.iter().filter_map(|line| self::key(line)) {
                entries
                    .entry(format!("{key}.{inner}"))
                    .or_insert_with(|| unquoted(value));
            }
            entries.insert(key.to_string(), dedented(block));
        } else {
            entries.insert(key.to_string(), unquoted(value));
        }
    }
    entries
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn key(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.trim().split_once(':')?;
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    (is_key && (value.is_empty() || value.starts_with(' '))).then(|| (key, value.trim()))
}

fn dedented(block: &[&str]) -> String {
    let first = block
        .iter()
        .find(|line| !line.trim().is_empty())
        .map_or(0, |line| indent(line));
    let lines = block
        .iter()
        .map(|line| line.get(first..).unwrap_or_else(|| line.trim_start()));
    lines.collect::<Vec<_>>().join("\n").trim_end().to_string()
}

fn unquoted(value: &str) -> String {
    let inside = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    if let Some(inside) = inside('\'') {
        inside.replace("''", "'").replace("\\'", "'")
    } else if let Some(inside) = inside('"') {
        inside.replace("\\\"", "\"").replace("\\n", "\n")
    } else {
        value.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_texts_blocks_and_maps_are_read() {
        let lines: Vec<String> = "  ---\n  error: |-\n    one\n      two\n  \n    three\n  code: 'it''s'\n  at:\n    line: 3\n    file: a.js\n  expected: \"a\\\"b\"\n  not a key\n  ..."
            .lines()
            .map(ToString::to_string)
            .collect();
        let entries = entries(&lines);
        assert_eq!(entries["error"], "one\n  two\n\nthree");
        assert_eq!(entries["code"], "it's");
        assert_eq!(entries["at.line"], "3");
        assert_eq!(entries["at.file"], "a.js");
        assert_eq!(entries["expected"], "a\"b");
    }

    #[test]
    fn an_expected_error_is_not_taken_for_the_failure() {
        let lines: Vec<String> = "  error: |-\n    one\n  expected:\n  error: 'two'\n  stack: |-\n    a.js:1\n  actual:\n  error: ''\n  stack: |-\n    a.js:2"
            .lines()
            .map(ToString::to_string)
            .collect();
        let entries = entries(&lines);
        assert_eq!((&*entries["error"], &*entries["stack"]), ("one", "a.js:2"));
    }
}
