//! Reading, reaching and impersonating what a command must not, in a container.

use greenlight::sandbox::{Backend, Outcome};

use super::named_socket;

#[tokio::test]
async fn the_socket_of_the_engine_is_not_visible() {
    let named = named_socket(Backend::Docker).unwrap_or_default();
    let script = format!(
        "
for path in ['{}', '/var/run/docker.sock', '/run/docker.sock', '/run/podman/podman.sock', '/run/containerd/containerd.sock']:
    refused(path, lambda: socket.socket(socket.AF_UNIX).connect(path), errno.ENOENT)
",
        named.display()
    );
    lab_or_return!().attack(&script).await;
}

#[tokio::test]
async fn a_second_call_to_the_supervisor_is_not_answered() {
    let script = "
assert os.path.exists('/run/greenlight.socket')
refused('call', lambda: socket.socket(socket.AF_UNIX).connect('/run/greenlight.socket'), errno.ECONNREFUSED)
refused('listen', lambda: socket.socket(socket.AF_UNIX).bind('/run/greenlight.socket'), errno.EADDRINUSE, errno.EROFS)
refused('remove', lambda: os.unlink('/run/greenlight.socket'), errno.EBUSY, errno.EACCES, errno.EROFS)
import struct
# Sends what init would send, to every open descriptor.
body = b'{\"Exited\":77}'
for number in range(1, 256):
    for file in [number]:
        try:
            os.write(file, struct.pack('<I', len(body)) + body) if number > 2 else None
        except OSError:
            pass
";
    lab_or_return!().attack(script).await;
}

#[tokio::test]
async fn a_forged_init_is_not_heard() {
    let lab = lab_or_return!();
    // A second init finds nobody to talk to, and does not disturb the first one.
    let output = lab
        .sh("printf '\\015\\000\\000\\000{\"Exited\":77}'; /run/greenlight sandbox-init container; echo $?; exit 5")
        .await;
    assert_eq!(output.outcome, Outcome::Exited(5));
    assert!(output.stdout.text().ends_with("70\n"), "{output:?}");
}
