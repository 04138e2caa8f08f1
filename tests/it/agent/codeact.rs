//! A model without tools: it acts through code in an interpreter, in the real sandbox.

use futures::FutureExt as _;
use greenlight::agent::{self, Exit, Item, LimitKind, Recorded, Reply, Shell, Speech, Transcript};
use greenlight::checkout::Checkout;
use greenlight::domain::execution::What;
use greenlight::domain::id::RepoPath;
use greenlight::domain::proposal::Bounds;

use super::executed::scene;
use super::{FIXED, Scene, gave_up, submitted, transcript};

fn says(text: &str) -> Reply {
    Reply {
        text: Some(text.into()),
        ..Reply::default()
    }
}

fn blocks(texts: &[&str]) -> Vec<Reply> {
    texts.iter().map(|text| says(text)).collect()
}

const END: &str = "<execute>submit('x', no_fix=True)</execute>";

/// A shell with default settings for callers that do not care how the model acts.
fn shell(scene: &Scene) -> Shell<'_> {
    let bounds = Bounds {
        patch_lines: 20,
        is_protected: &|path: &RepoPath| path.as_str().starts_with(".github/"),
        weakenings: &|_| Vec::new(),
        without_tests: |_| None,
    };
    let checkout = Checkout::open(scene.repository.path()).unwrap();
    Shell::new(checkout, scene.tests.clone(), bounds, scene.limits)
}

/// Runs on a scene that may ask a person. Returns how it ended, the diff, and the journaled items.
async fn run(scene: &Scene, replies: Vec<Reply>, transcript: &mut Transcript) -> (Exit, String, Vec<Item>) {
    let mut shell = shell(scene);
    shell.speech = Speech::Code;
    shell.may_ask = 1;
    let journaled = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let kept = std::sync::Arc::clone(&journaled);
    let mut journal = move |item: Item| {
        kept.lock().unwrap().push(item);
        async { Ok(()) }.boxed()
    };
    let model = Recorded::new(replies);
    let exit = agent::run(&model, &mut shell, transcript, &mut journal, &scene.cancel)
        .await
        .unwrap();
    let items = journaled.lock().unwrap().clone();
    (exit, shell.checkout.patch().unified(), items)
}

/// The result of each block.
fn results(transcript: &Transcript) -> Vec<&str> {
    let texts = transcript.items().iter().filter_map(|item| match item {
        Item::Result { call_id, text, .. } if !call_id.contains('.') => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

const FIX: [&str; 4] = [
    "Let me look.\n<execute>\nimport shop\ntext = read_file('shop.py')\nprint(text)\nseen = len(text)\n</execute>",
    "<execute>\nresult = edit_file('shop.py', 'prices[1:]', 'prices')\nopen('shop.py').read()\n</execute>\n\
     <execute lang=\"bash\">N=41; echo $((N + 1))</execute>\n<execute lang=\"javascript\">let n = 6 * 7; n</execute>",
    "<execute>\nprint(seen > 0, run_tests())\n</execute><execute lang=\"bash\">echo $N; cat shop.py</execute>",
    "<execute>submit('The range included its end; it no longer does.')\nread_file('shop.py')</execute>",
];

#[tokio::test]
async fn a_model_without_tools_fixes_what_it_sees_fail() {
    let (scene, workspaces) = scene().await;
    let mut transcript = transcript();
    let (exit, diff, _) = run(&scene, blocks(&FIX), &mut transcript).await;

    assert_eq!(exit, submitted(), "{:?}", results(&transcript));
    assert!(
        diff.ends_with("-    return sum(prices[1:])\n+    return sum(prices)\n"),
        "{diff}"
    );
    let results = results(&transcript);
    insta::assert_snapshot!(results[..3].join("\n"), @r"
    Printed:
    ```text
    1	def total(prices):
    2	    return sum(prices[1:])
    ```
    Value:
    ```text
    'def total(prices):\n    return sum(prices)\n'
    ```
    Printed:
    ```text
    42
    ```
    ");
    assert_eq!(results[3], "Value:\n```text\n42\n```");
    assert_eq!(
        results[4],
        "Printed:\n```text\nTrue `python3 -m unittest discover`: 2 passed.\n```"
    );
    assert!(
        results[5].contains("41\ndef total(prices):\n    return sum(prices)\n"),
        "{}",
        results[5]
    );
    assert!(results[6].contains("not done: the run ended"), "{}", results[6]);
    assert_eq!(std::fs::read_dir(workspaces.path()).unwrap().count(), 0);
    assert_eq!(FIXED, "The range included its end; it no longer does.");
}

#[tokio::test]
async fn a_run_by_code_cut_after_any_item_ends_the_same() {
    let (scene, _workspaces) = scene().await;
    let mut whole = transcript();
    let (exit, diff, _) = run(&scene, blocks(&FIX), &mut whole).await;
    let items = whole.items();
    for kept in 1..=items.len() {
        let said = items[..kept]
            .iter()
            .filter(|item| matches!(item, Item::Reply(_)))
            .count();
        let json = serde_json::to_string(&items[..kept]).unwrap();
        let mut transcript: Transcript = serde_json::from_str(&json).unwrap();
        let (resumed, resumed_diff, journaled) = run(&scene, blocks(&FIX[said..]), &mut transcript).await;
        assert_eq!((&resumed, &resumed_diff), (&exit, &diff), "cut after {kept} items");
        // If the cut is inside the last block, the rest of the block is not executed, and the model is told so.
        if kept < items.len() - 1 {
            assert_eq!(transcript.items(), items, "cut after {kept} items");
            assert_eq!(journaled, items[kept..], "cut after {kept} items");
        }
    }
}

#[tokio::test]
async fn a_block_goes_on_with_the_answer_of_a_person() {
    let (scene, _workspaces) = scene().await;
    let mut transcript = transcript();
    let replies = [
        "<execute>import os\nstate = ['kept', os.getpid() > 0]\nwrite_file('new.py', 'x = \
         1\\n')\nprint('before')</execute>",
        "<execute>print(os.path.exists('new.py'))\nanswer = request_execution(command='cat new.py', minutes=1, \
         why='to see')\nprint(state, answer)</execute>",
    ];
    let (exit, _, _) = run(&scene, blocks(&replies), &mut transcript).await;
    let Exit::Deferred(deferred) = exit else {
        panic!("{exit:?}: {:?}", results(&transcript))
    };
    assert_eq!(deferred.execution.what, What::Command("cat new.py".into()));
    assert_eq!(deferred.execution.files, 1);
    transcript.push(Item::Result {
        call_id: deferred.call_id,
        text: agent::prompt::rejected(Some("not today")),
        exit: None,
        granted: false,
    });

    let again = "<execute>print(request_execution(command='cat new.py', minutes=1, why='please'))</execute>";
    let (exit, diff, _) = run(&scene, blocks(&[again, END]), &mut transcript).await;
    gave_up(&exit);
    assert!(diff.contains("+x = 1"), "{diff}");
    let results = results(&transcript);
    assert!(
        results[1].contains("True\n['kept', True] rejected by a maintainer"),
        "{}",
        results[1]
    );
    assert!(results[1].contains("not today"), "{}", results[1]);
    assert!(results[2].contains("not asked again"), "{}", results[2]);
}

#[tokio::test]
async fn a_request_of_a_block_is_carried_out_on_the_edits_of_blocks() {
    let (scene, _workspaces) = scene().await;
    scene.file(".github/workflows/ci.yml", "on: push\n");
    let mut transcript = transcript();
    let replies = [
        "<execute>write_file('new.py', 'x = 1\\n')</execute>",
        "<execute>\nedit_file('shop.py', 'prices[1:]', 'prices')\n\
         print(edit_file('.github/workflows/ci.yml', 'push', 'pull_request'))\n\
         print(open('.github/workflows/ci.yml').read(), open('new.py').read())</execute>",
    ];
    let (exit, _, _) = run(&scene, blocks(&replies), &mut transcript).await;
    let Exit::Deferred(deferred) = exit else {
        panic!("{exit:?}: {:?}", results(&transcript))
    };
    assert!(matches!(&deferred.execution.what, What::Edit { .. }), "{deferred:?}");
    let mut other = shell(&scene);
    let text = agent::carry_out(&mut other, &transcript, &deferred.execution, &scene.cancel)
        .await
        .unwrap();
    assert!(text.starts_with("approved: "), "{text}");
    transcript.push(Item::Result {
        call_id: deferred.call_id,
        text,
        exit: None,
        granted: true,
    });
    let edits = agent::edits(&mut other, &transcript);
    assert_eq!(edits.paths().count(), 3);

    let (exit, diff, _) = run(&scene, blocks(&[END]), &mut transcript).await;
    gave_up(&exit);
    assert_eq!(diff, edits.unified());
    let results = results(&transcript);
    assert!(
        results[1].contains("approved: ") && results[1].contains("on: pull_request\n x = 1"),
        "{}",
        results[1]
    );
}

#[tokio::test]
async fn what_a_block_edited_outlives_its_interpreter() {
    let (scene, _workspaces) = scene().await;
    let dies = "<execute>\nx = 1\nwrite_file('new.py', 'x = 1\\n')\nedit_file('shop.py', 'prices[1:]', 'prices')\n\
                import os\nos._exit(3)</execute>";
    let looks = "<execute>print(read_file('new.py'), open('shop.py').read())\nx</execute>";
    let mut transcript = transcript();
    let (exit, diff, _) = run(&scene, blocks(&[dies, looks, looks, END]), &mut transcript).await;
    gave_up(&exit);
    assert!(
        diff.contains("+x = 1") && diff.contains("+    return sum(prices)"),
        "{diff}"
    );
    let results = results(&transcript);
    assert!(
        results[0].starts_with("The state of all blocks is lost"),
        "{}",
        results[0]
    );
    for looked in &results[1..3] {
        assert!(
            looked.contains("sum(prices)") && looked.contains("NameError"),
            "{looked}"
        );
    }
}

#[tokio::test]
async fn a_limit_while_state_is_made_again_leaves_every_edit() {
    let (mut scene, _workspaces) = scene().await;
    let mut first = transcript();
    let replies = ["<execute>x = 0\nwrite_file('new.py', 'y = 1\\n')</execute>", END];
    run(&scene, blocks(&replies), &mut first).await;
    // Pretend that the block was fast the first time.
    let json = serde_json::to_string(&first.items()[..5]).unwrap();
    let mut slow: Transcript = serde_json::from_str(&json.replace("x = 0", "while True: pass")).unwrap();
    scene.limits.wall = std::time::Duration::from_secs(1);
    let (exit, diff, _) = run(&scene, blocks(&[END]), &mut slow).await;
    assert_eq!(exit, Exit::Limit(LimitKind::Wall));
    assert!(diff.contains("+y = 1"), "{diff}");
}

#[tokio::test]
async fn code_that_does_not_repeat_itself_loses_its_state_and_is_told() {
    let (scene, _workspaces) = scene().await;
    let mut first = transcript();
    let replies = ["<execute>x = 1\nprint(read_file('shop.py'))</execute>", END];
    run(&scene, blocks(&replies), &mut first).await;
    // Pretend that the block called something else.
    let json = serde_json::to_string(&first.items()[..4]).unwrap();
    let mut other: Transcript = serde_json::from_str(&json.replace("shop.py\\\"}", "other.py\\\"}")).unwrap();
    other.push(Item::Result {
        call_id: "code_0_0".into(),
        text: "Done; it printed nothing.".into(),
        exit: None,
        granted: false,
    });
    let (exit, _, _) = run(&scene, blocks(&["<execute>print(x)</execute>", END]), &mut other).await;
    gave_up(&exit);
    let results = results(&other);
    assert!(
        results[1].starts_with("The state of earlier blocks is lost"),
        "{}",
        results[1]
    );
    assert!(results[1].contains("NameError"), "{}", results[1]);
}

#[tokio::test]
async fn hostile_code_can_do_no_more_than_a_tool_call() {
    let (scene, _workspaces) = scene().await;
    scene.file(".github/workflows/ci.yml", "on: push\n");
    let mut transcript = transcript();
    let forged = "<execute>\nimport os, base64, json, glob\nprint(edit_file('../../etc/passwd', 'root', 'x'))\n\
                  print(write_file('tests/../../x', 'y'))\nprint(_call_tool('execute', {}))\nprint(_call_tool('x' * \
                  99, {}))\n\
                  os.symlink('/etc/passwd', 'link')\nprint(read_file('link'))\n\
                  fds = [int(f) for f in os.listdir('/proc/self/fd')]\nfor fd in fds:\n    try:\n        \
                  os.write(fd, b'2 ok NDI=\\n2 call x y\\n99 call 1 NDI=\\n2 call 1 NDI=\\n') if fd > 2 else None\n    \
                  except OSError: pass\n</execute>";
    let replies = [
        "<execute>1</execute>",
        forged,
        "<execute>print('a' * 10_000_000)</execute>",
        "<execute>\nfor n in range(1000):\n    last = read_file('shop.py', 1, 1)\nlast\n</execute>",
        "<execute>import os\nwhile True: os.fork()</execute>",
        "<execute>open('shop.py', 'w').write('gone')\nread_file('shop.py')</execute>",
        END,
    ];
    let (exit, diff, _) = run(&scene, blocks(&replies), &mut transcript).await;
    assert!(matches!(exit, Exit::GaveUp { .. }), "{exit:?}");
    assert_eq!(diff, "");
    let results = results(&transcript);
    assert!(results.iter().all(|text| text.len() <= 8 << 10));
    assert!(results[5].contains("return sum(prices[1:])"), "{}", results[5]);
    let calls = transcript
        .items()
        .iter()
        .filter(|item| matches!(item, Item::Called { .. }));
    assert!(calls.count() < 250);
}

#[tokio::test]
async fn a_model_without_tools_needs_execution_and_blocks() {
    let scene = Scene::new();
    let (exit, _, _) = run(&scene, vec![], &mut transcript()).await;
    assert_eq!(
        gave_up(&exit),
        "the model works only through code blocks, and nothing may be executed here"
    );

    let (scene, _workspaces) = self::scene().await;
    let mut transcript = transcript();
    let (exit, _, _) = run(
        &scene,
        blocks(&["hm", "<execute lang=perl>1", "so", "what", "now"]),
        &mut transcript,
    )
    .await;
    assert_eq!(gave_up(&exit), "the model answered without calling a tool");
    assert_eq!(results(&transcript), ["`perl` is not python, bash or javascript."]);
    let mut notes = transcript.items().iter().filter_map(|item| match item {
        Item::Note(text) => Some(text.as_str()),
        _ => None,
    });
    assert!(notes.next_back().is_some_and(|note| note.contains("<execute>")));
}
