//! The parts of the machine that a command needs to build and test: system directories, and tools that greenlight's
//! user installed in their home. Everything not listed here stays outside, credentials above all.

mod packages;
mod php;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::spec::command::{Access, Mount};
use crate::spec::error::Unusable;

/// The home directory inside, which is empty and in memory.
const HOME: &str = "/home/sandbox";

/// Directories with the system's programs and libraries; some are links to others.
const SYSTEM: [&str; 17] = [
    "/usr/bin",
    "/usr/sbin",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libx32",
    "/usr/libexec",
    "/usr/share",
    "/usr/include",
    "/usr/games",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/gnu/store",
];

/// The parts of Nix that can be shared. The rest contains the socket of its daemon, which builds with network access.
const NIX: [&str; 2] = ["/nix/store", "/nix/var/nix/profiles"];

/// What programs need in `/etc` to work. No user names, host names or keys.
const ETC: [&str; 16] = [
    "ssl/certs",
    "ssl/openssl.cnf",
    "ca-certificates",
    "pki/tls/certs",
    "pki/ca-trust/extracted",
    "pki/java",
    "crypto-policies",
    "alternatives",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "os-release",
    "mime.types",
    "protocols",
    "services",
    "fonts",
];

/// Paths below the user's home that contain only tools. `.cargo` and `.npm` as a whole would include tokens,
/// `.local/share` keyrings.
const TOOLS: [&str; 26] = [
    ".asdf",
    ".bun/bin",
    ".cargo/bin",
    ".deno/bin",
    ".dotnet",
    ".fnm",
    ".ghcup",
    ".jenv",
    ".juliaup",
    ".local/bin",
    ".local/lib",
    ".local/pipx/venvs",
    ".local/share/fnm",
    ".local/share/mise/installs",
    ".local/share/pipx/venvs",
    ".local/share/uv/python",
    ".local/share/uv/tools",
    ".nvm",
    ".nodenv",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".sdkman/candidates",
    ".volta",
    "go/bin",
    "go/pkg/mod",
];

/// Variables that tell tools where they are installed, because the home inside is different.
const POINTERS: [(&str, &str); 10] = [
    ("ASDF_DATA_DIR", ".asdf"),
    ("GOMODCACHE", "go/pkg/mod"),
    ("NVM_DIR", ".nvm"),
    ("NODENV_ROOT", ".nodenv"),
    ("PYENV_ROOT", ".pyenv"),
    ("RBENV_ROOT", ".rbenv"),
    ("RUSTUP_HOME", ".rustup"),
    ("SDKMAN_DIR", ".sdkman"),
    ("VOLTA_HOME", ".volta"),
    ("PYTHONUSERBASE", ".local"),
];

/// Tools and where they are mounted.
#[derive(Debug)]
pub(crate) struct Toolchains {
    pub(crate) home: PathBuf,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) mounts: Vec<Mount>,
    pub(crate) links: BTreeMap<PathBuf, PathBuf>,
}

impl Toolchains {
    /// The tools of this machine and user, for a sandbox.
    ///
    /// # Errors
    /// When the user's home, with all its secrets, is inside a directory that must be mounted.
    pub(crate) fn inside() -> Result<Self, Unusable> {
        // The only place in this crate that reads greenlight's environment. It uses only these two values.
        let (home, path) = (env::home_dir(), env::var_os("PATH").unwrap_or_default());
        let home = home.filter(|home| home.is_absolute() && home.parent().is_some());
        let found = Self::find(home.as_deref(), &path, env::current_exe().ok().as_deref());
        match home.filter(|home| found.shows(home)) {
            Some(home) => Err(Unusable {
                reason: format!(
                    "the home directory {} is among the programs that tests need",
                    home.display()
                ),
                remedy: "set HOME to a directory outside of `/usr`, `/lib` and the like".into(),
            }),
            None => Ok(found),
        }
    }

    /// The environment for an unconfined command.
    pub(crate) fn outside() -> Self {
        let home = env::home_dir().unwrap_or_else(|| "/".into());
        let path = env::var_os("PATH").unwrap_or_default();
        let env = owned([
            ("HOME", home.display().to_string().as_str()),
            ("PATH", &path.to_string_lossy()),
            ("LANG", "C.UTF-8"),
            ("CI", "true"),
        ]);
        Self {
            home,
            env,
            mounts: Vec::new(),
            links: BTreeMap::new(),
        }
    }

    fn find(home: Option<&Path>, path: &OsStr, own_binary: Option<&Path>) -> Self {
        let mut found = Self {
            home: HOME.into(),
            env: environment(),
            mounts: Vec::new(),
            links: BTreeMap::new(),
        };
        for directory in SYSTEM.iter().chain(&NIX).map(Path::new) {
            match fs::read_link(directory) {
                Ok(content) => drop(found.links.insert(directory.into(), content)),
                Err(_) => found.show(directory, directory),
            }
        }
        found.show_other_systems();
        for name in ETC {
            let path = Path::new("/etc").join(name);
            found.show(&path, &path);
        }
        found.show_java();
        for file in php::extensions() {
            found.show(&file, &file);
        }
        found.show_packages(path, [home, own_binary]);
        if let Some(home) = home {
            found.show_tools(home);
        }
        found.set_path(path);
        found
    }

    fn show(&mut self, source: &Path, target: &Path) {
        // Links are resolved here, because inside they would be resolved in a different tree.
        if let Ok(source) = source.canonicalize() {
            self.mounts.push(Mount {
                source,
                target: target.into(),
                access: Access::ReadOnly,
            });
        }
    }

    /// Mounts files that Java and Maven need besides their programs on some systems, but not Maven's `settings.xml`.
    fn show_java(&mut self) {
        for name in ["m2.conf", "logging"] {
            let path = Path::new("/etc/maven").join(name);
            self.show(&path, &path);
        }
        for entry in fs::read_dir("/etc").into_iter().flatten().flatten() {
            let name = entry.file_name();
            if name
                .to_str()
                .is_some_and(|name| name.starts_with("java-") && name.ends_with("-openjdk"))
            {
                self.show(&entry.path(), &entry.path());
            }
        }
    }

    /// Mounts headers and libraries of other systems, which cross compilers link to, and Debian's source packages of
    /// test frameworks.
    fn show_other_systems(&mut self) {
        for entry in fs::read_dir("/usr").into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.contains("-linux-") || name.ends_with("-w64-mingw32") {
                self.show(&entry.path(), &entry.path());
            }
        }
        for name in ["googletest", "gtest", "gmock"] {
            let path = Path::new("/usr/src").join(name);
            self.show(&path, &path);
        }
    }

    /// Mounts packages in `/opt` and `/usr/local`, except those that contain greenlight, its user's home, or a CI
    /// agent with its credentials.
    fn show_packages(&mut self, path: &OsStr, private: [Option<&Path>; 2]) {
        let local = Path::new("/usr/local");
        for name in packages::LOCAL {
            self.show(&local.join(name), &local.join(name));
        }
        for entry in fs::read_dir(local).into_iter().flatten().flatten() {
            // The dynamic linker finds CUDA's libraries, under paths that contain their version.
            if entry.file_name().to_string_lossy().starts_with("cuda") {
                self.show(&entry.path(), &entry.path());
            }
        }
        let found = packages::find(packages::ROOTS.map(Path::new), path);
        for package in found.into_iter().flatten() {
            let Ok(resolved) = package.canonicalize() else { continue };
            let is_private = private.iter().flatten().any(|path| path.starts_with(&resolved));
            if is_private || packages::is_agent(&resolved) || self.is_visible(&package) {
                continue;
            }
            for piece in packages::pieces(&resolved) {
                if let Ok(below) = piece.strip_prefix(&resolved) {
                    self.show(&piece, &package.join(below));
                }
            }
        }
    }

    fn show_tools(&mut self, home: &Path) {
        for name in TOOLS {
            let directory = home.join(name);
            self.show(&directory, &directory);
        }
        // Downloads of Cargo, Maven and Gradle; the settings beside them contain passwords. The downloads may include
        // private packages, so greenlight should run as a separate user without any if it serves strangers.
        for name in [
            ".cargo/registry/index",
            ".cargo/registry/cache",
            ".cargo/git/db",
            ".cargo/git/checkouts",
            ".m2/repository",
            ".gradle/caches/modules-2",
        ] {
            self.show(&home.join(name), &Path::new(HOME).join(name));
        }
        // Unpacked packages keep their original modes, some readable only by their owner, and the command does not
        // own what root unpacked. So it unpacks them for itself.
        let sources = Path::new(".cargo/registry/src");
        if !rustix::process::geteuid().is_root() {
            self.show(&home.join(sources), &Path::new(HOME).join(sources));
        }
        for (variable, name) in POINTERS {
            let directory = home.join(name);
            if self.is_visible(&directory) || self.mounts.iter().any(|mount| mount.target.starts_with(&directory)) {
                self.env.insert(variable.into(), directory.display().to_string());
            }
        }
    }

    /// Keeps the directories of the user's own search path that exist inside, in order.
    fn set_path(&mut self, path: &OsStr) {
        let visible = |directory: PathBuf| {
            let resolved = directory.canonicalize().ok()?;
            let usable = [directory, resolved]
                .into_iter()
                .find(|directory| self.is_visible(directory))?;
            usable.to_str().map(str::to_owned)
        };
        let mut directories: Vec<String> = env::split_paths(path).filter_map(visible).collect();
        directories.extend(["/usr/local/bin", "/usr/bin", "/bin"].map(str::to_owned));
        let mut seen = std::collections::BTreeSet::new();
        directories.retain(|directory| !directory.contains(':') && seen.insert(directory.clone()));
        self.env.insert("PATH".into(), directories.join(":"));
    }

    /// Whether a file of the host is visible inside under any name, or would be if it existed.
    pub(crate) fn shows(&self, path: &Path) -> bool {
        let path = resolved(path);
        self.mounts.iter().any(|mount| path.starts_with(&mount.source))
    }

    fn is_visible(&self, path: &Path) -> bool {
        let is_mounted = self.mounts.iter().any(|mount| path.starts_with(&mount.target));
        is_mounted || self.links.keys().any(|link| path.starts_with(link))
    }
}

/// The path after resolving links, even if the file does not exist: creating it would also follow them.
fn resolved(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    // As many links as the kernel follows.
    for _ in 0..40 {
        let is_there = |above: &&Path| above.symlink_metadata().is_ok();
        let Some(nearest) = path.ancestors().find(is_there) else {
            break;
        };
        let rest = path.strip_prefix(nearest).unwrap_or(Path::new("")).to_owned();
        // Joining an empty path would append a slash.
        let with_rest = |base: &Path| base.components().chain(rest.components()).collect::<PathBuf>();
        if let Ok(real) = nearest.canonicalize() {
            return with_rest(&real);
        }
        // A dangling link.
        let Ok(content) = fs::read_link(nearest) else { break };
        path = with_rest(&nearest.parent().unwrap_or(Path::new("/")).join(content));
    }
    path
}

/// The configuration files of package tools, for the machine and in its user's home.
pub(crate) fn settings(home_inside: &Path) -> Vec<(PathBuf, PathBuf)> {
    const OWN: [&str; 7] = [
        ".config/pip/pip.conf",
        ".pip/pip.conf",
        ".npmrc",
        ".yarnrc",
        ".cargo/config.toml",
        ".config/go/env",
        ".m2/settings.xml",
    ];
    let own = env::home_dir().filter(|home| home.is_absolute());
    let own = own
        .iter()
        .flat_map(|home| OWN.map(|name| (home.join(name), home_inside.join(name))));
    [(PathBuf::from("/etc/pip.conf"), PathBuf::from("/etc/pip.conf"))]
        .into_iter()
        .chain(own)
        .collect()
}

fn environment() -> BTreeMap<String, String> {
    let cargo_home = format!("{HOME}/.cargo");
    owned([
        ("HOME", HOME),
        ("USER", "sandbox"),
        ("LOGNAME", "sandbox"),
        ("SHELL", "/bin/sh"),
        ("LANG", "C.UTF-8"),
        ("TMPDIR", "/tmp"),
        ("CI", "true"),
        // There is no network, so a download would only end with a long wait and a misleading error.
        ("CARGO_NET_OFFLINE", "true"),
        ("RUSTUP_AUTO_INSTALL", "0"),
        ("GOPROXY", "off"),
        ("GOTOOLCHAIN", "local"),
        ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
        ("CARGO_HOME", &cargo_home),
    ])
}

fn owned<const N: usize>(variables: [(&str, &str); N]) -> BTreeMap<String, String> {
    variables
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
}

#[cfg(test)]
mod tests;
