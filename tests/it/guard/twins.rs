//! Several tests with one name: under opposite conditions, as overloads, in one group. Each is compared with its own
//! earlier version.

use greenlight::domain::weakening::WeakeningKind::{ExpectationChanged, Removed, Skipped};

use super::{Case, check};

const RUST: &str = r#"
pub fn add(a: i32, b: i32) -> i32 { a - b }

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn joins() {
        assert_eq!(add(1, 1), 2);
    }

    #[cfg(not(unix))]
    #[test]
    fn joins() {
        assert_eq!(add(1, 3), 4);
    }
}

#[cfg(all(test, feature = "wide"))]
mod more {
    #[test]
    fn adds() {
        assert_eq!(super::add(5, 5), 10);
    }
}

#[cfg(all(test, not(feature = "wide")))]
mod more {
    #[test]
    fn adds() {
        assert_eq!(super::add(6, 6), 12);
    }
}
"#;

#[test]
fn opposite_conditions_in_rust() {
    const CASES: &[Case] = &[
        ("{ a - b }", "{ a + b }", &[]),
        ("add(1, 1), 2", "add(1, 1), 0", &[ExpectationChanged]),
        ("add(1, 3), 4", "add(1, 3), -2", &[ExpectationChanged]),
        ("add(6, 6), 12", "add(6, 6), 0", &[ExpectationChanged]),
        (
            "    #[cfg(not(unix))]\n    #[test]\n    fn joins() {\n        assert_eq!(add(1, 3), 4);\n    }\n",
            "",
            &[Removed],
        ),
        (
            "#[cfg(not(unix))]\n    #[test]",
            "#[cfg(not(unix))]\n    #[test]\n    #[ignore]",
            &[Skipped],
        ),
    ];
    check("src/lib.rs", RUST, CASES);
}

const PYTHON: &str = r#"
import sys
from sums import add

if sys.version_info >= (3, 12):
    def test_adds():
        assert add(1, 1) == 2
else:
    def test_adds():
        assert add(1, 3) == 4

if sys.platform == "win32":
    def test_path():
        assert add("a", "b") == "ab"
else:
    def test_adds():
        assert add(5, 5) == 10


class TestMore:
    if sys.maxsize > 2**32:
        def test_wide(self):
            assert add(7, 7) == 14
    else:
        def test_wide(self):
            assert add(8, 8) == 16
"#;

#[test]
fn opposite_conditions_in_python() {
    const CASES: &[Case] = &[
        ("from sums import add", "from sums import add\nX = 1", &[]),
        ("add(1, 1) == 2", "add(1, 1) == 0", &[ExpectationChanged]),
        ("add(1, 3) == 4", "add(1, 3) == -2", &[ExpectationChanged]),
        ("add(5, 5) == 10", "add(5, 5) == 0", &[ExpectationChanged]),
        ("add(8, 8) == 16", "add(8, 8) == 0", &[ExpectationChanged]),
        (
            "    else:\n        def test_wide(self):\n            assert add(8, 8) == 16\n",
            "",
            &[Removed],
        ),
    ];
    check("tests/test_sums.py", PYTHON, CASES);
}

const JAVASCRIPT: &str = r"
describe('sums', () => {
  it('adds', () => {
    expect(add(1, 1)).toBe(2);
  });

  it('adds', () => {
    expect(add(1, 3)).toBe(4);
  });
});
";

#[test]
fn one_title_twice_in_javascript() {
    const CASES: &[Case] = &[
        ("add(1, 1)).toBe(2)", "add(1, 1)).toBe(0)", &[ExpectationChanged]),
        ("add(1, 3)).toBe(4)", "add(1, 3)).toBe(-2)", &[ExpectationChanged]),
        (
            "\n  it('adds', () => {\n    expect(add(1, 3)).toBe(4);\n  });\n",
            "",
            &[Removed],
        ),
        // One more under the same title, and one that keeps the others from running.
        (
            "describe('sums', () => {\n",
            "describe('sums', () => {\n  it('adds', () => {\n    expect(add(2, 2)).toBe(4);\n  });\n\n",
            &[],
        ),
        (
            "describe('sums', () => {\n",
            "describe('sums', () => {\n  it.only('adds', () => {\n    expect(add(2, 2)).toBe(4);\n  });\n\n",
            &[Skipped],
        ),
    ];
    check("tests/sums.test.js", JAVASCRIPT, CASES);
}

const JAVA: &str = r"
class SumsTest {
    @Test
    void adds() {
        assertEquals(2, Sums.add(1, 1));
    }

    @ParameterizedTest
    void adds(int more) {
        assertEquals(4 + more, Sums.add(1, 3 + more));
    }
}
";

#[test]
fn overloads_in_java() {
    const CASES: &[Case] = &[
        ("assertEquals(2, ", "assertEquals(0, ", &[ExpectationChanged]),
        (
            "assertEquals(4 + more, ",
            "assertEquals(0 + more, ",
            &[ExpectationChanged],
        ),
        (
            "    @Test\n    void adds() {\n        assertEquals(2, Sums.add(1, 1));\n    }\n\n",
            "",
            &[Removed],
        ),
    ];
    check("src/test/java/SumsTest.java", JAVA, CASES);
}
