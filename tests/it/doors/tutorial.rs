//! The tutorial, played as it is written: its files, its commands, and what it says that they print.

use super::{Door, written};

const TUTORIAL: &str = include_str!("../../../docs/tutorial.md");

/// The code blocks in this language.
fn blocks(language: &str) -> Vec<&'static str> {
    let blocks = TUTORIAL.split("```").skip(1).step_by(2);
    blocks
        .filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n'))
        .collect()
}

#[tokio::test]
async fn the_first_fix_is_found_as_the_tutorial_says() {
    let [program, test] = blocks("python").try_into().unwrap();
    let project = written(&[("fare.py", program.as_bytes()), ("test_fare.py", test.as_bytes())]);
    let door = Door::new();
    let run = async |command: &str, more: &[&str]| {
        let words = command.trim().split(' ').skip(1).chain(more.iter().copied());
        let mut command = door.command(words);
        super::ended(command.current_dir(project.path()).spawn().unwrap()).await
    };
    let commands = blocks("bash");
    let [_, doctor, tests, fix] = commands.as_slice() else {
        panic!("{commands:?}")
    };
    let doctor = run(doctor, &[]).await.with(0);
    assert!(doctor.out.contains("usable"), "{doctor:?}");
    let failed = run(tests, &[]).await.with(1);
    let printed = blocks("text")[0].trim();
    assert!(
        failed.out.contains(printed) || failed.err.contains(printed),
        "{failed:?}"
    );
    // Nobody is there to say `y`.
    let fixed = run(fix, &["--yes"]).await.with(0);
    for line in blocks("diff")[0].lines() {
        assert!(
            fixed.out.contains(line) || fixed.err.contains(line),
            "{line}: {fixed:?}"
        );
    }
    run(tests, &[]).await.with(0);
    let now = std::fs::read_to_string(project.path().join("fare.py")).unwrap();
    assert_eq!(now, program.replace("paid + fare(stops)", "paid - fare(stops)"));
}
