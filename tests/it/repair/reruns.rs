//! Edits of Python code that runs while a module is loaded, tried by running that module again, if this has the same
//! effect as a new process.

use serde_json::json;

use super::warm_python::Harness;

/// Running a module again does not suffice if others hold objects that it made.
#[tokio::test]
async fn what_a_module_does_when_it_is_loaded_is_edited_without_loading_the_others_where_that_is_enough() {
    let shapes = "import re\n\nSIDES = [3, 5]\nNAME = 'squares'\nWORD = re.compile('[a-y]+')\n\n\nclass Shape:\n    \
                  corners = 3\n\n    def __init__(self, sides=3):\n        self.sides = sides\n\n\n\
                  def named(n, name=NAME):\n    return name * n\n\n\nTABLE = {n: named(n) for n in SIDES}\n";
    let used = "from shapes import *\nfrom shapes import SIDES as sides, NAME\n\n\n\
                with open('loaded', 'a') as file:\n    file.write('x')\n\n\ndef known():\n    return sides, NAME\n\n\n\
                def drawn():\n    return Shape().corners, Shape().sides, named(1), TABLE.get(4), bool(WORD.fullmatch('z'))\n";
    let edits = [
        ("[3, 5]", "[3, 4]"),
        ("'squares'", "'square'"),
        ("[a-y]", "[a-z]"),
        ("corners = 3", "corners = 4"),
        ("sides=3", "sides=4"),
        ("n in SIDES", "n in [4]"),
    ];
    let asserted = [
        "known()[0] == [3, 4]",
        "known()[1] == 'square'",
        "drawn()[4]",
        "drawn()[0] == 4",
        "drawn()[1] == 4",
        "drawn()[3]",
    ];
    // What holds an object of the module, and how often `used` is loaded then: initially, and for each try.
    for (held, is_enough) in [
        ("", true),
        (
            "\n\nclass Held(Shape):\n    pass\n\n\nHELD = [sides, named, WORD]\n",
            false,
        ),
    ] {
        for (number, (edit, asserted)) in edits.iter().zip(asserted).enumerate() {
            let test = format!(
                "from used import *\n\n\ndef test_it():\n    assert {asserted}\n\n\ndef test_other():\n    assert known()\n"
            );
            let used = format!("{used}{held}");
            let files = [
                ("shapes.py", shapes),
                ("used.py", &used),
                ("test_used.py", &test),
                ("loaded", ""),
            ];
            let mut harness = Harness::new(&files).await;
            let started = harness
                .start("pytest", &["test_used.py::test_it"], &["test_used.py::test_other"])
                .await;
            assert_eq!(started["failing"], json!(["test_used.py::test_it"]), "{started}");
            let wrong = edits[(number + 2) % edits.len()];
            let verdicts = harness.judge("shapes.py", &[*edit, wrong, (edit.0, "(")]).await;
            assert_eq!(verdicts, ["passes", "fails", "invalid"], "{edit:?}");
            let loaded = std::fs::read_to_string(harness.directory.path().join("loaded")).unwrap();
            assert_eq!(loaded.len() == 1, is_enough, "{edit:?}: {loaded}");
        }
    }
}

/// A project: its topic, its files, an edit that fixes it and an edit that does not.
struct Case {
    about: &'static str,
    files: &'static [(&'static str, &'static str)],
    path: &'static str,
    fault: &'static str,
    fix: &'static str,
    other: &'static str,
}

const CASES: &[Case] = &[
    Case {
        about: "another module made something of it",
        files: &[
            ("settings.py", "WAIT = 5\n"),
            (
                "client.py",
                "from settings import WAIT\nMS = WAIT * 1000\n\n\ndef ms():\n    return MS\n",
            ),
            (
                "test_it.py",
                "import client\n\n\ndef test_it():\n    assert client.ms() == 6000\n",
            ),
        ],
        path: "settings.py",
        fault: "5",
        fix: "6",
        other: "7",
    },
    Case {
        about: "it is the default of another module's parameter",
        files: &[
            ("settings.py", "WAIT = 5\n"),
            (
                "client.py",
                "import settings\n\n\ndef wait(n=settings.WAIT):\n    return n\n",
            ),
            (
                "test_it.py",
                "import client\n\n\ndef test_it():\n    assert client.wait() == 6\n",
            ),
        ],
        path: "settings.py",
        fault: "5",
        fix: "6",
        other: "7",
    },
    Case {
        about: "another name for it",
        files: &[
            ("settings.py", "WAIT = 5\n"),
            (
                "client.py",
                "from settings import WAIT as SECONDS\n\n\ndef wait():\n    return SECONDS\n",
            ),
            (
                "test_it.py",
                "import client\n\n\ndef test_it():\n    assert client.wait() == 6\n",
            ),
        ],
        path: "settings.py",
        fault: "5",
        fix: "6",
        other: "7",
    },
    Case {
        about: "others put something into it",
        files: &[
            (
                "commands.py",
                "KNOWN = {}\nPREFIX = 'a'\n\n\ndef command(f):\n    KNOWN[f.__name__] = f\n    return f\n\n\n\
                 def run(name):\n    return PREFIX + KNOWN[name]()\n",
            ),
            (
                "plugin.py",
                "from commands import command\n\n\n@command\ndef hi():\n    return 'hi'\n",
            ),
            (
                "test_it.py",
                "import commands, plugin\n\n\ndef test_it():\n    assert commands.run('hi') == 'bhi'\n",
            ),
        ],
        path: "commands.py",
        fault: "'a'",
        fix: "'b'",
        other: "'c'",
    },
    Case {
        about: "it puts itself into another module",
        files: &[
            (
                "hooks.py",
                "import functools\n\nALL = []\n\n\ndef hook(f):\n    @functools.wraps(f)\n    def called():\n        \
                 return f()\n\n    ALL.append(called)\n    return called\n",
            ),
            (
                "greet.py",
                "from hooks import hook\n\nWORD = 'a'\n\n\n@hook\ndef greet(word=WORD):\n    return word\n",
            ),
            (
                "test_it.py",
                "import greet, hooks\n\n\ndef test_it():\n    assert hooks.ALL[0]() == 'b'\n",
            ),
        ],
        path: "greet.py",
        fault: "'a'",
        fix: "'b'",
        other: "'c'",
    },
    Case {
        about: "somebody changed it afterwards",
        files: &[
            (
                "settings.py",
                "TESTING = False\nWORD = 'a'\n\n\ndef word():\n    return TESTING and WORD\n",
            ),
            ("conftest.py", "import settings\n\nsettings.TESTING = True\n"),
            (
                "test_it.py",
                "import settings\n\n\ndef test_it():\n    assert settings.word() == 'b'\n",
            ),
        ],
        path: "settings.py",
        fault: "'a'",
        fix: "'b'",
        other: "'c'",
    },
    Case {
        about: "the module itself is kept",
        files: &[
            ("fast.py", "BASE = 5\n\n\ndef base():\n    return BASE\n"),
            ("ways.py", "import fast\n\nWAYS = {'fast': fast}\n"),
            (
                "test_it.py",
                "import ways\n\n\ndef test_it():\n    assert ways.WAYS['fast'].base() == 6\n",
            ),
        ],
        path: "fast.py",
        fault: "5",
        fix: "6",
        other: "7",
    },
    Case {
        about: "a package that has no file of its own",
        files: &[
            ("inner/calc.py", "BASE = 5\n\n\ndef base():\n    return BASE\n"),
            (
                "test_it.py",
                "import inner.calc\n\n\ndef test_it():\n    assert inner.calc.base() == 6\n",
            ),
        ],
        path: "inner/calc.py",
        fault: "5",
        fix: "6",
        other: "7",
    },
    Case {
        about: "a package that passes it on",
        files: &[
            ("shop/__init__.py", "from .core import LIMIT, top\n"),
            (
                "shop/core.py",
                "LIMIT = 3\n\n\ndef top():\n    from .low import low\n\n    return low()\n",
            ),
            (
                "shop/low.py",
                "def low():\n    from .core import LIMIT\n\n    return LIMIT\n",
            ),
            (
                "test_it.py",
                "import shop\n\n\ndef test_it():\n    assert (shop.top(), shop.LIMIT) == (4, 4)\n",
            ),
        ],
        path: "shop/core.py",
        fault: "3",
        fix: "4",
        other: "5",
    },
    Case {
        about: "another module has the same value under the same name",
        files: &[
            ("one.py", "BASE = 0\n\n\ndef base():\n    return BASE\n"),
            ("two.py", "BASE = 0\n"),
            ("three.py", "from two import BASE\n\n\ndef base():\n    return BASE\n"),
            (
                "test_it.py",
                "import one, three\n\n\ndef test_it():\n    assert (one.base(), three.base()) == (1, 0)\n",
            ),
        ],
        path: "one.py",
        fault: "0",
        fix: "1",
        other: "2",
    },
    Case {
        about: "a script that no module is made of",
        files: &[
            ("bin/tool.py", "WORD = 'a'\n\n\ndef word():\n    return WORD\n"),
            (
                "test_it.py",
                "import importlib.util\n\nspec = importlib.util.spec_from_file_location('tool', 'bin/tool.py')\n\
                 tool = importlib.util.module_from_spec(spec)\nspec.loader.exec_module(tool)\n\n\n\
                 def test_it():\n    assert tool.word() == 'b'\n",
            ),
        ],
        path: "bin/tool.py",
        fault: "'a'",
        fix: "'b'",
        other: "'c'",
    },
    Case {
        about: "a script that only another program runs",
        files: &[
            ("cli.py", "WORD = 'a'\nprint(WORD)\n"),
            (
                "test_it.py",
                "import subprocess, sys\n\n\ndef test_it():\n    \
                 assert subprocess.check_output([sys.executable, 'cli.py']) == b'b\\n'\n",
            ),
        ],
        path: "cli.py",
        fault: "'a'",
        fix: "'b'",
        other: "'c'",
    },
    Case {
        about: "what a fixture of the module made stays until its last test",
        files: &[
            ("sides.py", "SIDES = [3, 5]\n\n\ndef sides():\n    return list(SIDES)\n"),
            (
                "test_it.py",
                "import pytest\nimport sides\n\n\n@pytest.fixture(scope='module')\ndef made():\n    \
                 return sides.sides()\n\n\ndef test_it(made):\n    assert made == [3, 4]\n\n\n\
                 def test_more(made):\n    assert made[1] == 4\n",
            ),
        ],
        path: "sides.py",
        fault: "5",
        fix: "4",
        other: "6",
    },
    Case {
        about: "an object remembers what it was told",
        files: &[
            ("sides.py", "def side():\n    return 5\n"),
            (
                "box.py",
                "import sides\n\n\nclass Box:\n    def __init__(self):\n        self.known = {}\n\n    def side(self):\n        \
                 if 'side' not in self.known:\n            self.known['side'] = sides.side()\n        \
                 return self.known['side']\n\n\nBOX = Box()\n",
            ),
            (
                "test_it.py",
                "import box\n\n\ndef test_it():\n    assert box.BOX.side() == 4\n",
            ),
        ],
        path: "sides.py",
        fault: "5",
        fix: "4",
        other: "6",
    },
];

#[tokio::test]
async fn an_edit_is_judged_as_if_all_were_loaded_with_it() {
    for case in CASES {
        let mut files = case.files.to_vec();
        files.push(("test_other.py", "def test_other():\n    pass\n"));
        let mut harness = Harness::new(&files).await;
        let named = |path: &str, test: &str| format!("{path}::{test}");
        let mut failing = vec![named("test_it.py", "test_it")];
        if case.files.iter().any(|(_, text)| text.contains("def test_more")) {
            failing.push(named("test_it.py", "test_more"));
        }
        let failing: Vec<&str> = failing.iter().map(String::as_str).collect();
        let started = harness.start("pytest", &failing, &["test_other.py::test_other"]).await;
        assert_eq!(
            started["failing"].as_array().unwrap().len(),
            failing.len(),
            "{}: {started}",
            case.about
        );
        // The wrong edit first: its leftovers must not spoil the right one.
        let edits = [
            (case.fault, case.other),
            (case.fault, case.fix),
            (case.fault, case.other),
        ];
        let verdicts = harness.judge(case.path, &edits).await;
        assert_eq!(verdicts, ["fails", "passes", "fails"], "{}", case.about);
    }
}
