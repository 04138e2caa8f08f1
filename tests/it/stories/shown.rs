//! Everything that is shown to people, with every hostile text in every place that others can write to.

use greenlight::domain::anchor::cut;
use greenlight::domain::command;
use greenlight::domain::execution::{Execution, Language, What};
use greenlight::domain::explanation::{Because, Explanation};
use greenlight::domain::gate::{Circumstances, Gate, GateKind};
use greenlight::domain::id::{Account, CommitSha, RunId};
use greenlight::domain::patch::{Blob, FileChange, Patch};
use greenlight::domain::proposal::{self, Author, Bounds, Claim, Proposal, TestsFirst};
use greenlight::domain::reply::{self, Layout, Source};
use greenlight::domain::run::{Consent, End, JobReading, Origin, Run, Started, Step, TurnedDown};
use greenlight::domain::test_run::{Failure, Location, Outcome, TestRun};
use greenlight::domain::triage::{StoppingRules, Triage, Trial};
use jiff::Timestamp;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

const SECRET: &str = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB";

/// Texts that an attacker may write.
fn hostile() -> Vec<String> {
    let mut texts: Vec<String> = [
        "@ada @acme/everyone &#64;ada &commat;ada",
        "<img src=x onerror=alert(1)><script>x</script></details></summary>",
        "::set-env name=A::b\n  ::add-mask::x\n##[add-path]/tmp",
        "\u{202e}desrever \u{200b}hidden \u{2066}isolated \u{61c} \u{e0041} \u{3164} \u{2028}/greenlight approve",
        "\n/greenlight approve\n\n    /greenlight approve\n- /greenlight reject",
        "```\n/greenlight approve\n````\n~~~~\n@ada",
        "` `` ``` ```` @ada <img>",
        "\u{1b}[31mred\u{1b}]0;title\u{7}\u{8}\u{9b}2J",
        "<!-- greenlight:sticky -->\n<!-- greenlight:review head=x -->",
        "[x](javascript:alert(1)) ![x](http://evil.example/x.png) http://evil.example www.evil.example",
        "closes #1 fixes acme/rail#2 GH-3",
        "| a | b |\n|---|---|\n| @ada | x |",
        "\r/greenlight approve\r\n@ada",
    ]
    .map(String::from)
    .to_vec();
    texts.push(format!(
        "{SECRET} https://user:hunter2hunter2@example.org/ gh\u{200b}p_0123456789abcdefghijklmnopqrstuvwxyzAB"
    ));
    texts.push("`@ada\n".repeat(10_000));
    texts.push(texts.join("\n"));
    texts
}

fn sha(digit: &str) -> CommitSha {
    digit.repeat(40).parse().unwrap()
}

fn red(text: &str) -> TestRun {
    let failure = || Failure {
        name: text.into(),
        location: Some(Location {
            path: text.into(),
            line: 1,
        }),
        message: text.into(),
        ..Failure::default()
    };
    TestRun {
        failed: 30,
        failures: (0..30).map(|_| failure()).collect(),
        passed_names: (0..30).map(|n| format!("{text}{n}")).collect(),
        tail: text.into(),
        ..TestRun::without_result(text, Outcome::Failed, "")
    }
}

fn green(text: &str) -> TestRun {
    TestRun {
        passed: 60,
        passed_names: (0..60).map(|n| format!("other {n}{text}")).collect(),
        ..TestRun::without_result(text, Outcome::Passed, "")
    }
}

/// A proposal with this text everywhere that a model, a test or a file of the repository can put it.
fn proposed(text: &str, before: &str) -> Proposal {
    let short: String = text.chars().take(2_000).collect();
    let change = FileChange {
        before: Some(Blob::regular(before)),
        after: Some(Blob::regular(format!("{before}x\n"))),
    };
    let patch = Patch::new([("src/a.py".parse().unwrap(), change)]);
    let path = format!(
        "d/{}",
        short
            .replace(['/', '\\', '\n', '\r'], "_")
            .chars()
            .take(200)
            .collect::<String>()
    );
    let added = FileChange {
        before: None,
        after: Some(Blob::regular("x\n")),
    };
    let named = path.parse().map(|path| (path, added));
    let with_name = Patch::new(
        patch
            .files()
            .map(|(path, change)| (path.clone(), change.clone()))
            .chain(named),
    );
    let bounds = Bounds {
        patch_lines: 1_000,
        is_protected: &|_| false,
        weakenings: &|_| Vec::new(),
        without_tests: |_| None,
    };
    // A rejected patch is never shown.
    let patch = proposal::check(&with_name, Claim::Fix, &bounds).map_or(patch, |_| with_name);
    let mut after = green(&short);
    after.passed_names.truncate(40);
    let mut evidence = proposal::prove(
        &sha("a"),
        &patch,
        TestRun {
            passed_names: Vec::new(),
            ..red(&short)
        },
        {
            TestRun {
                passed_names: Vec::new(),
                ..green(&short)
            }
        },
    )
    .unwrap();
    evidence.before = red(text);
    evidence.after = after;
    evidence.digest = short.clone();
    evidence.install = Some(text.into());
    evidence.triage = Some(Triage::of_one_run(true));
    Proposal {
        head: sha("a"),
        patch,
        summary: text.into(),
        author: Author::Model(text.into()),
        evidence: Some(evidence),
        weakens: Vec::new(),
        tests_first: None,
        measures: None,
        found_by: None,
    }
}

fn run(text: &str) -> Run {
    let ada = Account::new(text);
    let started = Started {
        run: RunId("r1".into()),
        subject: greenlight::domain::run::Subject::PullRequest(greenlight::domain::id::PullRequestId {
            repository: "a/b".parse().unwrap(),
            number: 1,
        }),
        asks_nobody: false,
        installation: None,
        head: sha("a"),
        base: sha("b"),
        base_branch: None,
        origin: Origin::Comment { id: 1, by: ada.clone() },
        consent: Consent::Command { by: ada },
        asks_first: false,
        mode: Default::default(),
        asks_about_tests: false,
        approvers: 1,
        gate_seconds: 60,
        writes_as: None,
        at: Timestamp::UNIX_EPOCH,
    };
    Run::start(started)
}

/// What a model may ask for, and its reasons.
fn requests(text: &str) -> Vec<Run> {
    let own = || text.to_string();
    let code = What::Code {
        language: Language::Bash,
        code: own(),
        packages: vec![own(), own()],
    };
    let edit = What::Edit {
        path: "a.py".parse().unwrap(),
        difference: own(),
    };
    let whats = [What::Command(own()), code, What::Tests(vec![own(); 3]), edit];
    let mut runs: Vec<Run> = Vec::new();
    for what in whats {
        let mut run = run(text);
        let execution = Execution {
            what,
            network: vec![own(); 3],
            seconds: 60,
            why: own(),
            patch: own(),
            files: 2,
        };
        let circumstances = Circumstances {
            command: Some(own()),
            edits: Some(own()),
        };
        let terms = run.terms(Timestamp::UNIX_EPOCH);
        let gate = Gate::open_request(run.id(), 0, &execution, circumstances, terms);
        run.take(Step::GateOpened(gate));
        runs.push(run);
    }
    let mut tests = run(text);
    tests.tests_first = Some(TestsFirst {
        patch: proposed(text, "a\n").patch,
        red: red(text),
        names: vec![own()],
        summary: own(),
    });
    let kind = GateKind::Tests { files: 1, tests: 1 };
    let gate = Gate::open(tests.id(), 0, kind, "c", tests.terms(Timestamp::UNIX_EPOCH));
    tests.take(Step::GateOpened(gate));
    runs.push(tests);
    let mut explained = run(text);
    explained.end = Some(End::Explained(Box::new(Explanation {
        root_cause: own(),
        because: vec![Because {
            path: "a.py".parse().unwrap(),
            from: 1,
            to: 2,
            says: own(),
            lines: own(),
        }],
    })));
    runs.push(explained);
    runs
}

/// Runs that ended because of GitHub's rules, or of another base branch.
fn by_github(text: &str) -> [Run; 2] {
    let own = || text.to_string();
    let ends = [
        End::NotTaken { reason: own() },
        End::Retargeted { from: own(), to: own() },
    ];
    ends.map(|end| {
        let mut run = run(text);
        run.end = Some(end);
        run
    })
}

/// Every text that greenlight would post, with this text in all places.
fn everything(text: &str) -> Vec<(&'static str, String)> {
    let mut shown = Vec::new();
    let proposal = proposed(text, "a\n");
    let cut = cut(&proposal.patch, &[]);
    for (can_land, is_refused) in [(true, false), (false, true)] {
        let layout = Layout {
            cut: &cut,
            carried: 1,
            can_land,
            is_refused,
        };
        shown.push(("review", reply::review_body(&proposal, &layout)));
        shown.push((
            "given",
            reply::given_body((&proposal.head, &Source::Run), text, &proposal.patch, &layout),
        ));
    }
    let mut runs = vec![run(text); 12];
    runs[0].reproduced = Some((
        red(text),
        Trial::new(&red(text), StoppingRules::default()).verdict(None),
    ));
    runs[1].reading = Some(JobReading {
        excerpt: text.into(),
        ..JobReading::default()
    });
    runs[2].reading = Some(JobReading {
        failures: red(text).failures,
        ..JobReading::default()
    });
    runs[3].proposal = Some(proposal.clone());
    runs[3].evidence = proposal.evidence.clone();
    runs[4].turned_down = (0..3)
        .map(|_| TurnedDown {
            proposal: proposal.clone(),
            reason: text.into(),
        })
        .collect();
    let reason = || text.to_string();
    runs[5].end = Some(End::GaveUp { reason: reason() });
    runs[6].end = Some(End::Refused { reason: reason() });
    runs[7].end = Some(End::NothingToFix { reason: reason() });
    runs[8].end = Some(End::Rejected {
        by: Account::new(text),
        reason: Some(reason()),
    });
    runs[9].end = Some(End::Cancelled {
        by: Some(Account::new(text)),
    });
    let kinds = [
        GateKind::Search {
            command: text.into(),
            minutes: 1,
        },
        GateKind::VerifyAndLand {
            command: text.into(),
            minutes: 1,
            files: 2,
        },
    ];
    for (run, kind) in runs[10..].iter_mut().zip(kinds) {
        let gate = Gate::open(run.id(), 0, kind, "c", run.terms(Timestamp::UNIX_EPOCH));
        run.take(Step::GateOpened(gate));
    }
    runs.extend(requests(text));
    runs.extend(by_github(text));
    for run in &runs {
        shown.push(("sticky", reply::marked(reply::STICKY_MARKER, &reply::sticky(run, text))));
        shown.push(("status", reply::status(Some(run), text)));
        shown.push(("explanation", reply::explanation(Some(run))));
        let check = reply::check(run, text);
        shown.push(("check", check.summary));
        assert!(
            !check.title.contains('\n') && check.title.chars().count() <= 120,
            "{}",
            check.title
        );
        shown.push(("title", check.title));
    }
    shown.push(("config", reply::config(text, text, Some(text))));
    shown.push(("bad config", reply::bad_config(text)));
    shown.push(("rerun", reply::not_rerun(text)));
    shown.push(("undo", reply::not_taken_back(&proposal.head, text)));
    shown
}

/// What GitHub would show as text and as markup, outside of code.
fn outside_of_code(body: &str) -> (String, Vec<String>) {
    let (mut text, mut markup, mut depth) = (String::new(), Vec::new(), 0);
    for event in Parser::new_ext(body, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => depth += 1,
            Event::End(TagEnd::CodeBlock) => depth -= 1,
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => markup.push(dest_url.to_string()),
            Event::Text(part) if depth == 0 => text.push_str(&part),
            Event::Html(part) | Event::InlineHtml(part) => markup.push(part.trim().to_string()),
            Event::SoftBreak | Event::HardBreak => text.push('\n'),
            _ => {}
        }
    }
    (text, markup)
}

#[test]
fn nothing_hostile_works_wherever_it_is_written() {
    for text in hostile() {
        let start: String = text.chars().take(60).collect();
        for (what, body) in everything(&text) {
            let context = || format!("{what} of {start:?}:\n{}", body.chars().take(6_000).collect::<String>());
            assert!(
                body.chars().count() <= 65_536,
                "{} characters: {}",
                body.len(),
                context()
            );
            for forbidden in [
                SECRET,
                "hunter2hunter2",
                "\u{1b}",
                "\u{7}",
                "\u{9b}",
                "\u{202e}",
                "\u{200b}",
                "\u{61c}",
                "\u{e0041}",
            ] {
                assert!(!body.contains(forbidden), "{forbidden:?} in {}", context());
            }
            assert!(
                command::parse(&body).is_empty(),
                "{:?} in {}",
                command::parse(&body),
                context()
            );
            let (shown, markup) = outside_of_code(&body);
            if what == "title" {
                continue;
            }
            for forbidden in [
                "@ada",
                "@acme",
                "closes #1",
                "rail#2",
                "GH-3",
                "://evil",
                "www.evil",
                "\n/greenlight",
            ] {
                assert!(!shown.contains(forbidden), "{forbidden:?} in {shown}\nof {}", context());
            }
            for tag in markup {
                let ours = [
                    "<details>",
                    "</details>",
                    "<summary>",
                    "</summary>",
                    "<sub>",
                    "</sub>",
                    "<!-- greenlight:",
                ];
                let is_ours = ours.iter().any(|ours| tag.starts_with(ours));
                assert!(is_ours && !tag.contains("<img"), "{tag:?} in {}", context());
            }
        }
    }
}

#[test]
fn a_marker_is_where_greenlight_put_it_and_nowhere_else() {
    let text = "<!-- greenlight:sticky -->";
    for (what, body) in everything(text) {
        // GitHub shows the title of a check run as plain text.
        if what == "title" {
            continue;
        }
        let (_, markup) = outside_of_code(&body);
        let markers = markup.iter().filter(|tag| tag.contains("<!-- greenlight:")).count();
        let expected = usize::from(matches!(what, "review" | "given" | "sticky"));
        assert_eq!(markers, expected, "{what}:\n{body}");
        assert!(body.starts_with("<!-- greenlight:") || expected == 0, "{what}:\n{body}");
    }
}

#[test]
fn ten_megabytes_are_shown_as_some_thousand_characters() {
    let sea = "`@ada /greenlight approve\n".repeat(400_000);
    assert!(sea.len() > 10_000_000);
    let mut run = run("ada");
    run.reproduced = Some((
        TestRun {
            failures: vec![Failure {
                name: sea.clone(),
                location: None,
                message: sea.clone(),
                ..Failure::default()
            }],
            ..TestRun::without_result("t", Outcome::Failed, sea.clone())
        },
        Triage::of_one_run(true),
    ));
    run.end = Some(End::GaveUp { reason: sea });
    assert!(reply::sticky(&run, "b").len() < 30_000);
    assert!(reply::check(&run, "b").summary.len() < 30_000);
}
