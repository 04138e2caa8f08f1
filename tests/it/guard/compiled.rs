//! Rust, Go and Java.

use greenlight::domain::weakening::WeakeningKind::{
    ErrorSwallowed, ExpectationChanged, FewerAssertions, NotReached, Removed, SetupChanged, Skipped, ToleranceWidened,
    WeakerAssertion,
};

use super::{Case, check};

const RUST: &str = r#"
/// Adds.
///
/// ```
/// assert_eq!(sums::add(1, 1), 2);
/// ```
pub fn add(a: i32, b: i32) -> i32 { a - b }

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (i32, i32) { (1, 2) }

    #[test]
    fn adds() {
        let (a, b) = pair();
        assert_eq!(add(a, b), 3);
        assert!(add(2, 2) > 3, "more than {}", 3);
    }

    #[test]
    #[should_panic]
    fn overflows() {
        add(i32::MAX, 1);
    }

    #[test]
    fn parses() {
        let read: i32 = "3".parse().unwrap();
        assert!((f64::from(read) - 3.0).abs() < 0.001);
    }
}
"#;

const RUST_CASES: &[Case] = &[
    ("    #[test]\n    fn adds()", "    fn adds()", &[Removed]),
    (
        "    #[test]\n    fn adds()",
        "    #[test]\n    #[ignore]\n    fn adds()",
        &[Skipped],
    ),
    (
        "    #[test]\n    fn adds()",
        "    #[test]\n    #[should_panic]\n    fn adds()",
        &[Skipped],
    ),
    (
        "    #[test]\n    fn adds()",
        "    #[test]\n    #[cfg(any())]\n    fn adds()",
        &[Skipped],
    ),
    (
        "#[cfg(test)]\nmod tests",
        "#[cfg(all(test, any()))]\nmod tests",
        &[Skipped],
    ),
    ("    #[should_panic]\n", "", &[ExpectationChanged]),
    ("        assert_eq!(add(a, b), 3);\n", "", &[FewerAssertions]),
    (
        "assert_eq!(add(a, b), 3)",
        "assert!(add(a, b) != 0)",
        &[WeakerAssertion],
    ),
    ("assert_eq!(add(a, b), 3)", "assert!(true)", &[WeakerAssertion]),
    (
        "assert_eq!(add(a, b), 3)",
        "assert_eq!(add(a, b), add(a, b))",
        &[WeakerAssertion],
    ),
    (
        "assert_eq!(add(a, b), 3)",
        "assert_eq!(add(a, b), -1)",
        &[ExpectationChanged],
    ),
    (
        "assert_eq!(add(a, b), 3)",
        "assert_ne!(add(a, b), 4)",
        &[ExpectationChanged],
    ),
    ("< 0.001", "< 10.0", &[ToleranceWidened]),
    (".parse().unwrap();", ".parse().unwrap_or(3);", &[ErrorSwallowed]),
    (
        "        add(i32::MAX, 1);",
        "        let _ = std::panic::catch_unwind(|| add(i32::MAX, 1));",
        &[ErrorSwallowed, SetupChanged],
    ),
    (
        "        let (a, b) = pair();",
        "        return;\n        let (a, b) = pair();",
        &[NotReached],
    ),
    (
        "        let (a, b) = pair();",
        "        let (a, b) = (0, 3);",
        &[SetupChanged],
    ),
    ("{ (1, 2) }", "{ (0, 3) }", &[SetupChanged]),
    (
        "    use super::*;",
        "    use super::*;\n    fn add(a: i32, b: i32) -> i32 { a + b }",
        &[SetupChanged],
    ),
    ("sums::add(1, 1), 2", "sums::add(1, 1), 0", &[ExpectationChanged]),
    (
        "/// ```\n/// assert",
        "/// ```ignore\n/// assert",
        &[ExpectationChanged],
    ),
    // Better, the same, or not about tests.
    ("a - b", "a + b", &[]),
    ("/// Adds.\n", "/// Adds two numbers.\n#[must_use]\n", &[]),
    (
        "    #[test]\n    fn adds()",
        "    #[test]\n    fn more() { assert_eq!(add(2, 3), 5); }\n\n    #[test]\n    fn adds()",
        &[],
    ),
    (
        "        assert_eq!(add(a, b), 3);\n",
        "        assert_eq!(add(a, b), 3);\n        assert_eq!(add(b, a), 3);\n",
        &[],
    ),
    (
        "        assert_eq!(add(a, b), 3);\n",
        "        assert_eq!(add(a, b), 3, \"of {a} and {b}\");\n",
        &[],
    ),
    (
        "        assert_eq!(add(a, b), 3);\n",
        "        assert_eq!(\n            add(a, b), // sum\n            3,\n        );\n",
        &[],
    ),
    ("    use super::*;", "    use super::*;\n    use std::fmt;", &[]),
    (
        "    #[test]\n    fn adds()",
        "    #[test]\n    #[allow(clippy::all)]\n    fn adds()",
        &[],
    ),
    ("pub fn add", "#[cfg(test)]\nmod extra;\n\npub fn add", &[]),
];

const GO: &str = r#"package fare

import (
	"errors"
	"testing"
)

func settle(t *testing.T) int {
	return Fare(2)
}

func TestFare(t *testing.T) {
	cases := []struct{ stops, cost int }{{1, 250}, {2, 300}}
	for _, c := range cases {
		got := Fare(c.stops)
		if got != c.cost {
			t.Errorf("got %d, want %d", got, c.cost)
		}
	}
}

func TestChange(t *testing.T) {
	given, err := Change(500, 2)
	if err != nil {
		t.Fatal(err)
	}
	if given != 200 {
		t.Fatalf("got %d", given)
	}
	require.Equal(t, 200, given)
}
"#;

const GO_CASES: &[Case] = &[
    ("func TestChange(", "func testChange(", &[Removed]),
    ("func TestChange(", "func CheckChange(", &[Removed]),
    (
        "	given, err := Change(500, 2)",
        "	t.Skip()\n	given, err := Change(500, 2)",
        &[Skipped],
    ),
    (
        "	given, err := Change(500, 2)",
        "	if testing.Short() {\n		t.Skip(\"slow\")\n	}\n	given, err := Change(500, 2)",
        &[Skipped],
    ),
    (
        "	given, err := Change(500, 2)",
        "	return\n	given, err := Change(500, 2)",
        &[NotReached],
    ),
    (
        "	if given != 200 {\n		t.Fatalf(\"got %d\", given)\n	}\n",
        "",
        &[FewerAssertions],
    ),
    (
        "t.Fatalf(\"got %d\", given)",
        "t.Logf(\"got %d\", given)",
        &[FewerAssertions],
    ),
    ("if given != 200 {", "if given != 800 {", &[ExpectationChanged]),
    ("if given != 200 {", "if given == nil {", &[WeakerAssertion]),
    (
        "require.Equal(t, 200, given)",
        "require.NotNil(t, given)",
        &[WeakerAssertion],
    ),
    (
        "require.Equal(t, 200, given)",
        "require.InDelta(t, 200, given, 600)",
        &[ToleranceWidened],
    ),
    ("{{1, 250}, {2, 300}}", "{{1, 250}}", &[SetupChanged]),
    ("	return Fare(2)", "	return 300", &[SetupChanged]),
    ("Change(500, 2)", "Change(300, 2)", &[SetupChanged]),
    (
        "func settle(",
        "func TestMain(m *testing.M) {\n	os.Exit(0)\n}\n\nfunc settle(",
        &[SetupChanged],
    ),
    ("package fare\n", "//go:build never\n\npackage fare\n", &[Skipped]),
    // Better, or the same.
    ("{{1, 250}, {2, 300}}", "{{1, 250}, {2, 300}, {3, 350}}", &[]),
    (
        "t.Fatalf(\"got %d\", given)",
        "t.Fatalf(\"got %d, want 200\", given)",
        &[],
    ),
    (
        "func TestChange(",
        "func TestMore(t *testing.T) {\n	if Fare(3) != 350 {\n		t.Error(\"no\")\n	}\n}\n\nfunc TestChange(",
        &[],
    ),
    ("	\"errors\"\n", "	\"errors\"\n	\"fmt\"\n", &[]),
    (
        "	require.Equal(t, 200, given)\n",
        "	require.Equal(t, 200, given)\n	require.Positive(t, given)\n",
        &[],
    ),
    (
        "	given, err := Change(500, 2)",
        "	t.Helper()\n	given, err := Change(500, 2)",
        &[],
    ),
];

const JAVA: &str = r#"
package fare;

import org.junit.jupiter.api.Test;

class FareTest {
    private final Fare fare = new Fare(50);

    @Test
    void givesChange() {
        int given = fare.change(500, 2);
        assertEquals(200, given);
        assertEquals(0.83, fare.ratio(), 0.01);
    }

    @Test
    void refuses() {
        assertThrows(IllegalArgumentException.class, () -> fare.change(0, 2));
    }

    int settle() {
        return fare.of(2);
    }
}
"#;

const JAVA_CASES: &[Case] = &[
    ("    @Test\n    void refuses()", "    void refuses()", &[Removed]),
    (
        "    @Test\n    void refuses()",
        "    @Disabled\n    @Test\n    void refuses()",
        &[Skipped],
    ),
    (
        "    @Test\n    void refuses()",
        "    @Ignore(\"x\")\n    @Test\n    void refuses()",
        &[Skipped],
    ),
    ("class FareTest", "@Disabled class FareTest", &[Skipped]),
    (
        "        int given =",
        "        assumeTrue(false);\n        int given =",
        &[Skipped],
    ),
    (
        "        int given =",
        "        if (true) return;\n        int given =",
        &[NotReached],
    ),
    ("        assertEquals(200, given);\n", "", &[FewerAssertions]),
    ("assertEquals(200, given)", "assertNotNull(given)", &[WeakerAssertion]),
    ("assertEquals(200, given)", "assertTrue(given > 0)", &[WeakerAssertion]),
    ("assertEquals(200, given)", "assertTrue(true)", &[WeakerAssertion]),
    (
        "assertEquals(200, given)",
        "assertEquals(given, given)",
        &[WeakerAssertion],
    ),
    (
        "assertEquals(200, given)",
        "assertEquals(800, given)",
        &[ExpectationChanged],
    ),
    ("0.01);", "5.0);", &[ToleranceWidened]),
    (
        "        assertEquals(200, given);\n",
        "        try { assertEquals(200, given); } catch (AssertionError e) {}\n",
        &[ErrorSwallowed],
    ),
    ("IllegalArgumentException.class", "Exception.class", &[ErrorSwallowed]),
    ("new Fare(50)", "new Fare(0)", &[SetupChanged]),
    ("return fare.of(2);", "return 300;", &[SetupChanged]),
    (
        "    @Test\n    void refuses()",
        "    @BeforeEach\n    void calm() { fare.reset(); }\n\n    @Test\n    void refuses()",
        &[SetupChanged],
    ),
    // Better, or the same.
    (
        "    @Test\n    void refuses()",
        "    @Test\n    void isFree() { assertEquals(0, fare.of(0)); }\n\n    @Test\n    void refuses()",
        &[],
    ),
    (
        "        assertEquals(200, given);\n",
        "        assertEquals(200, given);\n        assertTrue(given < 500);\n",
        &[],
    ),
    ("assertEquals(200, given)", "assertEquals(200, given, \"left\")", &[]),
    (
        "    @Test\n    void refuses()",
        "    @DisplayName(\"x\")\n    @Test\n    void refuses()",
        &[],
    ),
    (
        "import org.junit.jupiter.api.Test;",
        "import org.junit.jupiter.api.Test;\nimport java.util.List;",
        &[],
    ),
];

#[test]
fn rust() {
    check("src/sums.rs", RUST, RUST_CASES);
}

#[test]
fn go() {
    check("fare_test.go", GO, GO_CASES);
}

#[test]
fn java() {
    check("src/test/java/fare/FareTest.java", JAVA, JAVA_CASES);
}
