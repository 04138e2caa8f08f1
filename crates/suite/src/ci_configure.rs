//! Lines of CI scripts that configure a build, and their options.

mod presets;

use std::collections::BTreeMap;

pub(crate) use self::presets::preset_options;
use crate::shell::{below_workspace, expanded, split_line};

/// Maximum number of options, and maximum length of one of them.
const MAX_OPTIONS: usize = 40;
const MAX_OPTION: usize = 200;
/// Modes of `cmake` that configure nothing: <https://cmake.org/cmake/help/latest/manual/cmake.1.html>
const OTHER_MODES: [&str; 11] = [
    "--build",
    "--install",
    "--open",
    "-E",
    "-P",
    "--find-package",
    "--workflow",
    "--help",
    "--version",
    "--list-presets",
    "--system-information",
];
/// Options whose value is the next word, and no source directory.
const OF_CMAKE: [&str; 11] = [
    "-B",
    "-G",
    "-A",
    "-T",
    "-C",
    "-U",
    "--preset",
    "--toolchain",
    "--install-prefix",
    "--log-level",
    "--graphviz",
];
/// The same of `meson setup`: <https://mesonbuild.com/Commands.html#setup>
const OF_MESON: [&str; 14] = [
    "--prefix",
    "--libdir",
    "--bindir",
    "--buildtype",
    "--backend",
    "--default-library",
    "--native-file",
    "--cross-file",
    "--optimization",
    "--unity",
    "--warnlevel",
    "--wrap-mode",
    "--pkg-config-path",
    "--auto-features",
];
/// Settings of the machine that CI runs on: where things are installed, and the tools that build.
const OF_MACHINE: [&str; 8] = [
    "CMAKE_INSTALL_PREFIX",
    "CMAKE_TOOLCHAIN_FILE",
    "CMAKE_PREFIX_PATH",
    "CMAKE_MODULE_PATH",
    "CMAKE_MAKE_PROGRAM",
    "CMAKE_SYSROOT",
    "CMAKE_BINARY_DIR",
    "prefix",
];
/// Parts of the names of such settings.
const PARTS_OF_MACHINE: [&str; 4] = ["_COMPILER_LAUNCHER", "_LINKER", "CMAKE_SYSTEM", "VCPKG"];

/// The program with which a line configures a build.
pub(crate) fn is_configuring(words: &[String]) -> Option<&'static str> {
    let (first, rest) = words.split_first()?;
    match first.as_str() {
        "meson" => rest.first().is_some_and(|word| word == "setup").then_some("meson"),
        "cmake" => {
            let is_other = |word: &String| OTHER_MODES.contains(&word.as_str()) || word.starts_with("--help-");
            (!rest.iter().any(is_other)).then_some("cmake")
        }
        _ => None,
    }
}

/// What a line says about the build that it configures.
#[derive(Debug, Default)]
pub(crate) struct Configured {
    /// The options that define something.
    pub(crate) options: Vec<String>,
    /// The source directory, as it is written.
    pub(crate) source: String,
    /// The directory of the build, as it is written, where one is named.
    pub(crate) build: Option<String>,
    /// The preset of CMake.
    pub(crate) preset: Option<String>,
}

/// Reads a line that configures a build. `None` if only a shell would know its source directory. Other words that only a
/// shell would know are left out.
pub(crate) fn taken_apart(words: &[String], env: &BTreeMap<String, String>, program: &str) -> Option<Configured> {
    let (skipped, with_value): (usize, &[&str]) = match program {
        "meson" => (2, &OF_MESON),
        _ => (1, &OF_CMAKE),
    };
    let mut found = Configured::default();
    let (mut plain, mut named) = (Vec::new(), None);
    let words = split_line(words, env, |word| Some(vec![word.to_string()]))?;
    let mut words = words.iter().skip(skipped);
    while let Some(word) = words.next() {
        match word.as_str() {
            "-D" => found.options.extend(words.next().and_then(|word| expanded(word, env))),
            "-S" => named = words.next(),
            "-B" if program == "cmake" => found.build = words.next().cloned(),
            "--preset" => found.preset = words.next().and_then(|word| expanded(word, env)),
            // What `-S` was called before it was documented.
            name if program == "cmake" && name.starts_with("-H") => plain.push(&word[2..]),
            name if program == "cmake" && name.starts_with("-B") => found.build = Some(word[2..].to_owned()),
            name if with_value.contains(&name) => {
                words.next();
            }
            name if name.starts_with("-D") => found.options.extend(expanded(&word[2..], env)),
            name if name.starts_with("--preset=") => found.preset = expanded(&word["--preset=".len()..], env),
            name if name.starts_with('-') => {}
            _ => plain.push(word.as_str()),
        }
    }
    found.options.retain(|option| is_taken(option));
    found.options.truncate(MAX_OPTIONS);
    found.options = found.options.into_iter().map(|option| format!("-D{option}")).collect();
    let is_known = |word: &&str| below_workspace(word).is_some() || expanded(word, env).is_some();
    // The only directory of `meson setup` is that of the build.
    if program == "meson" {
        found.build = plain.first().map(ToString::to_string);
    }
    let source = match (named, program, plain.len()) {
        (Some(named), ..) => Some(named.as_str()),
        (None, _, 0) | (None, "meson", 1) => None,
        (None, "meson", _) => plain.pop(),
        // Where one word is unknown, it may be an option.
        (None, ..) => Some(plain.into_iter().rfind(is_known)?),
    };
    source.unwrap_or(".").clone_into(&mut found.source);
    Some(found)
}

/// Whether a definition says something about the project, and not about the machine that CI runs on.
fn is_taken(option: &str) -> bool {
    let Some((name, value)) = option.split_once('=') else {
        return false;
    };
    let name = name.split(':').next().unwrap_or_default();
    let is_name = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    let is_of_machine = OF_MACHINE.contains(&name)
        || name.ends_with("_COMPILER")
        || PARTS_OF_MACHINE.iter().any(|part| name.contains(part))
        || value.starts_with(['/', '~']);
    // Its report is requested behind the first word that is a path of this program.
    let names_ctest = option.split([' ', '\t', '\n', '/']).any(|part| part == "ctest");
    is_name && !is_of_machine && option.len() <= MAX_OPTION && !names_ctest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_build_directory_of_meson_is_not_the_source() {
        let words = |line: &str| -> Vec<String> { line.split(' ').map(String::from).collect() };
        for (line, options, source) in [
            ("meson setup build -Dtests=true", "-Dtests=true", "."),
            (
                "meson setup build sub -D tests=true --prefix /usr",
                "-Dtests=true",
                "sub",
            ),
            ("meson setup build --buildtype debug", "", "."),
        ] {
            let found = taken_apart(&words(line), &BTreeMap::new(), "meson").unwrap();
            assert_eq!(
                (found.options.join(" ").as_str(), found.source.as_str()),
                (options, source),
                "{line}"
            );
        }
    }
}
