//! Reading what is private: tokens, keys, other processes, other files.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use greenlight::sandbox::{Backend, Outcome};

use super::Lab;
use super::double::{double, wrapped};

super::each_backend! {
    the_token_is_not_visible_inside,
    the_environment_is_built_from_scratch,
    proc_one_environ_holds_no_secret,
    inherited_descriptors_are_closed,
    credentials_toml_is_not_visible,
    files_of_the_host_are_not_visible,
    what_lies_beside_tools_is_not_visible,
    processes_of_the_host_are_not_visible,
    what_the_kernel_tells_is_masked,
    a_hardened_greenlight_still_starts_its_helpers,
}

const TOKEN: &str = "ghs_canary16C7e42F292c6912E7710c838347Ae178B4a";

async fn the_token_is_not_visible_inside(lab: Lab) {
    let script = "env; cat /proc/*/environ /proc/*/cmdline /proc/*/task/*/environ | tr '\\0' '\\n'; echo looked";
    let output = double(&lab, script)
        .env("GITHUB_TOKEN", TOKEN)
        .env("OTHER", TOKEN)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("looked") && !text.contains(TOKEN), "{text}");
}

async fn the_environment_is_built_from_scratch(lab: Lab) {
    let mut command = lab.command(["env"]);
    command.env.insert("GIVEN".into(), "a value".into());
    let output = lab.exec(&command).await;
    let names: Vec<String> = output
        .stdout
        .text()
        .lines()
        .map(|line| line.split('=').next().unwrap().to_owned())
        .collect();
    for name in ["PATH", "HOME", "LANG", "TMPDIR", "CI", "GIVEN"] {
        assert!(
            names.iter().any(|given| given == name),
            "{name} is missing in {names:?}"
        );
    }
    let foreign: Vec<_> = names
        .iter()
        .filter(|name| name.contains("TEST") || name.starts_with("SSH") || name.starts_with("GITHUB"))
        .collect();
    assert!(
        foreign.is_empty() && !names.iter().any(|name| name == "CARGO_MANIFEST_DIR"),
        "{names:?}"
    );
    command.env.insert("CI".into(), String::new());
    let output = lab.exec(&command).await;
    let text = output.stdout.text();
    assert!(
        text.contains("GIVEN=") && !text.lines().any(|line| line.starts_with("CI=")),
        "{text}"
    );
}

async fn proc_one_environ_holds_no_secret(lab: Lab) {
    let script = "
refused('environment of init', lambda: open('/proc/1/environ').read())
refused('memory of init', lambda: open('/proc/1/mem', 'rb'))
refused('memory map of init', lambda: open('/proc/1/maps').read())
refused('descriptors of init', lambda: os.listdir('/proc/1/fd'))
refused('root of init', lambda: os.listdir('/proc/1/root/'))
refused('namespaces of init', lambda: os.readlink('/proc/1/ns/mnt'))
";
    lab.attack(script).await;
}

async fn inherited_descriptors_are_closed(lab: Lab) {
    let secret = tempfile::NamedTempFile::new().unwrap();
    fs::write(secret.path(), TOKEN).unwrap();
    let open_then_run = format!("exec 7<'{0}' 9<'{0}'; exec \"$@\"", secret.path().display());
    let script = "python3 -c '
import os
def is_open(file):
    try:
        return os.fstat(file)
    except OSError:
        return None
print(*filter(is_open, range(4096)))'; cat <&7; cat <&9; echo looked";
    let output = wrapped(&["sh", "-c", &open_then_run, "sh"], &lab, script)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\n0 1 2\n") && !text.contains(TOKEN), "{text}");
}

async fn credentials_toml_is_not_visible(lab: Lab) {
    let place = if lab.is_landlock() {
        // The user of the command cannot enter root's home to reach the tools in it.
        std::env::temp_dir()
    } else {
        std::env::home_dir().unwrap()
    };
    let home = tempfile::tempdir_in(place).unwrap();
    let secrets = [
        ".cargo/credentials.toml",
        ".ssh/id_ed25519",
        ".netrc",
        ".npmrc",
        ".config/gh/hosts.yml",
        ".gitconfig",
        ".pypirc",
        ".local/share/keyrings/login.keyring",
    ];
    for path in secrets
        .iter()
        .chain(&[".cargo/bin/tool", ".rustup/settings.toml", ".local/bin/other"])
    {
        let path = home.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, TOKEN).unwrap();
    }
    let script = format!(
        "cd {}; for file in {}; do cat $file; done; find . ./.cargo/bin ./.local/bin ./.rustup -type f; echo $PATH",
        home.path().display(),
        secrets.join(" ")
    );
    let path = format!("{}:/usr/bin:/bin", home.path().join(".cargo/bin").display());
    let output = double(&lab, &script)
        .env("HOME", home.path())
        .env("PATH", path)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains(TOKEN), "{text}");
    let mut files: Vec<&str> = text.lines().filter(|line| line.starts_with("./")).collect();
    files.sort_unstable();
    files.dedup();
    assert_eq!(
        files,
        ["./.cargo/bin/tool", "./.local/bin/other", "./.rustup/settings.toml"]
    );
    assert!(
        text.contains(&format!(
            "{}/.cargo/bin:/usr/bin:/bin:/usr/local/bin",
            home.path().display()
        )),
        "{text}"
    );
}

async fn files_of_the_host_are_not_visible(lab: Lab) {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("canary"), TOKEN).unwrap();
    let canary = outside.path().join("canary");
    let script = format!(
        "cat {}; cat /etc/shadow; ls -A /tmp /run /var/tmp /home/* /srv /boot /mnt /media; ls -A /; ls -A /sys | wc -l",
        canary.display()
    );
    let output = lab.sh(&script).await;
    let text = output.stdout.text();
    assert!(
        !text.contains(TOKEN) && !text.contains("canary") && !text.contains("root:*"),
        "{text}"
    );
    assert_eq!(text.lines().last(), Some("0"), "there is something in /sys: {text}");
    for name in ["srv", "boot", "mnt", "media", ".host", "mirror", "data"] {
        assert!(!text.lines().any(|line| line == name), "{name} is visible: {text}");
    }
}

/// A file with the secret, created by `tests/as-user.sh` for users who cannot put one there.
const PLANTED: &str = "GREENLIGHT_TEST_PLANTED";

/// Software unpacked by hand may contain settings with passwords that everybody on the machine can read.
async fn what_lies_beside_tools_is_not_visible(lab: Lab) {
    let put = |path: &Path, mode: u32| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("#!/bin/sh\n# {TOKEN}\necho the-tool-ran\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        fs::set_permissions(path.parent().unwrap(), fs::Permissions::from_mode(0o755)).unwrap();
    };
    let new = |place: &str| {
        let folder = tempfile::Builder::new()
            .prefix("greenlight-test-")
            .tempdir_in(place)
            .ok()?;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        put(&folder.path().join(".env"), 0o644);
        put(&folder.path().join("bin/tool"), 0o755);
        Some(folder)
    };
    let folders: Vec<_> = ["/opt", "/usr/local", "/usr/local/etc"]
        .into_iter()
        .filter_map(new)
        .collect();
    let left = std::env::var_os(PLANTED).map(PathBuf::from);
    let secrets: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| [".env", "bin/tool"].map(|name| folder.path().join(name)))
        .chain(left)
        .collect();
    let is_root = rustix::process::geteuid().is_root();
    assert!(!is_root || !secrets.is_empty(), "root can put files there");
    let script = format!("for file in {}; do cat $file; done; echo looked", words(&secrets));
    let output = double(&lab, &script).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("looked") && !text.contains(TOKEN), "{text}");

    // Directories of the search path are visible, without their settings and their siblings.
    let Some((package, other)) = folders.first().zip(folders.get(1)) else {
        return;
    };
    let [package, other] = [package, other].map(tempfile::TempDir::path);
    put(&package.join("lib/part"), 0o644);
    put(&package.join("etc/settings.toml"), 0o644);
    let hidden = [
        package.join(".env"),
        package.join("etc/settings.toml"),
        other.join(".env"),
    ];
    let script = format!(
        "tool; for file in {}; do cat $file; done; test -r {} && echo the-library-is-there",
        words(&hidden),
        package.join("lib/part").display()
    );
    let path = format!("{}:/usr/bin:/bin", package.join("bin").display());
    let output = double(&lab, &script).env("PATH", path).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for seen in ["the-tool-ran", "the-library-is-there"] {
        assert!(text.contains(seen), "{seen}: {text}");
    }
    assert!(!text.contains(TOKEN), "{text}");
}

fn words(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| format!("{} ", path.display())).collect()
}

async fn processes_of_the_host_are_not_visible(lab: Lab) {
    if lab.is_landlock() {
        let script = format!(
            "
refused('list', lambda: os.listdir('/proc'), errno.EACCES)
for process in ['self', 'thread-self', os.getpid(), os.getppid(), 1, {0}]:
    for name in ['status', 'stat', 'cmdline', 'environ', 'maps', 'mem', 'io', 'comm', 'mounts']:
        refused(f'{{name}} of {{process}}', lambda: open(f'/proc/{{process}}/{{name}}'), errno.EACCES)
    for name in ['', 'fd', 'ns', 'root/']:
        refused(f'list {{name}} of {{process}}', lambda: os.listdir(f'/proc/{{process}}/{{name}}'), errno.EACCES)
for process in [os.getppid(), 1, {0}]:
    for name in ['cwd/', 'task', 'map_files']:
        refused(f'list {{name}} of {{process}}', lambda: os.listdir(f'/proc/{{process}}/{{name}}'), errno.EACCES)
",
            std::process::id()
        );
        return lab.attack(&script).await;
    }
    let script = "
seen = {int(name) for name in os.listdir('/proc') if name.isdigit()}
assert seen <= {1, os.getpid()}, seen
for name in ['environ', 'maps', 'mem', 'fd/0', 'cwd', 'root', 'ns/pid']:
    if 1 in seen:
        refused(name, lambda: os.stat('/proc/1/' + name), errno.EACCES, errno.EPERM) if '/' in name or name in ['cwd', 'root'] else refused(name, lambda: open('/proc/1/' + name).read(1))
";
    lab.attack(script).await;
    if lab.sandbox.backend() == Backend::Native {
        lab.attack("assert not os.path.exists('/proc/1'), 'init hides itself'")
            .await;
    }
}

async fn what_the_kernel_tells_is_masked(lab: Lab) {
    let script = "
for name in ['kcore', 'keys', 'kallsyms', 'kmsg', 'timer_list']:
    if os.path.exists('/proc/' + name):
        try:
            if open('/proc/' + name, 'rb').read(1):
                print('ESCAPED', name)
        except OSError:
            pass
";
    lab.attack(script).await;
}

async fn a_hardened_greenlight_still_starts_its_helpers(lab: Lab) {
    let output = double(&lab, "echo hello").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(&format!("{:?}\nhello", Outcome::Exited(0))), "{text}");
}
