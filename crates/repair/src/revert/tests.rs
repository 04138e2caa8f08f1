//! Which parts of a diff are put back.

use super::*;

fn hunk(range: Range<usize>, original: &str) -> RevertedRange {
    RevertedRange {
        range,
        original: original.into(),
        line: 1,
    }
}

#[test]
fn each_group_of_lines_is_put_back_by_itself() {
    let original = "a\nb\nc\nd\ne\n";
    let now = "a\nB\nc\ne\nf\n";
    let applied: Vec<String> = hunks(now, original)
        .into_iter()
        .map(|hunk| [&now[..hunk.range.start], &hunk.original, &now[hunk.range.end..]].concat())
        .collect();
    assert_eq!(applied, ["a\nb\nc\ne\nf\n", "a\nB\nc\nd\ne\nf\n", "a\nB\nc\ne\n"]);
}

#[test]
fn lines_are_counted_from_one_as_they_are_now() {
    let lines: Vec<u32> = hunks("x\na\n", "a\nb\n").iter().map(|hunk| hunk.line).collect();
    assert_eq!(lines, [1, 3]);
    assert_eq!(hunks("ä\n", "ä\n"), []);
    assert_eq!(hunks("", "a").len(), 1);
}

#[test]
fn lines_of_a_small_hunk_are_put_back_alone() {
    let now = "a\nB\nC\nd\n";
    let put_back = |hunk: &RevertedRange| [&now[..hunk.range.start], &hunk.original, &now[hunk.range.end..]].concat();
    let found: Vec<String> = parts(now, &hunk(2..6, "b\nc\n")).iter().map(put_back).collect();
    assert_eq!(found, ["a\nb\nC\nd\n", "a\nB\nc\nd\n"]);
    // A line that was lost while others were added.
    let found: Vec<String> = parts(now, &hunk(2..6, "lost\n")).iter().map(put_back).collect();
    assert_eq!(found, ["a\nlost\nB\nC\nd\n", "a\nB\nC\nlost\nd\n"]);
    assert_eq!(parts(now, &hunk(2..6, "")), []);
    assert_eq!(parts(now, &hunk(2..4, "b\n")), []);
}

#[test]
fn sets_of_hunks_grow_and_are_bounded() {
    let path: RepoPath = "a.c".parse().unwrap();
    let hunks: Vec<RevertedRange> = (0..40).map(|at| hunk(at..at, "x\n")).collect();
    let all: Vec<Hunk<'_>> = hunks.iter().map(|hunk| (&path, hunk)).collect();
    let sizes = |count: usize| sets(&all[..count]).iter().map(Vec::len).collect::<Vec<_>>();
    assert!(sizes(1).is_empty());
    assert_eq!(sizes(2), [2]);
    assert_eq!(sizes(7), [4, 3, 7]);
    assert!(sizes(40).len() <= MAX_SETS + 1, "{:?}", sizes(40));
}

#[test]
fn all_of_a_diff_is_never_a_plain_revert() {
    let path: RepoPath = "a.txt".parse().unwrap();
    let texts = BTreeMap::from([(&path, "a\nB\nc\nD\n")]);
    let hunks = [hunk(2..4, "b\n"), hunk(6..8, "d\n")];
    let both: Vec<Hunk<'_>> = hunks.iter().map(|hunk| (&path, hunk)).collect();
    let made = |hunks: &[Hunk<'_>]| candidate(&texts, hunks, (1.0, 2)).unwrap();
    assert_eq!(made(&both).template, Template::TakeBack);
    assert_eq!(made(&both).text, "a\nb\nc\nd\n");
    assert_eq!(
        (made(&both).before.as_str(), made(&both).after.as_str()),
        ("B\nc\nD\n", "b\nc\nd\n")
    );
    assert_eq!(made(&both[..1]).template, Template::Revert);
}
