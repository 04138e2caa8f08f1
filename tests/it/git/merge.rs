//! Merges of a head with its base branch, and patches transferred between the two.

use std::fs;

use greenlight::domain::id::{CommitSha, RepoPath};
use greenlight::domain::patch::{Blob, FileChange, Patch};
use greenlight::git::{Error, Merge};

use super::origin::{World, limits};

type Files<'a> = [(&'a str, &'a str, &'a [u8])];

/// A merge of these three trees, after a fetch.
async fn merge(world: &World, base: &Files<'_>, head: &Files<'_>, tip: &Files<'_>) -> Merge {
    let base = world.commit(base, None);
    let commits = (
        base.clone(),
        world.commit(head, Some(&base)),
        world.commit(tip, Some(&base)),
    );
    fetched(world, commits).await
}

async fn fetched(world: &World, (base, head, tip): (CommitSha, CommitSha, CommitSha)) -> Merge {
    let (server, mirror) = (world.serve().await, world.mirror());
    let wants = [base.clone(), head.clone(), tip.clone()];
    mirror.fetch(&server.remote(), &wants, &limits()).await.unwrap();
    Merge::new(mirror, (base, head, tip))
}

fn path(path: &str) -> RepoPath {
    path.parse().unwrap()
}

fn change(name: &str, before: &str, after: &str) -> Patch {
    let change = FileChange {
        before: Some(Blob::regular(before)),
        after: Some(Blob::regular(after)),
    };
    Patch::new([(path(name), change)])
}

const BASE: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";

#[tokio::test]
async fn a_merge_has_what_both_sides_did() {
    let world = World::new();
    let head = BASE.replace("one", "ONE");
    let tip = BASE.replace("seven", "SEVEN");
    let merge = merge(
        &world,
        &[("a", "100644", BASE.as_bytes())],
        &[("a", "100644", head.as_bytes()), ("mine", "100755", b"#!\n")],
        &[("a", "100644", tip.as_bytes()), ("d/theirs", "100644", b"x\n")],
    )
    .await;
    let into = world.path("merged");
    assert_eq!(merge.export(&into).unwrap().unwrap().files, 3);
    let both = head.replace("seven", "SEVEN");
    assert_eq!(fs::read_to_string(into.join("a")).unwrap(), both);
    assert_eq!(fs::read_to_string(into.join("d/theirs")).unwrap(), "x\n");

    // Lines that the head wrote can be changed there; lines from the base branch cannot.
    let on_merge = change("a", &both, &both.replace("ONE", "1"));
    let on_head = merge.to_head(&on_merge).unwrap().unwrap();
    assert_eq!(on_head, change("a", &head, &head.replace("ONE", "1")));
    assert_eq!(merge.from_head(&on_head).unwrap().unwrap(), on_merge);
    let theirs = change("a", &both, &both.replace("SEVEN", "7"));
    assert_eq!(merge.to_head(&theirs).unwrap().unwrap_err().paths, ["a"]);
    let theirs = change("d/theirs", "x\n", "y\n");
    assert_eq!(merge.to_head(&theirs).unwrap().unwrap_err().paths, ["d/theirs"]);

    let shown = merge.changes().unwrap().unwrap();
    let names: Vec<&str> = shown.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        ["a", "mine"],
        "what the pull request changes, and nothing of main"
    );
}

#[tokio::test]
async fn what_the_base_branch_renamed_is_changed_under_its_old_name_on_the_head() {
    let world = World::new();
    let head = BASE.replace("one", "ONE");
    let merge = merge(
        &world,
        &[("old", "100644", BASE.as_bytes())],
        &[("old", "100644", head.as_bytes())],
        &[("new", "100644", BASE.as_bytes())],
    )
    .await;
    let into = world.path("merged");
    merge.export(&into).unwrap().unwrap();
    assert_eq!(fs::read_to_string(into.join("new")).unwrap(), head);
    assert!(!into.join("old").exists());
    let fixed = head.replace("four", "4");
    let on_head = merge.to_head(&change("new", &head, &fixed)).unwrap().unwrap();
    assert_eq!(on_head, change("old", &head, &fixed));
}

#[tokio::test]
async fn a_conflict_is_named_and_no_attribute_settles_it() {
    let world = World::new();
    let attributes = b"* merge=union\n";
    let merge = merge(
        &world,
        &[("a", "100644", b"0\n"), (".gitattributes", "100644", attributes)],
        &[("a", "100644", b"1\n"), (".gitattributes", "100644", attributes)],
        &[("a", "100644", b"2\n"), (".gitattributes", "100644", attributes)],
    )
    .await;
    let into = world.path("merged");
    assert_eq!(merge.export(&into).unwrap().unwrap_err().paths, ["a"]);
    assert!(!into.exists(), "nothing is written");
}

#[tokio::test]
async fn a_patch_may_make_a_merge_conflict() {
    let world = World::new();
    let tip = BASE.replace("four", "FOUR");
    let merge = merge(
        &world,
        &[("a", "100644", BASE.as_bytes())],
        &[("a", "100644", BASE.as_bytes()), ("b", "100644", b"b\n")],
        &[("a", "100644", tip.as_bytes())],
    )
    .await;
    let patch = change("a", BASE, &BASE.replace("four", "4"));
    assert_eq!(merge.from_head(&patch).unwrap().unwrap_err().paths, ["a"]);
}

#[tokio::test]
async fn what_would_take_long_to_merge_is_refused() {
    let world = World::new();
    let of = |letter: u8| {
        let mut text = vec![letter; 12 << 20];
        for at in (0..text.len()).step_by(2) {
            text[at] = b'\n';
        }
        text
    };
    let (base, head, tip) = (of(b'a'), of(b'b'), of(b'c'));
    let merge = merge(
        &world,
        &[("a", "100644", &base)],
        &[("a", "100644", &head)],
        &[("a", "100644", &tip)],
    )
    .await;
    let error = merge.export(&world.path("merged")).unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
}

#[tokio::test]
async fn a_tree_that_leads_out_is_refused_whichever_side_it_is_on() {
    let world = World::new();
    let base = world.commit(&[("a", "100644", b"0\n")], None);
    let plain = world.commit(&[("a", "100644", b"1\n")], Some(&base));
    let blob = world.blob(b"evil\n");
    let tree = world.raw_tree(&[("100644", b"..", blob), ("100644", b"a", world.blob(b"0\n"))]);
    let hostile = world.commit_tree(tree, Some(&base));
    for (at, (head, tip)) in [(hostile.clone(), plain.clone()), (plain, hostile)]
        .into_iter()
        .enumerate()
    {
        let merge = fetched(&world, (base.clone(), head, tip)).await;
        let into = world.path(&format!("merged-{at}"));
        assert!(merge.export(&into).is_err());
        assert!(!world.path("evil").exists());
    }
}
