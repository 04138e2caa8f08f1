//! How many suggestions are cut and verified in a second, and how that depends on the patch, on the diff, and on
//! files that are hard to compare. `cargo bench --bench anchor`.

#![expect(clippy::unwrap_used, reason = "what is measured is known to be right")]

use std::hint::black_box;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use greenlight::domain::anchor::{DiffFile, VisibleLines, cut, parse_hunks, proves};
use greenlight::domain::patch::{Blob, FileChange, Patch};

const SIZES: [usize; 3] = [300, 3_000, 30_000];

criterion_group!(benches, patch_size, diff_size, hard);
criterion_main!(benches);

/// A patch with this many removed and added lines, all apart from each other, on a file that the diff shows
/// completely.
fn patch_size(criterion: &mut Criterion) {
    let mut group = group(criterion, "lines_of_the_patch");
    for lines in SIZES {
        let before = code(lines * 2);
        let after = with_every(&before, 4, |line| format!("{line} // changed"));
        measure(&mut group, &lines.to_string(), &before, &after, &[shown_whole(&before)]);
    }
}

/// The same small patch, with diffs of this many lines, in its own file and in others.
fn diff_size(criterion: &mut Criterion) {
    let mut group = group(criterion, "lines_of_the_diff");
    for lines in SIZES {
        let before = code(lines);
        let mut after = before.clone();
        for line in after.iter_mut().take(300).step_by(10) {
            line.push_str(" // changed");
        }
        measure(
            &mut group,
            &format!("own/{lines}"),
            &before,
            &after,
            &[shown_whole(&before)],
        );
        let (before, after) = (&before[..300], &after[..300]);
        let mut diff: Vec<DiffFile> = (0..lines / 100).map(|number| other(number, before)).collect();
        diff.push(shown_whole(before));
        measure(&mut group, &format!("others/{lines}"), before, after, &diff);
    }
    drop(group);
    let mut group = self::group(criterion, "parsing_lines_of_the_diff");
    for lines in SIZES {
        let text = unified(&code(lines));
        group.throughput(Throughput::Elements(lines as u64));
        group.bench_function(BenchmarkId::from_parameter(lines), |bencher| {
            bencher.iter(|| parse_hunks(black_box(&text)).unwrap());
        });
    }
}

/// Files whose lines may take long to compare.
fn hard(criterion: &mut Criterion) {
    let mut group = group(criterion, "hard");
    for lines in SIZES {
        let before = code(lines);
        let name = |what: &str| format!("{what}/{lines}");
        let replaced: Vec<String> = before.iter().map(|line| format!("new {line}")).collect();
        measure(
            &mut group,
            &name("all_replaced"),
            &before,
            &replaced,
            &[shown_whole(&before)],
        );
        let reversed: Vec<String> = before.iter().rev().cloned().collect();
        measure(
            &mut group,
            &name("reversed"),
            &before,
            &reversed,
            &[shown_whole(&before)],
        );
        // A formatter changes two of three lines, among lines that are often equal.
        let braces: Vec<String> = (0..lines)
            .map(|line| ["{", "}", "x();"][line * 7 % 11 % 3].into())
            .collect();
        let formatted = with_every(&braces, 2, |line| format!("    {line}"));
        measure(
            &mut group,
            &name("reformatted"),
            &braces,
            &formatted,
            &[shown_whole(&braces)],
        );
        let changed = with_every(&before, 10, |line| format!("{line} // changed"));
        measure(
            &mut group,
            &name("tiny_hunks"),
            &before,
            &changed,
            &[shown_every_fifth(&before)],
        );
    }
    let equal = vec!["equal".to_string(); 100_000];
    let changed = with_every(&equal, 1_000, |_| "other".into());
    measure(
        &mut group,
        "equal_lines/100000",
        &equal,
        &changed,
        &[shown_whole(&equal)],
    );
    let mut blank = vec![String::new(); 10_000];
    blank.insert(5_000, "    ".into());
    measure(
        &mut group,
        "blank_lines/10000",
        &blank[1..],
        &blank,
        &[shown_whole(&blank[1..])],
    );
    let fewer = equal[..99_000].to_vec();
    measure(
        &mut group,
        "fewer_equal_lines/100000",
        &equal,
        &fewer,
        &[shown_whole(&equal)],
    );
}

fn group<'a>(criterion: &'a mut Criterion, name: &str) -> BenchmarkGroup<'a, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    group
}

/// Measures cutting and verifying, by number of suggestions.
fn measure(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    before: &[String],
    after: &[String],
    diff: &[DiffFile],
) {
    let blob = |lines: &[String]| Some(Blob::regular(lines.join("\n") + "\n"));
    let change = FileChange {
        before: blob(before),
        after: blob(after),
    };
    let patch = Patch::new([("src/lib.rs".parse().unwrap(), change)]);
    let suggestions = cut(&patch, diff).suggestions.len();
    group.throughput(Throughput::Elements(suggestions.max(1) as u64));
    group.bench_function(name, |bencher| {
        bencher.iter(|| {
            let cut = cut(black_box(&patch), black_box(diff));
            assert!(proves(&cut, &patch));
            cut
        });
    });
}

/// Lines as in source code: most of them different, some equal.
fn code(lines: usize) -> Vec<String> {
    (0..lines)
        .map(|line| match line % 7 {
            0 => String::new(),
            3 => "    }".into(),
            _ => format!("        let value_{line} = compute({}, &context)?;", line * 31 % 977),
        })
        .collect()
}

fn with_every(lines: &[String], divisor: usize, change: impl Fn(&str) -> String) -> Vec<String> {
    let mut lines = lines.to_vec();
    for line in lines.iter_mut().skip(1).step_by(divisor) {
        *line = change(line);
    }
    lines
}

/// The `patch` field of a new file.
fn unified(lines: &[String]) -> String {
    format!("@@ -0,0 +1,{} @@\n+{}", lines.len(), lines.join("\n+"))
}

fn shown_whole(lines: &[String]) -> DiffFile {
    DiffFile {
        path: "src/lib.rs".parse().unwrap(),
        hunks: parse_hunks(&unified(lines)).unwrap(),
    }
}

fn other(number: usize, lines: &[String]) -> DiffFile {
    DiffFile {
        path: format!("src/other_{number}.rs").parse().unwrap(),
        ..shown_whole(lines)
    }
}

/// A one-line hunk for every fifth line.
fn shown_every_fifth(lines: &[String]) -> DiffFile {
    let hunks = lines
        .iter()
        .enumerate()
        .skip(1)
        .step_by(5)
        .map(|(index, line)| VisibleLines {
            new_start: u32::try_from(index + 1).unwrap(),
            right: vec![line.clone()],
            added: Vec::new(),
        });
    DiffFile {
        path: "src/lib.rs".parse().unwrap(),
        hunks: hunks.collect(),
    }
}
