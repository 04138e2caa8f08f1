//! Lines of CI scripts that configure a build, and their options.

/// Maximum number of options, and maximum length of one of them.
const MAX_OPTIONS: usize = 40;
const MAX_OPTION: usize = 200;
/// Modes of `cmake` that configure nothing: <https://cmake.org/cmake/help/latest/manual/cmake.1.html>
const OTHER_MODES: [&str; 8] = [
    "--build",
    "--install",
    "--open",
    "-E",
    "-P",
    "--find-package",
    "--workflow",
    "--help",
];
/// Options of `cmake` and `meson` with a value that is no source directory.
const WITH_VALUE: [&str; 8] = ["-B", "-G", "-A", "-T", "-C", "-U", "--preset", "--prefix"];
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
const PARTS_OF_MACHINE: [&str; 4] = ["_COMPILER", "_LINKER", "CMAKE_SYSTEM", "VCPKG"];

/// Whether a line configures a build.
pub(crate) fn configures(words: &[String]) -> bool {
    ["cmake", "meson"].iter().any(|program| is_configuring(words, program))
}

/// Whether it does so with this program.
pub(crate) fn is_configuring(words: &[String], program: &str) -> bool {
    let Some((first, rest)) = words.split_first() else {
        return false;
    };
    first == program
        && match program {
            "meson" => rest.first().is_some_and(|word| word == "setup"),
            _ => !rest.iter().any(|word| OTHER_MODES.contains(&word.as_str())),
        }
}

/// The options among the words of a line that define something, and the source directory. A word that only a shell
/// would know is left out.
pub(crate) fn taken_apart(words: &[Option<String>], program: &str) -> (Vec<String>, String) {
    let (mut options, mut source, mut named) = (Vec::new(), Vec::new(), None);
    let mut words = words.iter().skip(if program == "meson" { 2 } else { 1 });
    while let Some(word) = words.next() {
        let Some(word) = word else { continue };
        match word.as_str() {
            "-D" => options.extend(words.next().cloned().flatten()),
            "-S" => named = words.next().cloned().flatten(),
            word if WITH_VALUE.contains(&word) => {
                words.next();
            }
            word if word.starts_with("-D") => options.push(word[2..].to_owned()),
            word if word.starts_with("-S") => named = Some(word[2..].to_owned()),
            word if word.starts_with('-') => {}
            word => source.push(word.to_owned()),
        }
    }
    options.retain(|option| is_taken(option));
    options.truncate(MAX_OPTIONS);
    // The only directory of `meson setup` is that of the build.
    let source = match (program, source.len()) {
        ("meson", 0 | 1) => None,
        _ => source.pop(),
    };
    let options = options.into_iter().map(|option| format!("-D{option}")).collect();
    (options, named.or(source).unwrap_or_else(|| ".".into()))
}

/// Whether a definition says something about the project, and not about the machine that CI runs on.
fn is_taken(option: &str) -> bool {
    let Some((name, _)) = option.split_once('=') else {
        return false;
    };
    let name = name.split(':').next().unwrap_or_default();
    let is_name = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    is_name
        && option.len() <= MAX_OPTION
        && !OF_MACHINE.contains(&name)
        && !PARTS_OF_MACHINE.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_build_directory_of_meson_is_not_the_source() {
        let words = |line: &str| -> Vec<Option<String>> { line.split(' ').map(|word| Some(word.into())).collect() };
        for (line, options, source) in [
            ("meson setup build -Dtests=true", "-Dtests=true", "."),
            (
                "meson setup build sub -D tests=true --prefix /usr",
                "-Dtests=true",
                "sub",
            ),
            ("meson setup build", "", "."),
        ] {
            let (found, directory) = taken_apart(&words(line), "meson");
            assert_eq!(
                (found.join(" ").as_str(), directory.as_str()),
                (options, source),
                "{line}"
            );
        }
    }
}
