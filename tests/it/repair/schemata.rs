//! Candidates for compiled languages, many in one program: real compilers, real tests, the real sandbox.

use std::time::{Duration, Instant};

use greenlight::repair::{Budget, End};

use super::patient::{BUDGET, Patient};

const MANIFEST: &str = "[package]\nname = \"shapes\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";

/// Generics, methods, closures, opaque result types, constants, and a function that another edit makes endless.
const SHAPES: &str = r#"#![deny(warnings)]
//! Shapes.

pub const LARGEST: u32 = 10;

pub trait Area {
    fn area(&self) -> u32;
    fn is_large(&self) -> bool {
        self.area() > LARGEST
    }
}

pub struct Square<T> {
    side: T,
}

impl<T: Copy + Into<u32>> Square<T> {
    pub const fn new(side: T) -> Self {
        Self { side }
    }
}

impl<T: Copy + Into<u32>> Area for Square<T> {
    fn area(&self) -> u32 {
        let side: u32 = self.side.into();
        side * side
    }
}

pub fn even(limit: u32) -> impl Iterator<Item = u32> {
    (0..limit).filter(|n| n % 2 == 0)
}

pub fn largest<'a, A: Area>(all: &'a [A]) -> Option<&'a A> {
    let mut best: Option<&'a A> = None;
    for one in all {
        if best.map_or(true, |best| one.area() BETTER best.area()) {
            best = Some(one);
        }
    }
    best
}

pub fn count_up(to: u32) -> u32 {
    let mut n = 0;
    while n < to {
        n += 1;
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_is_found() {
        let all = [Square::new(1_u8), Square::new(3), Square::new(2)];
        assert_eq!(largest(&all).map(Area::area), Some(9));
        assert_eq!(count_up(3), 3);
        assert_eq!(even(5).count(), 3);
    }

    #[test]
    fn what_is_large() {
        assert!(!Square::new(LIMIT_u8).is_large());
        assert!(Square::new(4_u8).is_large());
    }

    #[test]
    fn the_first_of_two_is_kept() {
        let all = [Square::new(2_u8), Square::new(2)];
        assert!(std::ptr::eq(largest(&all).unwrap(), &all[0]));
    }
}
"#;

fn shapes(better: &str, limit: &str) -> String {
    SHAPES.replace("BETTER", better).replace("LIMIT", limit)
}

#[tokio::test]
async fn rust_candidates_are_compiled_together() {
    let library = shapes("<", "3");
    let patient = Patient::written(&[("Cargo.toml", MANIFEST), ("src/lib.rs", &library)]).await;
    let started = Instant::now();
    let found = patient.found().await;
    println!("{} candidates in {:?}", found.candidates_tried, started.elapsed());
    assert!(found.explanation.contains("`largest`"), "{}", found.explanation);
}

#[tokio::test]
async fn a_constant_is_tried_by_itself() {
    let library = shapes(">", "3").replace("LARGEST: u32 = 10", "LARGEST: u32 = 16");
    let patient = Patient::written(&[("Cargo.toml", MANIFEST), ("src/lib.rs", &library)]).await;
    let found = patient.found().await;
    assert!(
        found.explanation.contains("LARGEST") || found.explanation.contains("is_large"),
        "{}",
        found.explanation
    );
}

#[tokio::test]
async fn packages_of_one_workspace_are_built_where_the_failure_is() {
    let patient = Patient::written(&[
        ("Cargo.toml", "[workspace]\nmembers = [\"sums\", \"user\"]\nresolver = \"2\"\n"),
        ("sums/Cargo.toml", "[package]\nname = \"sums\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
        ("sums/src/lib.rs", "pub fn sum(all: &[u32]) -> u32 {\n    let mut total = 1;\n    for n in all {\n        total += n;\n    }\n    total\n}\n"),
        (
            "user/Cargo.toml",
            "[package]\nname = \"user\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies]\nsums = { path = \"../sums\" }\n",
        ),
        ("user/src/lib.rs", "pub fn twice(all: &[u32]) -> u32 {\n    2 * sums::sum(all)\n}\n"),
        (
            "user/tests/twice.rs",
            "#[test]\nfn twice_the_sum() {\n    assert_eq!(user::twice(&[1, 2]), 6);\n    assert_eq!(user::twice(&[]), 0);\n}\n",
        ),
    ])
    .await;
    let found = patient.found().await;
    assert!(found.explanation.contains("sums/src/lib.rs"), "{}", found.explanation);
}

/// The only fault is a wrong loop bound, which other edits make endless.
#[tokio::test]
async fn candidates_without_end_are_cut_off() {
    let library = shapes(">", "3").replace("while n < to", "while n <= to");
    let patient = Patient::written(&[("Cargo.toml", MANIFEST), ("src/lib.rs", &library)]).await;
    let found = patient.found().await;
    assert!(found.explanation.contains("`count_up`"), "{}", found.explanation);
}

/// A test program that claims success for every candidate gains nothing: a fresh run must agree.
#[tokio::test]
async fn a_program_that_lies_is_not_believed() {
    let patient = Patient::written(&[
        ("Cargo.toml", MANIFEST),
        (
            "src/lib.rs",
            "pub fn one() -> u32 {\n    let n = 2;\n    n + 2\n}\n\n#[test]\nfn one_is_nine() {\n    \
             if std::env::var_os(\"GREENLIGHT_SWITCH\").is_some_and(|it| it != \"0\") {\n        std::process::exit(0);\n    }\n    \
             assert_eq!(one(), 99);\n}\n",
        ),
    ])
    .await;
    let budget = Budget {
        candidates: 5,
        wall: Duration::from_secs(120),
    };
    let end = patient.search(budget).await;
    assert!(!matches!(end, End::Found(_)), "{end:?}");
}

const GO_TEST: &str = r#"package shop

import "testing"

func TestTotal(t *testing.T) {
	for _, c := range []struct {
		name   string
		prices []int
		want   int
	}{{"none", nil, 0}, {"one", []int{5}, 5}, {"two", []int{5, 7}, 12}} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := Total(c.prices...); got != c.want || err != nil {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
	if _, err := Total(-1); err == nil {
		t.Error("a negative price is an error")
	}
}
"#;

#[tokio::test]
async fn go_candidates_are_compiled_together() {
    let patient = Patient::written(&[
        ("go.mod", "module example.com/shop\n\ngo 1.20\n"),
        (
            "shop.go",
            "package shop\n\nimport \"errors\"\n\n// Total adds prices.\nfunc Total(prices ...int) (sum int, err error) {\n\
             outer:\n\tfor i, price := range prices {\n\t\tif price <= 0 {\n\t\t\treturn 0, errors.New(\"negative\")\n\t\t}\n\
             \t\tif i > 99 {\n\t\t\tbreak outer\n\t\t}\n\t\tsum -= price\n\t}\n\treturn\n}\n",
        ),
        ("shop_test.go", GO_TEST),
    ])
    .await;
    let found = patient.found().await;
    assert!(found.explanation.contains("`Total`"), "{}", found.explanation);
}

/// The harness rejects a second `--exact`.
#[tokio::test]
async fn a_command_with_exact_names_is_compiled_once_for_many() {
    let library = shapes("<", "3");
    let patient = Patient::commanded(
        &[("Cargo.toml", MANIFEST), ("src/lib.rs", &library)],
        "cargo test -- --exact --skip tests::nothing",
    )
    .await;
    let found = patient.found().await;
    assert!(found.explanation.contains("`largest`"), "{}", found.explanation);
    // The failing run, and the one that confirms the fix.
    let runs = patient.suite.clock.times();
    assert!(runs < 5, "{runs} runs of the test command");
}

/// A test that fails with every candidate, and never executes the edited code.
#[tokio::test]
async fn tests_that_cannot_see_an_edit_are_not_run_for_it() {
    let library = "pub fn sum(all: &[u32]) -> u32 {\n    let mut total = 1;\n    for n in all {\n        total += n;\n    }\n    total\n}\n\n\
        pub fn one() -> u32 {\n    1\n}\n\n\
        #[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn of_two() {\n        assert_eq!(sum(&[1, 2]), 3);\n        assert_eq!(sum(&[]), 0);\n    }\n\n    \
        #[test]\n    fn of_one() {\n        assert_eq!(one(), 1);\n        assert!(std::env::var_os(\"GREENLIGHT_SWITCH\").is_none());\n    }\n}\n";
    let patient = Patient::written(&[("Cargo.toml", MANIFEST), ("src/lib.rs", library)]).await;
    let found = patient.found().await;
    assert!(found.explanation.contains("`sum`"), "{}", found.explanation);
}

#[track_caller]
fn is_held_back(end: &End) {
    let End::NotFound(tried) = end else { panic!("{end:?}") };
    let risks: Vec<&String> = tried.findings.iter().flat_map(|finding| &finding.risks).collect();
    assert!(
        risks.len() > 1 && risks.iter().all(|risk| risk.contains("behaves differently")),
        "{risks:?}"
    );
}

#[tokio::test]
async fn rust_edits_that_are_as_likely_hold_each_other_back() {
    let library = "pub fn outer(width: u32) -> u32 {\n    width * 1 + 2\n}\n\n\
                   #[test]\nfn with_a_border() {\n    assert_eq!(outer(1), 4);\n}\n";
    let patient = Patient::written(&[("Cargo.toml", MANIFEST), ("src/lib.rs", library)]).await;
    is_held_back(&patient.search(BUDGET).await);
}

#[tokio::test]
async fn go_edits_that_are_as_likely_hold_each_other_back() {
    let code = "package frame\n\ntype Frame struct {\n\twidth int\n}\n\nfunc (f *Frame) Grow() (was int, err error) {\n\t\
                was = f.width\n\tf.width = f.width*1 + 2\n\treturn\n}\n";
    let test = "package frame\n\nimport \"testing\"\n\nfunc TestGrow(t *testing.T) {\n\tf := &Frame{width: 1}\n\t\
                f.Grow()\n\tif f.width != 4 {\n\t\tt.Error(\"not grown\")\n\t}\n}\n";
    let files = [
        ("go.mod", "module example.com/frame\n\ngo 1.20\n"),
        ("frame.go", code),
        ("frame_test.go", test),
    ];
    is_held_back(&Patient::written(&files).await.search(BUDGET).await);
}
