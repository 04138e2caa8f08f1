//! Scripts of the tree that need more than a sandbox has.

/// Programs in a script that need another machine, or more of this one than a sandbox allows.
const NEED_MORE: [&str; 14] = [
    "docker",
    "docker-compose",
    "podman",
    "sudo",
    "apt-get",
    "apt",
    "ssh",
    "vagrant",
    "kubectl",
    "playwright",
    "cypress",
    "karma",
    "wdio",
    "systemctl",
];
/// Maximum size of a script that is looked through, in bytes.
pub(super) const MAX_SCRIPT: usize = 200_000;

/// Whether a script names a program that needs another machine, or more of this one than a sandbox allows.
pub(super) fn needs_more(text: &str) -> bool {
    let mut words = text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_')));
    words.any(|word| NEED_MORE.contains(&word))
}
