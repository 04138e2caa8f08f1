//! Files that code under test must not be able to read, placed where secrets tend to be: among software that people
//! unpacked by hand, and among greenlight's own files. Whether a sandbox hides them is tested by reading them inside.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::{NamedTempFile, TempDir};

use crate::config::secrets::PrivatePath;
use crate::sandbox::{Backend, Sandbox};

/// Folders that sandboxes show in part, because they contain tools.
const NEAR_TOOLS: [&str; 3] = ["/opt", "/usr/local", "/usr/local/etc"];
const PREFIX: &str = ".greenlight-doctor-";

/// A place, and the file in it.
pub(super) struct Canary {
    place: PathBuf,
    setting: Option<&'static str>,
    /// The file that is read inside, or why there is none.
    file: Result<PathBuf, String>,
    _kept: CleanUp,
}

/// What is removed at the end.
enum CleanUp {
    Nothing,
    Folder(#[expect(dead_code, reason = "it is there to be dropped")] TempDir),
    File(#[expect(dead_code, reason = "it is there to be dropped")] NamedTempFile),
}

/// The result of reading a canary.
pub(super) struct Tried<'a> {
    canary: &'a Canary,
    hidden: Vec<Backend>,
    shown: Vec<Backend>,
}

/// Creates files in all of these places. They must exist before a sandbox is detected, because that decides what it
/// shows.
pub(super) fn plant(own: Vec<PrivatePath>) -> Vec<Canary> {
    let near_tools = NEAR_TOOLS.iter().filter(|path| Path::new(path).is_dir()).map(|path| {
        let planted = in_new_folder(Path::new(path));
        Canary::of(Path::new(path), None, planted)
    });
    let own = own.into_iter().map(|PrivatePath { setting, path }| {
        let planted = if path.is_dir() {
            in_folder(&path)
        } else if path.exists() {
            Ok((path.clone(), CleanUp::Nothing))
        } else {
            Err("it does not exist yet".into())
        };
        Canary::of(&path, Some(setting), planted)
    });
    near_tools.chain(own).collect()
}

/// Creates a world-readable file in a world-readable folder, as people leave one beside software they unpacked.
fn in_new_folder(place: &Path) -> Result<(PathBuf, CleanUp), String> {
    let make = || {
        let folder = tempfile::Builder::new().prefix(&PREFIX[1..]).tempdir_in(place)?;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
        let file = folder.path().join(".env");
        fs::write(&file, "PASSWORD=canary\n")?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644))?;
        Ok((file, CleanUp::Folder(folder)))
    };
    make().map_err(unwritable)
}

fn in_folder(place: &Path) -> Result<(PathBuf, CleanUp), String> {
    let make = || {
        let file = tempfile::Builder::new().prefix(PREFIX).tempfile_in(place)?;
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o644))?;
        Ok((file.path().to_owned(), CleanUp::File(file)))
    };
    make().map_err(unwritable)
}

#[expect(clippy::needless_pass_by_value, reason = "as `map_err` gives it")]
fn unwritable(error: std::io::Error) -> String {
    format!("this user cannot create a file there ({error})")
}

impl Canary {
    fn of(place: &Path, setting: Option<&'static str>, planted: Result<(PathBuf, CleanUp), String>) -> Self {
        let (file, kept) = match planted {
            Ok((file, kept)) => (Ok(file), kept),
            Err(reason) => (Err(reason), CleanUp::Nothing),
        };
        Self {
            place: place.to_owned(),
            setting,
            file,
            _kept: kept,
        }
    }

    /// The file to read inside.
    pub(super) fn file(&self) -> Option<&Path> {
        self.file.as_deref().ok()
    }

    /// Which sandboxes showed the file, given what each one's attack could do.
    pub(super) fn tried<'a>(&'a self, attacks: &[(&Sandbox, Vec<String>)]) -> Tried<'a> {
        let read = self.file().map(|file| format!("read {}", file.display()));
        let is_shown = |(sandbox, worked): &&(&Sandbox, Vec<String>)| {
            let was_read = read.as_ref().is_some_and(|read| worked.contains(read));
            // A file that does not exist yet would be shown once it does.
            was_read || (self.setting.is_some() && sandbox.shows(&self.place))
        };
        let (shown, hidden): (Vec<_>, Vec<_>) = attacks.iter().partition(is_shown);
        let names = |those: Vec<&(&Sandbox, Vec<String>)>| those.iter().map(|(sandbox, _)| sandbox.backend()).collect();
        Tried {
            canary: self,
            shown: names(shown),
            hidden: if read.is_some() { names(hidden) } else { Vec::new() },
        }
    }
}

impl Tried<'_> {
    pub(super) fn is_shown(&self) -> bool {
        !self.shown.is_empty()
    }

    pub(super) fn document(&self) -> Value {
        json!({
            "place": self.canary.place,
            "setting": self.canary.setting,
            "hidden": self.hidden,
            "shown": self.shown,
            "not_tried": self.canary.file.as_ref().err(),
        })
    }

    pub(super) fn line(&self) -> String {
        let place = self.canary.place.display();
        let mut line = match self.canary.setting {
            Some(setting) => format!("{place} ({setting}): "),
            None => format!("{place}: "),
        };
        match &self.canary.file {
            _ if self.is_shown() => {
                let remedy = match self.canary.setting {
                    Some(setting) => format!("set {setting} to another place, such as a folder below /var/lib"),
                    None => "report this as a security problem of greenlight".into(),
                };
                line += &format!("READABLE in {}\n  remedy: {remedy}", list(&self.shown));
            }
            Ok(_) => line += &format!("hidden in {}", list(&self.hidden)),
            Err(reason) => line += &format!("not tried: {reason}"),
        }
        line
    }
}

/// The names as part of a sentence.
pub(super) fn list(backends: &[Backend]) -> String {
    let names: Vec<_> = backends.iter().map(ToString::to_string).collect();
    if names.is_empty() {
        "no sandbox".into()
    } else {
        names.join(", ")
    }
}
