//! The result tables, in Markdown.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::judge::{Verdict, Worth};

const HEAD: &str = "\
| | cases | posted, right | posted, wrong | posted, to read | unverified, first is right | unverified, wrong | not found | \
right / posted | function in first 5 suspects | seconds, median / mean | candidates, median / mean |\n\
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n";

/// Tables by language and library, then by operator.
pub(super) fn tables(verdicts: &[Verdict]) -> String {
    let mut text = HEAD.to_owned();
    for (language, of_language) in grouped(verdicts.iter(), |verdict| verdict.language.clone()) {
        text.push_str(&row(&format!("**{language}**"), &of_language));
        for (library, of_library) in grouped(of_language.into_iter(), |verdict| verdict.library.clone()) {
            text.push_str(&row(&library, &of_library));
        }
    }
    text.push_str(&row("**all**", &verdicts.iter().collect::<Vec<_>>()));
    text.push_str(
        "\n| operator | cases | posted, right | posted, wrong | unverified, first is right |\n|---|--:|--:|--:|--:|\n",
    );
    let name = |verdict: &Verdict| format!("{} {}", verdict.language, group(&verdict.operator));
    for (operator, of_operator) in grouped(verdicts.iter(), name) {
        let [right, wrong, _, first, _] = counts(&of_operator);
        let _ = writeln!(
            text,
            "| {operator} | {} | {right} | {wrong} | {first} |",
            of_operator.len()
        );
    }
    for verdict in verdicts.iter().filter(|verdict| verdict.broken.is_some()) {
        let _ = writeln!(
            text,
            "\n{} was not judged: {}",
            verdict.id,
            verdict.broken.as_deref().unwrap_or_default()
        );
    }
    text
}

/// The operator as the tool names it, without the replaced and new code.
fn group(operator: &str) -> &str {
    let bare = operator.strip_prefix("core/").unwrap_or(operator);
    bare.split('_').next().unwrap_or(bare)
}

fn grouped<'a>(
    verdicts: impl Iterator<Item = &'a Verdict>,
    key: impl Fn(&Verdict) -> String,
) -> BTreeMap<String, Vec<&'a Verdict>> {
    let mut groups: BTreeMap<String, Vec<&Verdict>> = BTreeMap::new();
    for verdict in verdicts {
        groups.entry(key(verdict)).or_default().push(verdict);
    }
    groups
}

/// Posted and right, posted and wrong, posted and to be read; not posted and right, not posted and wrong.
fn counts(verdicts: &[&Verdict]) -> [usize; 5] {
    let posted = |test: fn(Worth) -> bool| {
        verdicts
            .iter()
            .filter(|verdict| verdict.posted.is_some_and(test))
            .count()
    };
    let kept = |test: fn(Worth) -> bool| {
        let silent = verdicts.iter().filter(|verdict| verdict.posted.is_none());
        silent.filter(|verdict| verdict.unverified.is_some_and(test)).count()
    };
    [
        posted(Worth::is_right),
        posted(|worth| worth == Worth::Wrong),
        posted(|worth| worth == Worth::Different),
        kept(Worth::is_right),
        kept(|worth| !worth.is_right()),
    ]
}

fn row(name: &str, verdicts: &[&Verdict]) -> String {
    let of = verdicts.len();
    let [right, wrong, read, first, other] = counts(verdicts);
    let located = verdicts.iter().filter(|verdict| verdict.is_located()).count();
    let posted = right + wrong + read;
    format!(
        "| {name} | {of} | {right} ({}) | {wrong} | {read} | {first} | {other} | {} | {} | {located} ({}) | {} | {} |\n",
        share(right, of),
        of - posted - first - other,
        share(right, posted),
        share(located, of),
        spread(verdicts.iter().map(|verdict| verdict.seconds).collect()),
        spread(
            verdicts
                .iter()
                .filter_map(|verdict| verdict.tried.map(|tried| tried as f64))
                .collect()
        ),
    )
}

fn share(part: usize, whole: usize) -> String {
    match whole {
        0 => "–".into(),
        _ => format!("{} %", 100 * part / whole),
    }
}

fn spread(mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    match values.get(values.len() / 2) {
        Some(median) => {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            format!("{median:.1} / {mean:.1}")
        }
        None => "–".into(),
    }
}
