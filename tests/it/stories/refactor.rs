//! `/greenlight refactor`: green before and after, and each rule violated once.

use serde_json::json;

use crate::harness::model::{Turn, calls};
use crate::harness::story::{Scene, Story};

const NESTED: &str = "\
def zone(stops):
    if stops > 10:
        if stops > 20:
            return 3
        else:
            return 2
    else:
        if stops > 0:
            return 1
        else:
            return 0
";
const FLAT: &str = "def zone(stops):\n    return sum(stops > limit for limit in (0, 10, 20))\n";
const TESTS: &str = "\
import unittest

from zones import zone


class Zones(unittest.TestCase):
    def test_zones(self):
        self.assertEqual([zone(0), zone(5), zone(15), zone(25)], [0, 1, 2, 3])
";

fn scene(turns: Vec<Turn>) -> Scene {
    Scene::of(
        &[("README.md", "Zones.\n"), ("other.py", "x = 1\n")],
        &[("zones.py", NESTED), ("test_zones.py", TESTS)],
    )
    .model(turns)
}

fn write(path: &str, text: &str) -> Turn {
    calls("write_file", json!({ "path": path, "text": text }))
}

fn submit() -> Turn {
    calls("submit", json!({ "summary": "Zones are counted." }))
}

async fn refactor(turns: Vec<Turn>) -> Story {
    let story = scene(turns).begin().await;
    story
        .maintainer_says("/greenlight refactor reduce the complexity in zones.py")
        .await;
    story
}

#[tokio::test]
async fn it_is_better_and_behaves_as_before() {
    let story = refactor(vec![write("zones.py", FLAT), submit()]).await;
    insta::assert_snapshot!(story.whole_review(), @"
    <!-- greenlight:review head=[commit] -->

    Zones are counted. (tested)

    **Measured** in the files that change:

    | | before | after |
    |---|---|---|
    | cyclomatic complexity, highest | 4 | 2 |
    | lines of the longest function | 11 | 2 |
    | duplicated lines | 0 | 0 |
    | lines of code | 11 | 2 |

    Most complex before: `zones.py: zone`.

    <details><summary>Evidence: 1 passed → 1 of 1 green, no new failures</summary>

    | | result | time |
    |---|---|---|
    | before | 1 passed | [time] |
    | after | 1 passed | [time] |

    No new failures: every test that passed before passes after.

    The model used 2 turns, [n] tokens, unknown cost.

    Tested with `python3 -m unittest discover`

    Digest `[digest]`

    </details>

    <sub>Patch `[digest]`.</sub>

    Commit the suggestions, or comment `/greenlight approve` (the comment below says exactly what that does).

    --- zones.py:2-11
    ```suggestion
        return sum(stops > limit for limit in (0, 10, 20))
    ```
    <!-- greenlight:suggestion id=[digest] -->
    ");
    let review = story.review().body;
    for part in [
        "| cyclomatic complexity, highest | 4 | 2 |",
        "Most complex before: `zones.py: zone`",
        "1 of 1 green",
    ] {
        assert!(review.contains(part), "{part}\n{review}");
    }
    assert!(
        story.sticky().contains("A tested refactoring for"),
        "{}",
        story.sticky()
    );
    story.maintainer_says("/greenlight approve").await;
    assert_eq!(story.file("zones.py"), FLAT);
    story.finish().await;
}

#[tokio::test]
async fn what_breaks_a_rule_is_sent_back() {
    let renamed = FLAT.replace("(stops)", "(stops, limits=None)");
    let wrong = FLAT.replace("20)", "21, 22)");
    let same = NESTED.replace("stops > 0", "stops >= 1");
    let turns = vec![
        write("test_zones.py", "import unittest\n"),
        write("other.py", "x = 2\n"),
        write("zones.py", &renamed),
        submit(),
        write("zones.py", &wrong),
        submit(),
        write("zones.py", &same),
        submit(),
        write("zones.py", FLAT),
        submit(),
    ];
    let story = refactor(turns).await;
    story.review();
    let results = story.model().results().join("\n");
    for part in ["a refactoring must not change tests", "is outside of the goal"] {
        assert!(results.contains(part), "{part}\n{results}");
    }
    let told = story.model().told();
    for part in [
        "public interface must not change: `zones.py` exports `zone(stops)`",
        "not green after it",
        "did not improve (cyclomatic complexity, highest: 4 before, 4 after",
    ] {
        assert!(told.contains(part), "{part}\n{told}");
    }
    story.finish().await;
}

#[tokio::test]
async fn red_tests_are_mended_first() {
    let story = Scene::default().model([]).begin().await;
    story.maintainer_says("/greenlight refactor tidy").await;
    insta::assert_snapshot!(story.whole_sticky(), @r#"
    <!-- greenlight:sticky -->
    🔴 **Refused.** The tests fail before the refactoring (1 failed, 1 passed): `test_fare.Fares.test_change_is_given`. Fix them first, for example with greenlight's `fix`

    Failing tests:

    - `test_fare.Fares.test_change_is_given` at `test_fare.py:11`: `AssertionError: 800 != 200`

    <details><summary>Messages</summary>

    `test_fare.Fares.test_change_is_given`

    ```text
    Traceback (most recent call last):
      File "/workspace/test_fare.py", line 11, in test_change_is_given
        self.assertEqual(change(500, 2), 200)
    AssertionError: 800 != 200
    ```

    </details>

    <sub>greenlight · run `[run]` · [commit]</sub>
    "#);
    let sticky = story.sticky();
    for part in ["Refused", "fail before the refactoring", "test_change_is_given"] {
        assert!(sticky.contains(part), "{part}\n{sticky}");
    }
    story.finish().await;
}
