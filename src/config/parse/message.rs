//! What mistakes are called.

/// Parses serde's message about an unknown field or value: "unknown field `a`, expected one of `b`, `c`".
pub(super) fn wrong_word(message: &str) -> Option<(String, Vec<String>)> {
    if !message.starts_with("unknown field") && !message.starts_with("unknown variant") {
        return None;
    }
    let (written, expected) = message.rsplit_once(", expected ")?;
    let (_, written) = written.split_once('`')?;
    let known = expected.split('`').skip(1).step_by(2).map(String::from).collect();
    Some((printable(written.trim_end_matches('`')), known))
}

/// "did you mean" for a similar word, otherwise all accepted words after some of our own.
pub(super) fn instead(written: &str, known: &[String], otherwise: &str) -> String {
    let distance = |word: &String| strsim::damerau_levenshtein(&written.to_lowercase(), word);
    let near = known.iter().filter(|word| distance(word) <= 1.max(word.len() / 3));
    match near.min_by_key(|word| distance(word)) {
        Some(word) => format!("did you mean `{word}`?"),
        None => format!("{otherwise} `{}`", known.join("`, `")),
    }
}

/// The message of serde or the parser in words that say nothing about Rust: "invalid type: string "many", expected i64".
pub(super) fn in_words(message: &str) -> String {
    let kinds = message
        .strip_prefix("invalid type: ")
        .and_then(|kinds| kinds.split_once(", expected "));
    let Some((found, expected)) = kinds else {
        return printable(message);
    };
    let expected = match expected {
        "i64" | "u32" | "u64" | "usize" => "a whole number",
        "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list of strings, such as [\"a\", \"b\"]",
        expected => expected,
    };
    printable(&format!("it has to be {expected}, not the {found}"))
}

/// Text of the file in a form that a comment may quote: one line, no backticks, at most 200 characters.
pub(super) fn printable(text: &str) -> String {
    let clean = text.chars().map(|c| match c {
        '`' => '\'',
        c if c.is_control() => ' ',
        c => c,
    });
    clean.take(200).collect::<String>().trim().into()
}
