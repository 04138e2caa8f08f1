//! The threats once more, and a few of their own, in containers of a real engine. Where none can be reached, every one of
//! these tests says so by name and does nothing: `tests/docker-engine.sh` starts one.

/// A laboratory with containers, or the end of the test.
macro_rules! lab_or_return {
    () => {
        match crate::sandbox::container::engine(greenlight::sandbox::Backend::Docker).await {
            Some(lab) => lab,
            None => return,
        }
    };
}

mod attacks;
mod bounds;
mod reuse;

use std::collections::HashMap;
use std::fs;
use std::process::Stdio;
use std::time::Duration;

use bollard::query_parameters::{CreateContainerOptions, ListContainersOptions, StartContainerOptions};
use bollard::{API_DEFAULT_VERSION, Docker};
use greenlight::sandbox::{Backend, Choice, Guarantee, Network, Outcome, Places, Policy, Property, Sandbox};
use rustix::process::{Pid, Signal, kill_process};
use tokio_util::sync::CancellationToken;

use super::double::child_of;
use super::{Alive, Lab, named_socket, places};

const MIB: u64 = 1 << 20;
const TOKEN: &str = "ghs_canary16C7e42F292c6912E7710c838347Ae178B4a";
const SCRIPT: &str = "GREENLIGHT_TEST_CONTAINER_SCRIPT";
const WORKSPACE: &str = "GREENLIGHT_TEST_CONTAINER_WORKSPACE";

/// A laboratory with containers, unless there is no engine.
async fn engine(backend: Backend) -> Option<Lab> {
    Lab::on(backend).await
}

fn client() -> Docker {
    let socket = named_socket(Backend::Docker).unwrap_or("/var/run/docker.sock".into());
    Docker::connect_with_unix(socket.to_str().unwrap(), 30, API_DEFAULT_VERSION).unwrap()
}

/// The containers of greenlights with this number.
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

/// A greenlight that can be killed, which runs a shell script in a container and prints what it printed.
#[expect(clippy::disallowed_methods, reason = "only a real process can be killed")]
fn double(lab: &Lab, script: &str) -> std::process::Command {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "sandbox::container::plays_greenlight", "--nocapture"]);
    command
        .env(SCRIPT, script)
        .env(WORKSPACE, lab.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    command
}

/// Does nothing unless [`double`] started it.
#[tokio::test]
async fn plays_greenlight() {
    let (Some(script), Some(workspace)) = (std::env::var_os(SCRIPT), std::env::var_os(WORKSPACE)) else {
        return;
    };
    greenlight::sandbox::harden_self().unwrap();
    let sandbox = Sandbox::detect(Choice::Only(Backend::Docker), places(Backend::Docker))
        .await
        .unwrap();
    let command = greenlight::sandbox::Command::new(["sh".into(), "-c".into(), script], workspace);
    let policy = Policy {
        network: Network::None,
        ..Policy::default()
    };
    let output = sandbox.exec(&command, &policy, &CancellationToken::new()).await;
    let output = output.unwrap();
    println!("{:?}\n{}{}", output.outcome, output.stdout.text(), output.stderr.text());
}

#[tokio::test]
async fn a_container_holds_what_is_asked_for() {
    let lab = lab_or_return!();
    let guarantees = lab.sandbox.guarantees();
    for (name, guarantee) in guarantees.all() {
        let least = match name {
            Property::SeparateUser => Guarantee::None,
            Property::Memory | Property::Disk => Guarantee::Partial,
            _ => Guarantee::Enforced,
        };
        assert!(guarantee >= least, "{name} is {guarantee}");
    }
    let output = lab.sh("pwd; cat file; echo changed > file; exit 3").await;
    assert_eq!(output.outcome, Outcome::Exited(3), "{output:?}");
    assert!(output.stdout.text().starts_with("/workspace\n"));
    assert_eq!(fs::read_to_string(lab.path().join("file")).unwrap(), "changed\n");
}

const DAEMON: &str = "
if os.fork() == 0:
    os.setsid()
    for number in [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE]:
        signal.signal(number, signal.SIG_IGN)
    if os.fork() == 0:
        with open('alive', 'w') as alive:
            alive.write('up\\n')
            alive.flush()
            ready = os.open('/workspace/ready', os.O_CREAT)
            while True:
                time.sleep(1000)
    os._exit(0)
";

#[tokio::test]
async fn a_cancellation_ends_a_container() {
    let lab = lab_or_return!();
    let mut alive = Alive::new(lab.path(), "alive");
    let cancel = CancellationToken::new();
    let script = "echo seen; trap '' TERM INT; exec 7>alive; echo up >&7; sleep 1000";
    let command = lab.command(["sh", "-c", script]);
    let cancelling = async {
        alive.has_started().await;
        cancel.cancel();
    };
    let (output, ()) = tokio::join!(lab.sandbox.exec(&command, &lab.policy, &cancel), cancelling);
    let output = output.unwrap();
    assert_eq!(
        (output.outcome, output.stdout.text()),
        (Outcome::Cancelled, "seen\n".into())
    );
    alive.has_ended().await;
}

#[tokio::test]
async fn a_container_that_nobody_waits_for_ends() {
    let lab = lab_or_return!();
    let mut alive = Alive::new(lab.path(), "alive");
    let command = lab.command(["sh", "-c", "exec 7>alive; echo up >&7; sleep 1000"]);
    let cancel = CancellationToken::new();
    tokio::select! {
        _ = lab.sandbox.exec(&command, &lab.policy, &cancel) => panic!("it ended by itself"),
        () = alive.has_started() => {}
    }
    alive.has_ended().await;
}

#[tokio::test]
async fn killing_greenlight_kills_the_container() {
    let lab = lab_or_return!();
    let mut alive = Alive::new(lab.path(), "alive");
    let mut greenlight = double(&lab, "exec 7>alive; echo up >&7; sleep 1000").spawn().unwrap();
    alive.has_started().await;
    greenlight.kill().unwrap();
    alive.has_ended().await;
    greenlight.wait().unwrap();
}

#[tokio::test]
async fn killing_the_supervisor_kills_the_container() {
    let lab = lab_or_return!();
    let mut alive = Alive::new(lab.path(), "alive");
    let mut greenlight = double(&lab, "exec 7>alive; echo up >&7; sleep 1000")
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    alive.has_started().await;
    let supervisor = Pid::from_raw(child_of(greenlight.id()).try_into().unwrap()).unwrap();
    kill_process(supervisor, Signal::KILL).unwrap();
    alive.has_ended().await;
    assert!(!greenlight.wait().unwrap().success(), "a lost supervisor is an error");
}

/// So many processes that a later one in the same container has a high number.
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
    // No process has that number: it is above what the kernel gives.
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
    // It need not run to be in the way.
    let _ = docker.start_container(&name, None::<StartContainerOptions>).await;
    assert_eq!(containers_of(number).await.len(), 1);
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
    if named_socket(Backend::Docker).is_some() && engine(Backend::Docker).await.is_some() {
        let refusal = Sandbox::detect(Choice::Only(Backend::Podman), self::places(Backend::Docker))
            .await
            .unwrap_err();
        assert!(refusal.reason.contains("there is docker"), "{refusal}");
    }
}

#[tokio::test]
async fn podman_confines_too() {
    let Some(lab) = engine(Backend::Podman).await else {
        return;
    };
    lab.python(COUNT).await;
    let number: u32 = lab.sh("echo $$").await.stdout.text().trim().parse().unwrap();
    assert!(number > 30, "{number}");
    let lab = lab.limit(|limits| limits.memory = 96 * MIB);
    let bomb = lab.python("kept = []\nwhile True: kept.append(b'x' * (1 << 20))").await;
    assert_eq!(bomb.outcome, Outcome::OutOfMemory);
    let lab = lab.limit(|limits| limits.wall = Duration::from_secs(1));
    let mut alive = Alive::new(lab.path(), "alive");
    let output = lab.python(&format!("{DAEMON}\nwhile True: time.sleep(1000)")).await;
    assert_eq!(output.outcome, Outcome::TimedOut);
    alive.has_started().await;
    alive.has_ended().await;
}
