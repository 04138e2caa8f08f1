//! The lines in which a tool says what went wrong: from its first error on, without its usage.

use crate::text;

/// The maximum length of a line, in characters.
const MAX_LINE: usize = 300;
/// How many of the lines are the last ones: some tools conclude with what matters.
const LAST: usize = 3;

/// At most `most` lines that say what went wrong. If none of them reports an error, the last ones.
pub fn complaint(printed: &str, most: usize) -> String {
    let lines: Vec<&str> = telling(printed);
    let from = match lines.iter().position(|line| reports(line)) {
        Some(first) => first,
        None => lines.len().saturating_sub(most),
    };
    let lines = &lines[from..];
    let short = |line: &&str| -> String { line.chars().take(MAX_LINE).collect() };
    if lines.len() <= most {
        return lines.iter().map(short).collect::<Vec<_>>().join("\n");
    }
    let last = if most > 2 * LAST { LAST } else { 0 };
    let (head, end) = (most - last, lines.len() - last);
    let mut shown: Vec<String> = lines[..head].iter().map(short).collect();
    if last > 0 {
        shown.push("[…]".into());
    }
    shown.extend(lines[end..].iter().map(short));
    shown.join("\n")
}

/// The lines with words, up to a tool's usage. Tools repeat a mark at the beginning of each line.
fn telling(printed: &str) -> Vec<&str> {
    let all: Vec<&str> = printed.lines().map(str::trim_end).collect();
    let is_usage = |line: &&&str| {
        let words = line.to_lowercase();
        words.ends_with("usage:") || words.trim_start().starts_with("usage: ")
    };
    let first_error = all.iter().position(|line| reports(line)).unwrap_or(all.len());
    let end = all.iter().skip(first_error).position(|line| is_usage(&line));
    let end = end.map_or(all.len(), |end| first_error + end);
    let is_mark = |at: usize| {
        let next = all.get(at + 1).or(at.checked_sub(1).and_then(|before| all.get(before)));
        next.is_some_and(|next| next.len() > all[at].len() && next.starts_with(all[at]))
    };
    let told = (0..end).filter(|at| !all[*at].trim().is_empty() && !is_mark(*at));
    told.map(|at| all[at]).collect()
}

/// Whether a line reports an error.
fn reports(line: &str) -> bool {
    static ERROR: std::sync::LazyLock<Option<regex::Regex>> = std::sync::LazyLock::new(|| {
        text::pattern(
            r"(?i)^\W*(?:\S+ )?(?:error|err!|err_\w+|fatal|failed|cannot|could not)\b|× |: (?:command )?not found$|: No such file or directory$",
        )
    });
    ERROR.as_ref().is_some_and(|error| error.is_match(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_comes_first_and_the_usage_is_left_out() {
        let npm = "npm warn old lockfile\nnpm error code EUSAGE\nnpm error\nnpm error `npm ci` can only install packages when your package.json and package-lock.json are in sync.\nnpm error\nnpm error Missing: vitest@3.2.4 from lock file\nnpm error\nnpm error Usage:\nnpm error npm ci\nnpm error\nnpm error aliases: ic, isntall-clean\n";
        assert_eq!(
            complaint(npm, 12),
            "npm error code EUSAGE\nnpm error `npm ci` can only install packages when your package.json and package-lock.json are in sync.\nnpm error Missing: vitest@3.2.4 from lock file"
        );
    }

    #[test]
    fn the_progress_of_pnpm_comes_before_its_error() {
        let pnpm = "Progress: resolved 1\n ERR_PNPM_FETCH_404  GET https://x/y.tgz: Not Found\nNo authorization header was set\n";
        assert!(
            complaint(pnpm, 12).starts_with(" ERR_PNPM_FETCH_404"),
            "{}",
            complaint(pnpm, 12)
        );
    }

    #[test]
    fn many_lines_are_cut_in_the_middle() {
        let pip = format!(
            "Collecting a\n  error: subprocess-exited-with-error\n{}ERROR: Failed to build 'a'",
            "x\n".repeat(50)
        );
        let shown = complaint(&pip, 12);
        assert!(
            shown.starts_with("  error: subprocess") && shown.ends_with("\nERROR: Failed to build 'a'"),
            "{shown}"
        );
        assert_eq!(shown.lines().count(), 13);
        assert_eq!(complaint(&pip, 1), "  error: subprocess-exited-with-error");
    }

    #[test]
    fn without_an_error_the_end_is_shown() {
        assert_eq!(
            complaint("a\nb\n\nsh: 70: exec: rake: not found\n", 1),
            "sh: 70: exec: rake: not found"
        );
        assert_eq!(complaint("", 3), "");
        assert_eq!(complaint(&"y".repeat(1_000_000), 3).len(), MAX_LINE);
    }
}
