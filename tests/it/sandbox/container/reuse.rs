//! What a command in a container may see of an earlier one: nothing.

use std::fs;
use std::path::Path;
use std::time::Duration;

use bollard::query_parameters::ListContainersOptions;
use greenlight::sandbox::{Backend, Outcome};
use tokio_util::sync::CancellationToken;

use super::super::{Alive, DAEMON, Lab, PATIENCE};
use super::{COUNT, client, containers_of};

#[tokio::test]
async fn a_daemon_does_not_meet_the_next_command() {
    let lab = lab_or_return!();
    let mut alive = Alive::new(lab.path(), "alive");
    let waiting = "while not os.path.exists('ready'): time.sleep(0.001)";
    let output = lab.python(&format!("{DAEMON}\n{waiting}")).await;
    assert_eq!(output.outcome, Outcome::Exited(0));
    alive.has_started().await;
    alive.has_ended().await;
    let seen =
        lab.python("print([name for name in os.listdir('/proc') if name.isdigit() and name != str(os.getpid())])");
    assert_eq!(seen.await.stdout.text(), "['1']\n");
}

#[tokio::test]
async fn reuse_leaves_nothing_behind() {
    let lab = lab_or_return!();
    let script = "
home = os.environ['HOME']
for place in ['/tmp', '/dev/shm', home, home + '/.cargo']:
    if os.path.isdir(place):
        os.makedirs(place + '/left/' + 'd/' * 200)
        os.chmod(place + '/left', 0)
        write(place + '/file', 'x')
        os.symlink('/workspace', place + '/link')
os.mkfifo('/tmp/pipe')
listener = socket.socket(socket.AF_UNIX)
listener.bind('\\0left')
listener.listen()
subprocess.Popen(['sleep', '1000'], start_new_session=True)
print(len(os.listdir('/tmp')))
";
    let output = lab.python(script).await;
    assert_eq!(
        (output.outcome, output.stdout.text()),
        (Outcome::Exited(0), "4\n".into()),
        "{:?}",
        output.stderr
    );
    let before = containers_of(std::process::id()).await;
    let script = "
home = os.environ['HOME']
for place in ['/tmp', '/dev/shm', home, home + '/.cargo']:
    if os.path.isdir(place) and [name for name in os.listdir(place) if name not in ['.cargo', 'registry', 'git', '.m2', '.gradle']]:
        print('LEFT', place, os.listdir(place))
refused('socket', lambda: socket.socket(socket.AF_UNIX).connect('\\0left'))
print(os.getpid() > 2)
";
    let output = lab.python(script).await;
    assert_eq!(
        (output.outcome, output.stdout.text()),
        (Outcome::Exited(0), "True\n".into()),
        "{:?}",
        output.stderr
    );
    assert!(!before.is_empty(), "the container did not wait");
}

/// The second command has a low process id only if it runs in a new container.
async fn is_not_reused(script: &str) {
    let Some(lab) = Lab::on(Backend::Docker).await else {
        return;
    };
    let output = lab.python(script).await;
    assert_eq!(output.outcome, Outcome::Exited(0), "{:?}", output.stderr);
    let output = lab.python("print(os.getpid())").await;
    let number: u32 = output.stdout.text().trim().parse().unwrap();
    assert!(number < 20, "{number}");
}

#[tokio::test]
async fn a_container_with_a_changed_init_is_not_reused() {
    // The same user may lower the limits and the priority of init.
    is_not_reused(&format!(
        "{COUNT}\nimport resource\nresource.prlimit(1, resource.RLIMIT_NOFILE, (50, 50))"
    ))
    .await;
    is_not_reused(&format!("{COUNT}\nos.setpriority(os.PRIO_PROCESS, 1, 19)")).await;
}

#[tokio::test]
async fn a_container_with_messages_left_is_not_reused() {
    is_not_reused(&format!("{COUNT}\nassert libc.shmget(0, 4096, 0o1600) >= 0")).await;
    is_not_reused(&format!("{COUNT}\nassert libc.msgget(0, 0o1600) >= 0")).await;
    is_not_reused(&format!("{COUNT}\nos.chmod(os.environ['HOME'], 0o777)")).await;
}

#[tokio::test]
async fn a_command_after_another_gets_its_container() {
    let lab = lab_or_return!();
    lab.python(COUNT).await;
    let number: u32 = lab.sh("echo $$").await.stdout.text().trim().parse().unwrap();
    assert!(number > 30, "{number}");
    // A missing program is no reason to discard the container.
    let missing = lab.exec(&lab.command(["no-such-program"])).await;
    assert!(matches!(missing.outcome, Outcome::DidNotStart(_)), "{missing:?}");
    let number: u32 = lab.sh("echo $$").await.stdout.text().trim().parse().unwrap();
    assert!(number > 30, "{number}");
}

#[tokio::test]
async fn two_workspaces_share_nothing() {
    let lab = lab_or_return!();
    lab.python(COUNT).await;
    let other = tempfile::tempdir().unwrap();
    let command = greenlight::sandbox::Command::new(["sh", "-c", "echo $$; id -u"], other.path());
    let output = lab.exec(&command).await;
    let text = output.stdout.text();
    let mut lines = text.lines();
    assert!(lines.next().unwrap().parse::<u32>().unwrap() < 20, "{text}");
    if rustix::process::geteuid().is_root() {
        let own = lab.sh("id -u").await.stdout.text();
        assert_ne!(Some(own.trim()), lines.next());
    }
    // The same name for another directory is another workspace.
    let (path, moved) = (lab.path().join("w"), lab.path().join("moved"));
    fs::create_dir(&path).unwrap();
    let command = greenlight::sandbox::Command::new(["sh", "-c", "ls; touch x"], &path);
    assert_eq!(lab.exec(&command).await.stdout.text(), "");
    fs::rename(&path, &moved).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(lab.exec(&command).await.stdout.text(), "");
    assert!(path.join("x").exists() && moved.join("x").exists());
}

#[tokio::test]
async fn many_commands_at_once_do_not_disturb_each_other_in_containers() {
    let lab = lab_or_return!();
    let runs = (0..4).map(|number| {
        let command = lab.command(["sh", "-c", &format!("echo {number}; exit {number}")]);
        let (sandbox, policy) = (lab.sandbox.clone(), lab.policy.clone());
        tokio::spawn(async move { sandbox.exec(&command, &policy, &CancellationToken::new()).await })
    });
    for (number, run) in runs.collect::<Vec<_>>().into_iter().enumerate() {
        let output = run.await.unwrap().unwrap();
        assert_eq!(
            (output.outcome, output.stdout.text()),
            (Outcome::Exited(number.try_into().unwrap()), format!("{number}\n"))
        );
    }
}

#[tokio::test]
async fn a_process_that_keeps_changing_its_number_is_caught() {
    let lab = lab_or_return!();
    let script = "
if os.fork() == 0:
    os.setsid()
    ready = os.open('ready', os.O_CREAT)
    while True:
        if os.fork() != 0:
            os._exit(0)
while not os.path.exists('ready'): time.sleep(0.001)
";
    let output = lab.python(script).await;
    assert_eq!(output.outcome, Outcome::Exited(0), "{:?}", output.stderr);
    let seen =
        lab.python("print([name for name in os.listdir('/proc') if name.isdigit() and name != str(os.getpid())])");
    assert_eq!(seen.await.stdout.text(), "['1']\n");
}

/// Waits until no container has this workspace.
async fn is_gone(workspace: &Path) {
    let docker = client();
    let looking = async {
        loop {
            let all = docker.list_containers(None::<ListContainersOptions>).await.unwrap();
            let mut sources = all
                .into_iter()
                .flat_map(|container| container.mounts.unwrap_or_default());
            if !sources.any(|mount| mount.source.is_some_and(|source| Path::new(&source) == workspace)) {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, looking)
        .await
        .expect("it is still there");
}

#[tokio::test]
async fn a_container_does_not_wait_for_long() {
    let lab = lab_or_return!();
    lab.sh("true").await;
    is_gone(lab.path()).await;
    assert_eq!(lab.sh("exit 3").await.outcome, Outcome::Exited(3));
    let Lab { sandbox, workspace, .. } = lab;
    drop(sandbox);
    is_gone(workspace.path()).await;
}

#[tokio::test]
async fn processor_time_of_a_container_is_counted() {
    let lab = lab_or_return!().limit(|limits| limits.cpu_time = Duration::from_secs(1));
    let output = lab.sh("while :; do :; done").await;
    assert_eq!(output.outcome, Outcome::TimedOut);
    assert!(output.cpu >= Duration::from_millis(500), "{:?}", output.cpu);
    // Not the time of the previous command.
    assert!(lab.sh("true").await.cpu < Duration::from_millis(500));
}
