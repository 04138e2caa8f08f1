//! Gates: the digest, which gate a command means, and validity.

use super::*;
use crate::domain::execution::{Language, What};

fn head(digit: char) -> CommitSha {
    digit.to_string().repeat(40).parse().unwrap()
}

fn terms() -> Terms {
    Terms {
        head: head('a'),
        approvers: 1,
        opened: "2026-01-01T00:00:00Z".parse().unwrap(),
        expires: "2026-01-02T00:00:00Z".parse().unwrap(),
    }
}

fn gate(content: &str) -> Gate {
    Gate::open(&RunId("r1".into()), 0, GateKind::Land { files: 1 }, content, terms())
}

#[test]
fn the_digest_is_bound_to_content_and_head() {
    assert_eq!(gate("x").digest, gate("x").digest);
    assert_eq!(gate("x").id, gate("x").id);
    assert_ne!(gate("x").digest, gate("y").digest);
    assert!(gate("x").id.to_string().parse::<GateId>().is_ok());
}

#[test]
fn without_an_id_the_only_open_gate_is_meant() {
    let (one, two) = (gate("x"), gate("y"));
    assert_eq!(choose(&[], None), Err(Refusal::NothingOpen));
    assert_eq!(choose(std::slice::from_ref(&one), None), Ok(&one));
    assert_eq!(
        choose(&[one.clone(), two.clone()], None),
        Err(Refusal::SeveralOpen(vec![one.id.clone(), two.id.clone()]))
    );
    assert_eq!(choose(&[one.clone(), two.clone()], Some(&two.id)), Ok(&two));
    let kind = GateKind::ChangeTests {
        files: 1,
        weakenings: 1,
    };
    let tests = Gate { kind, ..one };
    let named = Some(&tests.id);
    assert_eq!(
        choose(std::slice::from_ref(&tests), None),
        Err(Refusal::WantsItsName(tests.id.clone()))
    );
    assert_eq!(choose(std::slice::from_ref(&tests), named), Ok(&tests));
}

#[test]
fn a_push_or_the_clock_voids_it() {
    let early = "2026-01-01T00:00:00Z".parse().unwrap();
    let late = "2026-01-02T00:00:00Z".parse().unwrap();
    assert_eq!(still_valid(&gate("x"), &head('a'), early), Ok(()));
    assert!(matches!(
        still_valid(&gate("x"), &head('b'), early),
        Err(Refusal::HeadMoved { .. })
    ));
    assert!(matches!(
        still_valid(&gate("x"), &head('a'), late),
        Err(Refusal::Expired(_))
    ));
}

#[test]
fn every_byte_of_a_request_is_in_its_digest() {
    let execution = Execution {
        what: What::Code {
            language: Language::Python,
            code: "print(1)".into(),
            packages: vec!["numpy".into()],
        },
        network: vec!["pypi.org".into()],
        seconds: 60,
        why: "to see".into(),
        patch: "p".into(),
        files: 1,
    };
    let circumstances = Circumstances {
        command: Some("pip install -e . && pytest".into()),
        edits: Some("+x".into()),
    };
    let digest = |execution: &Execution, circumstances: &Circumstances| {
        Gate::open_request(&RunId("r1".into()), 0, execution, circumstances.clone(), terms()).digest
    };
    let what = |code: &str, language, package: &str| What::Code {
        language,
        code: code.into(),
        packages: vec![package.into()],
    };
    let with = |change: &dyn Fn(&mut Execution)| {
        let mut other = execution.clone();
        change(&mut other);
        digest(&other, &circumstances)
    };
    let mut digests = vec![
        digest(&execution, &circumstances),
        with(&|other| other.what = what("print(2)", Language::Python, "numpy")),
        with(&|other| other.what = what("print(1)", Language::Bash, "numpy")),
        with(&|other| other.what = what("print(1)", Language::Python, "numpi")),
        with(&|other| other.what = What::Command("print(1)".into())),
        with(&|other| other.network.push("evil.example".into())),
        with(&|other| other.seconds = 61),
        with(&|other| other.why = "to know".into()),
        with(&|other| other.patch = "q".into()),
        with(&|other| other.files = 2),
    ];
    for (command, edits) in [
        (None, Some("+x")),
        (Some("pytest"), Some("+x")),
        (Some("pip install -e . && pytest"), None),
    ] {
        let other = Circumstances {
            command: command.map(str::to_string),
            edits: edits.map(str::to_string),
        };
        digests.push(digest(&execution, &other));
    }
    let all = digests.len();
    digests.sort();
    digests.dedup();
    assert_eq!(digests.len(), all);
    assert_eq!(
        digest(&execution, &circumstances),
        digest(&execution.clone(), &circumstances.clone())
    );
}
