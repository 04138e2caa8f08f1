//! Extracts the compared values from the message of a failed Python assertion.

/// The expected and the actual value in a message such as `assert 1 == 2` or `AssertionError: 1 != 2`.
///
/// With pytest and `unittest`, the actual value usually comes first: `assert actual == expected`,
/// `assertEqual(actual, expected)`.
pub fn compared(message: &str) -> Option<(String, String)> {
    if let Some(both) = of_doctest(message) {
        return Some(both);
    }
    let line = message.lines().find(|line| !line.trim().is_empty())?.trim();
    let claim = line.strip_prefix("AssertionError: ").unwrap_or(line);
    let (found, wanted) = match claim.strip_prefix("assert ") {
        Some(claim) => split(claim, " == ")?,
        // A colon introduces the test's own message.
        None if claim.len() < line.len() => {
            let (found, rest) = split(claim, " != ")?;
            (found, split(rest, " : ").map_or(rest, |(wanted, _)| wanted))
        }
        None => return None,
    };
    Some((wanted.trim().to_string(), found.trim().to_string()))
}

/// The text before and after the separator, if there is exactly one outside of quotes and brackets.
fn split<'a>(text: &'a str, separator: &str) -> Option<(&'a str, &'a str)> {
    let (mut depth, mut quote, mut escaped) = (0i32, None, false);
    let (mut at, mut count) = (None, 0u32);
    for (index, c) in text.char_indices() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if c == '\\' => escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '\'' || c == '"' => quote = Some(c),
            None if matches!(c, '(' | '[' | '{') => depth = depth.saturating_add(1),
            None if matches!(c, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            None if depth == 0 && text[index..].starts_with(separator) => {
                at = Some(index);
                count = count.saturating_add(1);
            }
            None => {}
        }
    }
    let at = at.filter(|_| count == 1 && quote.is_none() && depth == 0)?;
    Some((&text[..at], &text[at + separator.len()..]))
}

/// Doctest's `Expected:` and `Got:`, with indented lines below.
fn of_doctest(message: &str) -> Option<(String, String)> {
    let (_, rest) = message.split_once("\nExpected:\n")?;
    let (wanted, rest) = rest.split_once("\nGot:\n")?;
    let found = rest.split("\n\n").next().unwrap_or(rest);
    let plain = |block: &str| {
        let lines: Vec<&str> = block
            .lines()
            .map(|line| line.strip_prefix("    ").unwrap_or(line))
            .collect();
        lines.join("\n").trim_end().to_string()
    };
    Some((plain(wanted), plain(found)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_are_told_apart() {
        #[track_caller]
        fn check(message: &str, expected: Option<(&str, &str)>) {
            let found = compared(message);
            let found = found.as_ref().map(|(wanted, found)| (wanted.as_str(), found.as_str()));
            assert_eq!(found, expected);
        }
        check("assert 1 == 2\n +  where 1 = f()", Some(("2", "1")));
        check(
            "AssertionError: assert 'a == b' == [1, 2]",
            Some(("[1, 2]", "'a == b'")),
        );
        check("AssertionError: 1 != 2 : said so", Some(("2", "1")));
        check("1 != 2", None);
        check("assert (1 % 2) == 0", Some(("0", "(1 % 2)")));
        check("assert a == b == c", None);
        check("assert 'it", None);
        check("assert 1 < 2", None);
        check("ValueError: 1 != 2", None);
        check(
            "001 f()\nExpected:\n    1\nGot:\n    2\n\na.py:1: DocTestFailure",
            Some(("1", "2")),
        );
    }
}
