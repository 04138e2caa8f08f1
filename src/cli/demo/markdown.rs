//! Renders Markdown for a terminal: without hidden markers, with details folded, and with suggestions as diffs. It
//! knows only what greenlight itself writes, and leaves everything else unchanged.

/// The text without markers and markup.
pub(super) fn plain(body: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut table: Vec<&str> = Vec::new();
    let mut depth = 0usize;
    for line in body.lines() {
        if line.starts_with('|') && depth == 0 {
            table.push(line);
            continue;
        }
        lines.extend(aligned(&std::mem::take(&mut table)));
        if let Some(rest) = line.strip_prefix("<details><summary>") {
            if depth == 0 {
                lines.push(format!("▸ {}", rest.trim_end_matches("</summary>")));
            }
            depth += 1;
        } else if line == "</details>" {
            depth = depth.saturating_sub(1);
        } else if depth == 0 && !(line.starts_with("<!--") && line.ends_with("-->")) {
            lines.push(line.replace("<sub>", "").replace("</sub>", "").replace("**", ""));
        }
    }
    lines.extend(aligned(&table));
    let mut text = lines.join("\n");
    while text.contains("\n\n\n") {
        text = text.replace("\n\n\n", "\n\n");
    }
    text.trim().to_string()
}

/// Renders every suggestion as the lines it removes and the lines it adds.
pub(super) fn with_suggestions(body: &str, old: &[&str]) -> String {
    let mut lines: Vec<String> = Vec::new();
    // The fence that closes the suggestion.
    let mut fence: Option<&str> = None;
    for line in body.lines() {
        match fence {
            Some(end) if line == end => fence = None,
            Some(_) => lines.push(format!("+ {line}")),
            None => match line.strip_suffix("suggestion") {
                Some(start) if start.len() >= 3 && start.bytes().all(|byte| byte == b'`') => {
                    lines.extend(old.iter().map(|line| format!("- {line}")));
                    fence = Some(start);
                }
                _ => lines.push(line.into()),
            },
        }
    }
    lines.join("\n")
}

/// A table with aligned columns.
fn aligned(rows: &[&str]) -> Vec<String> {
    let cells = |row: &&str| -> Vec<String> {
        let row = row.trim().trim_start_matches('|').trim_end_matches('|');
        row.split(" | ").map(|cell| cell.trim().to_string()).collect()
    };
    let rows: Vec<Vec<String>> = rows.iter().filter(|row| !row.starts_with("|-")).map(cells).collect();
    let first = rows.iter().filter_map(|row| Some(row.first()?.chars().count())).max();
    rows.iter()
        .map(|row| {
            let (head, rest) = row
                .split_first()
                .map_or(("", &[][..]), |(head, rest)| (head.as_str(), rest));
            format!("{head:width$}  {}", rest.join("  "), width = first.unwrap_or(0))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_and_folded_parts_are_not_shown() {
        let body = "<!-- greenlight:sticky -->\n**Approve.**\n\n<details><summary>Evidence</summary>\n\n```\n| x |\n```\n\n</details>\n\n<sub>until then</sub>";
        assert_eq!(plain(body), "Approve.\n\n▸ Evidence\n\nuntil then");
    }

    #[test]
    fn a_table_has_columns() {
        let table = "| comment | what happens |\n|---|---|\n| `fix` | it is fixed |\n| `approve [id]` | it lands |\n\nAnd so on.";
        insta::assert_snapshot!(plain(table), @r"
        comment         what happens
        `fix`           it is fixed
        `approve [id]`  it lands

        And so on.
        ");
    }

    #[test]
    fn a_suggestion_is_a_change() {
        let body = "Like this:\n````suggestion\n    ```\n    b\n````\nor not.";
        insta::assert_snapshot!(with_suggestions(body, &["    a"]), @r"
        Like this:
        -     a
        +     ```
        +     b
        or not.
        ");
    }
}
