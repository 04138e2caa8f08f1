//! What a mirror keeps between fetches, how it is shared, and how it recovers.

use std::fs;

use greenlight::git::{Error, FetchLimits, Mirror};

use super::FILES;
use super::origin::{World, git, limits, noise};

#[tokio::test]
async fn a_second_fetch_brings_only_what_is_new() {
    let world = World::new();
    let noise = noise(200_000);
    let first = world.commit(&[("big", "100644", &noise), ("a", "100644", b"1\n")], None);
    let second = world.commit(&[("big", "100644", &noise), ("a", "100644", b"2\n")], Some(&first));
    let (server, mirror) = (world.serve().await, world.mirror());

    mirror
        .fetch(&server.remote(), &[first.clone(), first.clone()], &limits())
        .await
        .unwrap();
    mirror
        .fetch(&server.remote(), std::slice::from_ref(&first), &limits())
        .await
        .unwrap();
    assert_eq!(server.requests().len(), 1);

    let small = FetchLimits {
        bytes: 10_000,
        ..limits()
    };
    let again = Mirror::open(&world.path("mirror")).unwrap();
    again
        .fetch(&server.remote(), &[first.clone(), second.clone()], &small)
        .await
        .unwrap();
    again.export(&second, &world.path("export")).unwrap();
    assert_eq!(fs::read(world.path("export/big")).unwrap(), noise);
    git(&world.path("mirror"), &["fsck", "--full"]);
}

#[tokio::test]
async fn many_workers_fetch_at_once() {
    let world = World::new();
    let shas: Vec<_> = (0..4_u8)
        .map(|n| world.commit(&[("n", "100644", &[n]), ("same", "100644", b"s")], None))
        .collect();
    let server = world.serve().await;
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..12 {
        let (mirror, remote) = (world.mirror(), server.remote());
        let wants = [shas[n % 4].clone(), shas[(n + 1) % 4].clone()];
        let into = world.path(&format!("export-{n}"));
        tasks.spawn(async move {
            mirror.fetch(&remote, &wants, &limits()).await.unwrap();
            mirror.export(&wants[0], &into).unwrap();
            assert_eq!(fs::read(into.join("n")).unwrap(), [(n % 4) as u8]);
        });
    }
    tasks.join_all().await;
    git(&world.path("mirror"), &["fsck", "--full"]);
}

#[tokio::test]
async fn a_damaged_mirror_is_made_anew() {
    let world = World::new();
    let sha = world.commit(FILES, None);
    let (server, mirror) = (world.serve().await, world.mirror());
    mirror
        .fetch(&server.remote(), std::slice::from_ref(&sha), &limits())
        .await
        .unwrap();
    for pack in fs::read_dir(world.path("mirror/objects/pack")).unwrap() {
        fs::remove_file(pack.unwrap().path()).unwrap();
    }
    fs::create_dir(world.path("mirror/incoming-killed")).unwrap();
    let error = mirror.export(&sha, &world.path("export")).unwrap_err();
    assert!(matches!(error, Error::Damaged(_)), "{error:?}");

    // While it is in use it stays; only the next user starts over.
    assert!(world.mirror().has(&sha));
    drop(mirror);
    // A program that another test is starting inherits the lock until it runs.
    let mut users = std::iter::repeat_with(|| world.mirror()).take(10_000);
    let mirror = users.find(|mirror| !mirror.has(&sha)).unwrap();
    assert!(!world.path("mirror/incoming-killed").exists());
    mirror
        .fetch(&server.remote(), std::slice::from_ref(&sha), &limits())
        .await
        .unwrap();
    mirror.export(&sha, &world.path("export")).unwrap();
}

#[tokio::test]
async fn a_fetch_on_top_of_a_damaged_mirror_brings_everything() {
    let world = World::new();
    let long: Vec<u8> = noise(20_000);
    let changed = [&long[..], b"end"].concat();
    let first = world.commit(&[("long", "100644", &long)], None);
    let second = world.commit(&[("long", "100644", &changed)], Some(&first));
    let (server, mirror) = (world.serve().await, world.mirror());
    mirror.fetch(&server.remote(), &[first], &limits()).await.unwrap();
    for pack in fs::read_dir(world.path("mirror/objects/pack")).unwrap() {
        fs::remove_file(pack.unwrap().path()).unwrap();
    }
    mirror
        .fetch(&server.remote(), std::slice::from_ref(&second), &limits())
        .await
        .unwrap();
    assert_eq!(server.requests().len(), 3, "cold, warm, and cold again");
    mirror.export(&second, &world.path("export")).unwrap();
    assert_eq!(fs::read(world.path("export/long")).unwrap(), changed);
}
