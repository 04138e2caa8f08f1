//! Threats specific to containers, with those of a real engine. If none is available, that is reported by name;
//! `tests/docker-engine.sh` starts one.

/// A lab with containers; otherwise ends the test.
macro_rules! lab_or_return {
    () => {
        match crate::sandbox::Lab::on(greenlight::sandbox::Backend::Docker).await {
            Some(lab) => lab,
            None => return,
        }
    };
}

mod attacks;
mod reuse;

use std::collections::HashMap;
use std::fs;

use bollard::query_parameters::{CreateContainerOptions, ListContainersOptions, StartContainerOptions};
use bollard::{API_DEFAULT_VERSION, Docker};
use greenlight::sandbox::{Backend, Choice, Outcome, Places, Sandbox};

use super::{Alive, DAEMON, Lab, SLOW_START, named_socket, places};

const MIB: u64 = 1 << 20;

fn client() -> Docker {
    let socket = named_socket(Backend::Docker).unwrap_or("/var/run/docker.sock".into());
    Docker::connect_with_unix(socket.to_str().unwrap(), 30, API_DEFAULT_VERSION).unwrap()
}

/// The containers of the greenlight process with this id.
async fn containers_of(process: u32) -> Vec<String> {
    let docker = client().negotiate_version().await.unwrap();
    let options = ListContainersOptions {
        all: true,
        filters: Some(HashMap::from([("label".into(), vec!["greenlight.run".into()])])),
        ..ListContainersOptions::default()
    };
    let all = docker.list_containers(Some(options)).await.unwrap();
    let names = all.into_iter().filter_map(|container| container.names?.pop());
    names
        .filter(|name| name.contains(&format!("greenlight-{process}-")))
        .collect()
}

/// Starts processes, so that a later process in the same container has a high id.
const COUNT: &str = "
for _ in range(30):
    os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)
";

#[tokio::test]
async fn leftovers_of_a_dead_greenlight_are_removed() {
    let lab = lab_or_return!();
    let docker = client().negotiate_version().await.unwrap();
    let namespace = fs::read_link("/proc/self/ns/pid").unwrap().display().to_string();
    let image = docker
        .list_images(None::<bollard::query_parameters::ListImagesOptions>)
        .await
        .unwrap()
        .into_iter()
        .flat_map(|image| image.repo_tags)
        .find(|name| name.contains("greenlight-empty"))
        .unwrap();
    // No process has this id: it exceeds the kernel's maximum.
    let number = 4_194_304 + std::process::id();
    let name = format!("greenlight-{number}-1-0");
    let body = bollard::models::ContainerCreateBody {
        image: Some(image),
        cmd: Some(vec!["/usr/bin/sleep".into(), "1000".into()]),
        labels: Some(HashMap::from([
            ("greenlight.run".into(), name.clone()),
            ("greenlight.namespace".into(), namespace),
        ])),
        host_config: Some(bollard::models::HostConfig {
            network_mode: Some("none".into()),
            binds: Some(
                ["/usr", "/lib", "/lib64"]
                    .map(|path| format!("{path}:{path}:ro"))
                    .to_vec(),
            ),
            ..Default::default()
        }),
        ..Default::default()
    };
    let options = CreateContainerOptions {
        name: Some(name.clone()),
        ..CreateContainerOptions::default()
    };
    docker.create_container(Some(options), body).await.unwrap();
    // It is in the way even if it does not run, and another test may have removed it already: each looks for
    // leftovers.
    let _ = docker.start_container(&name, None::<StartContainerOptions>).await;
    Sandbox::detect(Choice::Only(Backend::Docker), places(Backend::Docker))
        .await
        .unwrap();
    assert_eq!(containers_of(number).await, Vec::<String>::new());
    assert_eq!(lab.sh("exit 4").await.outcome, Outcome::Exited(4));
}

#[tokio::test]
async fn an_engine_that_is_not_there_is_said_so() {
    let places = Places {
        container_socket: Some("/nonexistent/docker.sock".into()),
        ..env!("CARGO_BIN_EXE_greenlight").into()
    };
    let refusal = Sandbox::detect(Choice::Only(Backend::Docker), places)
        .await
        .unwrap_err();
    assert!(refusal.reason.contains("/nonexistent/docker.sock"), "{refusal}");
    if named_socket(Backend::Docker).is_some() && Lab::on(Backend::Docker).await.is_some() {
        let refusal = Sandbox::detect(Choice::Only(Backend::Podman), self::places(Backend::Docker))
            .await
            .unwrap_err();
        assert!(refusal.reason.contains("belongs to docker"), "{refusal}");
    }
}

#[tokio::test]
async fn podman_confines_too() {
    let Some(lab) = Lab::on(Backend::Podman).await else {
        return;
    };
    lab.python(COUNT).await;
    let number: u32 = lab.sh("echo $$").await.stdout.text().trim().parse().unwrap();
    assert!(number > 30, "{number}");
    let lab = lab.limit(|limits| limits.memory = 96 * MIB);
    let bomb = lab.python("kept = []\nwhile True: kept.append(b'x' * (1 << 20))").await;
    assert_eq!(bomb.outcome, Outcome::OutOfMemory);
    let lab = lab.limit(|limits| limits.wall = SLOW_START);
    let mut alive = Alive::new(lab.path(), "alive");
    let output = lab.python(&format!("{DAEMON}\nwhile True: time.sleep(1000)")).await;
    assert_eq!(output.outcome, Outcome::TimedOut);
    alive.has_started().await;
    alive.has_ended().await;
}
