//! Single cases with their reasons, and properties of generated files, diffs and patches.

use proptest::prelude::*;

use super::*;

fn path() -> RepoPath {
    "a".parse().unwrap()
}

fn patch(before: &str, after: &str) -> Patch {
    let change = FileChange {
        before: Some(Blob::regular(before)),
        after: Some(Blob::regular(after)),
    };
    Patch::new([(path(), change)])
}

/// The diff that GitHub would show, computed with a different library than the tested code uses.
fn shown(base: &str, head: &str, context: usize) -> Vec<DiffFile> {
    let diff = diffy::DiffOptions::new()
        .set_context_len(context)
        .create_patch(base, head);
    let format = diffy::PatchFormatter::new().suppress_blank_empty(false);
    let diff = format.fmt_patch(&diff).to_string();
    let hunks: String = diff.split_inclusive('\n').skip(2).collect();
    vec![DiffFile {
        path: path(),
        hunks: parse_hunks(&hunks).unwrap(),
    }]
}

/// Everything on the right side, as in the diff of a new file.
fn all_shown(head: &str) -> Vec<DiffFile> {
    shown("", head, 3)
}

/// A head of ten lines whose diff shows 4 to 10.
const HEAD: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

fn window() -> Vec<DiffFile> {
    shown(&HEAD.replace("7\n", ""), HEAD, 3)
}

#[track_caller]
fn check(diff: &[DiffFile], before: &str, after: &str, expected: &[(u32, u32, &str)]) -> Cut {
    let patch = patch(before, after);
    let cut = cut(&patch, diff);
    let found: Vec<_> = cut
        .suggestions
        .iter()
        .map(|s| (s.start_line, s.line, s.replacement.as_str()))
        .collect();
    assert_eq!(found, expected);
    assert!(proves(&cut, &patch));
    cut
}

#[test]
fn a_change_becomes_the_smallest_range() {
    let after = HEAD.replace("5\n", "five\n").replace("8\n", "eight\n8.5\n");
    let cut = check(&window(), HEAD, &after, &[(5, 5, "five\n"), (8, 8, "eight\n8.5\n")]);
    assert!(cut.remainder.is_empty());
    check(&window(), HEAD, &HEAD.replace("5\n6\n", ""), &[(5, 6, "")]);
}

#[test]
fn an_insertion_is_attached_to_a_neighbour() {
    check(&window(), HEAD, &HEAD.replace("6\n", "6\nnew\n"), &[(6, 6, "6\nnew\n")]);
    // The line above is not shown, so it is attached to the line below.
    check(&window(), HEAD, &HEAD.replace("4\n", "new\n4\n"), &[(4, 4, "new\n4\n")]);
    check(&all_shown("a\n"), "a\n", "new\na\n", &[(1, 1, "new\na\n")]);
    check(&window(), HEAD, &format!("{HEAD}new\n"), &[(10, 10, "10\nnew\n")]);
}

#[test]
fn a_block_is_never_blank() {
    check(&window(), HEAD, &HEAD.replace("6\n", "\n"), &[(5, 6, "5\n\n")]);
    check(&window(), HEAD, &HEAD.replace("4\n", " \n"), &[(4, 5, " \n5\n")]);
    check(&all_shown("\n\n\n"), "\n\n\n", "\n\n", &[(3, 3, "")]);
    let cut = check(&all_shown("\n"), "\n", "\n\n", &[]);
    assert!(!cut.remainder.is_empty());
}

#[test]
fn neighbours_become_one() {
    check(
        &window(),
        HEAD,
        &HEAD.replace("5\n", "").replace("6\n", "6\nnew\n"),
        &[(5, 6, "6\nnew\n")],
    );
    check(
        &window(),
        HEAD,
        "1\n2\n3\nx\n4\ny\n5\n6\n7\n8\n9\n10\n",
        &[(4, 4, "x\n4\ny\n")],
    );
}

#[test]
fn lines_that_the_diff_does_not_show_are_left_over() {
    let after = HEAD.replace("2\n", "two\n").replace("8\n", "eight\n");
    let cut = check(&window(), HEAD, &after, &[(8, 8, "eight\n")]);
    let (_, rest) = cut.remainder.files().next().unwrap();
    assert_eq!(rest.before, Some(Blob::regular(HEAD.replace("8\n", "eight\n"))));
    assert_eq!(rest.after, Some(Blob::regular(after)));

    // An edit across the edge of the hunk.
    check(&window(), HEAD, &HEAD.replace("3\n4\n", "x\n"), &[]);
    check(&[], HEAD, &HEAD.replace("5", "five"), &[]);
    // A different file, and the diff of a different head.
    let elsewhere = DiffFile {
        path: "b".parse().unwrap(),
        ..window().remove(0)
    };
    check(&[elsewhere], HEAD, &HEAD.replace("5", "five"), &[]);
    check(&all_shown("1\n2\n3\n4\nfifth\n"), HEAD, &HEAD.replace("2", "two"), &[]);
    check(&all_shown(&format!("{HEAD}11\n")), HEAD, &HEAD.replace("2", "two"), &[]);
}

#[test]
fn line_ends_stay_as_they_are() {
    check(
        &all_shown("a\r\nb\r\n"),
        "a\r\nb\r\n",
        "a\r\nB\r\nc\r\n",
        &[(2, 2, "B\nc\n")],
    );
    check(&all_shown("a\nb"), "a\nb", "A\nb", &[(1, 1, "A\n")]);
    check(&all_shown("a\nb"), "a\nb", "a\nB\nc", &[(2, 2, "B\nc\n")]);
    // Deleting the last line would leave a file that ends with a line end.
    check(&all_shown("a\nb"), "a\nb", "a", &[(1, 2, "a\n")]);
    // The last line has no end, so it does not show which kind the file uses.
    check(&all_shown("a\r\nb"), "a\r\nb", "a\r\nb\r\nc", &[(1, 2, "a\nb\nc\n")]);
    check(&all_shown("a\r\nb"), "a\r\nb", "a\r\nB", &[(2, 2, "B\n")]);
}

#[test]
fn an_added_or_removed_line_end_is_left_over() {
    check(&all_shown("a\nb"), "a\nb", "A\nb\n", &[(1, 1, "A\n")]);
    check(&all_shown("a\nb\n"), "a\nb\n", "a\nB", &[(2, 2, "B\n")]);
    for (before, after) in [
        ("a\nb\r\n", "A\nb\r\n"),
        ("a\rb\nc\n", "a\rb\nC\n"),
        ("a\nb\n", "a\nb\r\n"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("a\nb", "a\nb\n"),
        ("a", "a\r\nb"),
        ("", "a\n"),
    ] {
        let cut = check(&all_shown(before), before, after, &[]);
        assert_eq!(cut.left_out.len(), 1);
    }
}

#[test]
fn a_file_may_become_empty() {
    check(&all_shown("a\nb\n"), "a\nb\n", "", &[(1, 2, "")]);
    let cut = check(&all_shown("a"), "a", "", &[]);
    assert_eq!(cut.left_out[&path()], [LeftOut::OutsideHunks]);
}

#[test]
fn odd_characters_are_kept_or_left_over() {
    let plain = "\t x \u{1f980} ```` <b> & @a \\ \n";
    check(&all_shown("a\n"), "a\n", plain, &[(1, 1, plain)]);
    check(&all_shown("\u{c}\na\n"), "\u{c}\na\n", "\u{c}\nb\n", &[(2, 2, "b\n")]);
    for odd in [
        "\u{c}b\n",
        "\u{1b}[0m\n",
        "\u{feff}b\n",
        "\u{85}b\n",
        "b\u{202e}\n",
        "b\u{200b}\n",
    ] {
        let cut = check(&all_shown("a\n"), "a\n", odd, &[]);
        assert_eq!(cut.left_out[&path()], [LeftOut::OddCharacters]);
    }
    // Hidden characters that exist already may stay in changed lines.
    check(
        &all_shown("a\u{200d}\n"),
        "a\u{200d}\n",
        "b\u{200d}\n",
        &[(1, 1, "b\u{200d}\n")],
    );
    let huge = format!("{}\n", "x".repeat(MAX_BLOCK));
    check(
        &all_shown("a\nb\nc\n"),
        "a\nb\nc\n",
        &format!("{huge}b\nC\n"),
        &[(3, 3, "C\n")],
    );
}

#[test]
fn files_that_are_no_plain_change_are_left_over() {
    let blob = |mode, bytes: &[u8]| {
        let bytes = bytes.to_vec();
        Some(Blob { mode, bytes })
    };
    use FileMode::{Executable, Regular, Symlink};
    for (before, after) in [
        (None, blob(Regular, b"a\n")),
        (blob(Regular, b"a\n"), None),
        (blob(Regular, b"a\n"), blob(Executable, b"a\n")),
        (blob(Regular, b"a\n"), blob(Symlink, b"b\n")),
        (blob(Symlink, b"a\n"), blob(Symlink, b"b\n")),
        (blob(Regular, b"a\n\xff\n"), blob(Regular, b"b\n\xff\n")),
        (blob(Regular, b"a\n\0\n"), blob(Regular, b"b\n\0\n")),
    ] {
        let patch = Patch::new([(path(), FileChange { before, after })]);
        let cut = cut(&patch, &all_shown("a\n"));
        assert_eq!((cut.suggestions.len(), &cut.remainder), (0, &patch));
        assert_eq!(cut.left_out[&path()].len(), 1);
        assert!(proves(&cut, &patch));
    }
}

#[test]
fn a_change_of_mode_leaves_the_lines_to_suggestions() {
    let blob = |mode, text: &str| {
        Some(Blob {
            mode,
            bytes: text.into(),
        })
    };
    let change = FileChange {
        before: blob(FileMode::Regular, "a\n"),
        after: blob(FileMode::Executable, "b\n"),
    };
    let patch = Patch::new([(path(), change)]);
    let cut = cut(&patch, &all_shown("a\n"));
    assert_eq!(cut.suggestions.len(), 1);
    assert_eq!(cut.left_out[&path()], [LeftOut::Mode]);
    assert_eq!(
        cut.remainder.unified(),
        "diff --git a/a b/a\nold mode 100644\nnew mode 100755\n"
    );
    assert!(proves(&cut, &patch));
}

#[test]
fn a_cut_of_something_else_proves_nothing() {
    let patch = patch(HEAD, &HEAD.replace("5", "five"));
    let good = cut(&patch, &window());
    assert!(proves(&good, &patch));
    let mut wrong = good.clone();
    wrong.suggestions[0].line = 6;
    assert!(!proves(&wrong, &patch));
    assert!(!proves(&Cut::default(), &patch));
    let twice = Cut {
        remainder: patch.clone(),
        ..good.clone()
    };
    assert!(!proves(&twice, &patch));
    assert!(!proves(&good, &Patch::default()));
    let mut stray = good.clone();
    stray.suggestions[0].path = "b".parse().unwrap();
    assert!(!proves(&stray, &patch));
}

/// Lines that make diffs ambiguous and fences tempting.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        5 => "[a-d]",
        2 => Just(String::new()),
        1 => Just("    ".into()),
        1 => Just("}".into()),
        1 => Just("```".into()),
        1 => Just("````suggestion".into()),
        1 => "\\PC{0,12}",
        1 => Just("\tx \u{2028}".into()),
    ]
}

/// Replaces stretches of a file, each given as a position, a number of lines, and new lines.
fn changed(file: &[String], changes: &[(prop::sample::Index, usize, Vec<String>)]) -> Vec<String> {
    let mut file = file.to_vec();
    for (place, count, lines) in changes {
        let start = place.index(file.len() + 1);
        let end = (start + count).min(file.len());
        file.splice(start..end, lines.iter().cloned());
    }
    file
}

fn changes(most: usize) -> impl Strategy<Value = Vec<(prop::sample::Index, usize, Vec<String>)>> {
    prop::collection::vec(
        (
            any::<prop::sample::Index>(),
            0..4_usize,
            prop::collection::vec(line(), 0..4),
        ),
        0..most,
    )
}

/// Joins lines; `odd` says whether the line ends are plain, Windows, or missing at the end.
fn joined(lines: &[String], odd: u8) -> String {
    let mut text: String = lines
        .iter()
        .map(|line| format!("{line}{}", if odd == 1 { "\r\n" } else { "\n" }))
        .collect();
    if odd == 2 {
        text.pop();
    }
    text
}

proptest! {
    // `PROPTEST_CASES` sets how many cases each property is tried on.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_cut_is_what_github_takes_and_what_was_tested(
        base in prop::collection::vec(line(), 0..40),
        to_head in changes(5),
        to_after in changes(5),
        ends in prop::sample::select(vec![[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0], [1, 1, 1], [2, 2, 2], [0, 2, 0], [0, 0, 2], [2, 0, 0], [0, 1, 1]]),
        context in 0..4_usize,
    ) {
        let head = changed(&base, &to_head);
        let after = changed(&head, &to_after);
        let [base, head, after] = [(&base, ends[0]), (&head, ends[1]), (&after, ends[2])].map(|(lines, end)| joined(lines, end));
        let diff = shown(&base, &head, context);
        let patch = patch(&head, &after);
        let cut = cut(&patch, &diff);

        prop_assert!(proves(&cut, &patch));
        let committed = apply(&cut.suggestions, &path(), head.as_bytes()).unwrap();
        match cut.remainder.files().next() {
            None => prop_assert_eq!(&committed, after.as_bytes()),
            Some((path, rest)) => {
                prop_assert!(!cut.left_out[path].is_empty());
                prop_assert_eq!(&rest.before, &Some(Blob::regular(committed)));
                prop_assert_eq!(&rest.after, &Some(Blob::regular(after.as_bytes())));
            }
        }
        let lines: Vec<&str> = head.split_inclusive('\n').collect();
        let mut last = 0;
        for suggestion in &cut.suggestions {
            let (first, line) = (suggestion.start_line, suggestion.line);
            prop_assert!(last < first && first <= line);
            last = line;
            let inside = diff[0].hunks.iter().any(|hunk| {
                hunk.new_start <= first && line < hunk.new_start + u32::try_from(hunk.right.len()).unwrap()
            });
            prop_assert!(inside, "{suggestion:?} is outside of every hunk");
            let replaced = lines[first as usize - 1..line as usize].concat();
            prop_assert_ne!(&replaced, &suggestion.replacement);
            prop_assert!(suggestion.replacement.is_empty() || !suggestion.replacement.trim().is_empty());
            prop_assert!(!suggestion.replacement.contains('\r'));
        }
        // Committing them one by one, in either order, gives the same result if line numbers are adjusted.
        let mut from_below = head.clone().into_bytes();
        for suggestion in cut.suggestions.iter().rev() {
            from_below = apply(std::slice::from_ref(suggestion), &path(), &from_below).unwrap();
        }
        prop_assert_eq!(apply(&cut.suggestions, &path(), head.as_bytes()).unwrap(), from_below);
    }

    #[test]
    fn a_change_of_one_line_in_a_hunk_is_always_suggested(
        head in prop::collection::vec("[a-z]{1,3}", 1..30),
        place in any::<prop::sample::Index>(),
    ) {
        let mut after = head.clone();
        after[place.index(head.len())] = "NEW".into();
        let (head, after) = (joined(&head, 0), joined(&after, 0));
        let cut = cut(&patch(&head, &after), &all_shown(&head));
        let line = u32::try_from(place.index(head.lines().count())).unwrap() + 1;
        prop_assert_eq!(cut.suggestions.len(), 1);
        prop_assert_eq!((cut.suggestions[0].start_line, cut.suggestions[0].line), (line, line));
        prop_assert!(cut.remainder.is_empty());
    }

    #[test]
    fn nothing_is_left_over_when_all_is_shown(
        head in prop::collection::vec("[a-d]", 1..40),
        to_after in changes(5),
    ) {
        let mut after = changed(&head, &to_after);
        after.retain(|line| !line.trim().is_empty());
        prop_assume!(!after.is_empty());
        let (head, after) = (joined(&head, 0), joined(&after, 0));
        let cut = cut(&patch(&head, &after), &all_shown(&head));
        let is_hidden = |reasons: &Vec<LeftOut>| *reasons == [LeftOut::OddCharacters];
        prop_assert!(cut.left_out.values().all(is_hidden), "{:?}", cut.left_out);
    }

    #[test]
    fn any_text_is_hunks_or_an_error(text in "(@@ -[0-9],[0-9] [+][0-9],[0-9] @@\n|[-+ ]x\n|.\n){0,8}") {
        if let Ok(hunks) = parse_hunks(&text) {
            prop_assert!(hunks.iter().map(|hunk| hunk.right.len()).sum::<usize>() <= text.lines().count());
        }
    }
}
