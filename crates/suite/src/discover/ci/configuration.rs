//! The options with which CI configures a build before it tests it. Many projects build their tests only if they are
//! told to, as with `-DBUILD_TESTING=ON`.

use std::collections::BTreeMap;

use greenlight_anchor::RepoPath;
use greenlight_readers::ci_step::CiStep;
use greenlight_tree::checkout::Checkout;

use crate::ci_configure::{is_configuring, preset_options, taken_apart};
use crate::ci_variables::set_for;
use crate::discover::step::{own_script, tool};
use crate::framework::Framework;
use crate::shell::{self, assigned, line_directory, quoted};
use crate::test_command::{Source, TestCommand};

/// Build tools, which may run tests of any framework.
const BUILD_TOOLS: [&str; 4] = ["cmake", "make", "meson", "ninja"];

/// Variables with flags of compilers, and the options of CMake that begin with their values.
/// <https://cmake.org/cmake/help/latest/manual/cmake-env-variables.7.html>
const FLAGS: [(&str, &str); 5] = [
    ("CFLAGS", "CMAKE_C_FLAGS"),
    ("CXXFLAGS", "CMAKE_CXX_FLAGS"),
    ("LDFLAGS", "CMAKE_EXE_LINKER_FLAGS"),
    ("LDFLAGS", "CMAKE_MODULE_LINKER_FLAGS"),
    ("LDFLAGS", "CMAKE_SHARED_LINKER_FLAGS"),
];

/// Adds the options of CI to commands of the project's files that configure a build, as the job does that tests it.
pub(in crate::discover) fn configure(checkout: &Checkout, commands: &mut [TestCommand], steps: &[&CiStep]) {
    // Scripts are parsed once for all commands.
    let mut found: Option<Vec<Configuration>> = None;
    for command in commands {
        let framework = command.framework;
        let Some(configure) = framework.spec().configure else {
            continue;
        };
        let is_of_file = matches!(command.source, Source::File(_));
        let [shell, flag, script] = command.argv.as_mut_slice() else {
            continue;
        };
        let is_own = shell == "sh" && flag == "-c" && is_of_file;
        let Some(rest) = script.strip_prefix(configure).filter(|_| is_own) else {
            continue;
        };
        let found = found.get_or_insert_with(|| steps.iter().flat_map(|step| configurations(checkout, step)).collect());
        let fits = |one: &&Configuration| configure.starts_with(one.program) && one.directory == command.directory;
        // The job that runs this framework knows best.
        let runs_it = |one: &&Configuration| one.runs.contains(&framework);
        let chosen = found.iter().filter(fits).find(runs_it).or(found.iter().find(fits));
        if let Some(options) = chosen.map(|one| &one.options).filter(|options| !options.is_empty()) {
            *script = format!("{configure} {}{rest}", in_shell(options));
        }
    }
}

/// How a job configures a build.
pub(super) struct Configuration {
    pub(super) program: &'static str,
    /// The directory of its sources.
    pub(super) directory: Option<RepoPath>,
    pub(super) options: Vec<String>,
    /// Where it is built. `None` if that is outside of the checkout, or unknown.
    pub(super) build: Option<Build>,
    /// The frameworks that the step of the tests runs.
    runs: Vec<Framework>,
}

/// What a step, or the steps before it, configure. None if the step does not test a build.
fn configurations(checkout: &Checkout, step: &CiStep) -> Vec<Configuration> {
    let own = own_script(step);
    let tests = lines(step, &own.script);
    let runs: Vec<Framework> = tests
        .iter()
        .filter_map(|line| tool::of(&line.words).flatten())
        .collect();
    let is_build_tool = |line: &shell::SimpleCommand| {
        let program = line.words.first();
        program.is_some_and(|program| BUILD_TOOLS.contains(&program.as_str()))
    };
    if !runs.iter().any(|framework| framework.spec().configure.is_some()) && !tests.iter().any(is_build_tool) {
        return Vec::new();
    }
    let mut tested: Vec<Build> = Vec::new();
    for script in step.before.iter().chain([&own]) {
        for line in lines(step, &script.script) {
            if let Some(build) = tested_build(&line.words) {
                let changes = [line.directory, vec![build]].concat();
                tested.extend(line_directory(script.directory.as_ref(), &changes, &step.env));
            }
        }
    }
    let mut found = configured(checkout, step);
    // Of several builds, the one that is tested.
    let is_tested = |one: &Configuration| one.build.as_ref().is_some_and(|build| tested.contains(build));
    if found.iter().any(is_tested) {
        found.retain(is_tested);
    }
    found.iter_mut().for_each(|one| one.runs.clone_from(&runs));
    found
}

/// The lines of a script in the context of a step.
pub(super) fn lines(step: &CiStep, script: &str) -> Vec<shell::SimpleCommand> {
    shell::lines(script, &step.env, |_| false).unwrap_or_default()
}

/// The builds that a step, or the steps before it, configure for this machine.
pub(super) fn configured(checkout: &Checkout, step: &CiStep) -> Vec<Configuration> {
    let own = own_script(step);
    let mut found = Vec::new();
    for script in step.before.iter().chain([&own]) {
        for line in lines(step, &script.script) {
            let at = |changes: Vec<String>| line_directory(script.directory.as_ref(), &changes, &step.env);
            let Some(program) = is_configuring(&line.words) else {
                continue;
            };
            let env = assigned(&step.env, &line.env);
            let Some(mut line_says) = taken_apart(&line.words, env.as_ref().unwrap_or(&step.env), program) else {
                continue;
            };
            let Some(directory) = at([line.directory.clone(), vec![line_says.source]].concat()) else {
                continue;
            };
            if let Some(preset) = line_says.preset {
                let read = |path: &str| {
                    checkout.read_text(&match &directory {
                        Some(directory) => format!("{directory}/{path}"),
                        None => path.to_owned(),
                    })
                };
                line_says.options.splice(0..0, preset_options(&preset, &read));
            }
            if line_says.options.iter().any(|option| is_for_another_processor(option)) {
                continue;
            }
            if program == "cmake" {
                let flags = flags_of(&set_for(&line, script, &step.env), &line_says.options);
                line_says.options.extend(flags);
            }
            let build = line_says.build.unwrap_or_else(|| ".".into());
            found.push(Configuration {
                program,
                directory,
                options: line_says.options,
                build: at([line.directory, vec![build]].concat()),
                runs: Vec::new(),
            });
        }
    }
    found
}

/// The options for the flags in variables, as far as no option says otherwise.
fn flags_of(variables: &BTreeMap<String, String>, options: &[String]) -> Vec<String> {
    let is_set = |name: &str| options.iter().any(|option| option.starts_with(&format!("-D{name}")));
    let flags = FLAGS.iter().filter_map(|(variable, name)| {
        let value = variables.get(*variable).map(|value| value.trim())?;
        (!value.is_empty() && !is_set(name)).then(|| format!("-D{name}={value}"))
    });
    flags.collect()
}

/// Whether an option has flags of a compiler for another processor than this machine's.
fn is_for_another_processor(option: &str) -> bool {
    const OTHERS: [&str; 8] = ["aarch64", "arm", "loongarch", "mips", "powerpc", "ppc", "riscv", "s390"];
    let own = if std::env::consts::ARCH == "aarch64" {
        &OTHERS[2..]
    } else {
        &OTHERS[..]
    };
    let mut words = option.split([' ', '=', ';']).peekable();
    while let Some(word) = words.next() {
        let names = |word: &str| own.iter().any(|other| word.starts_with(other));
        let is_processor =
            matches!(word, "-march" | "-mcpu" | "--target") && words.peek().is_some_and(|next| names(next));
        if word == "-m32" || is_processor {
            return true;
        }
    }
    false
}

/// A directory of a build. `None` is the root.
pub(super) type Build = Option<RepoPath>;

/// The directory with the build that a line tests, as it is written.
fn tested_build(words: &[String]) -> Option<String> {
    let option = match words.first()?.as_str() {
        "ctest" => "--test-dir",
        "make" | "ninja" | "meson" => "-C",
        "cmake" if words.iter().any(|word| matches!(word.as_str(), "test" | "check")) => "--build",
        _ => return None,
    };
    let mut values = words.iter().skip_while(|word| *word != option).skip(1);
    let joined = || {
        words
            .iter()
            .find_map(|word| word.strip_prefix(option)?.strip_prefix('=').map(String::from))
    };
    Some(values.next().cloned().or_else(joined).unwrap_or_else(|| ".".into()))
}

/// Options as a shell reads them.
pub(super) fn in_shell(options: &[String]) -> String {
    let is_plain = |option: &str| {
        option
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_=.:/+".contains(c))
    };
    let words: Vec<_> = options
        .iter()
        .map(|option| match is_plain(option) {
            true => option.into(),
            false => quoted(option),
        })
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use greenlight_readers::ci_step::CiScript;

    use super::*;

    fn found(before: &str, script: &str) -> String {
        let step = CiStep {
            workflow: "ci.yml".parse().unwrap(),
            job: "test".into(),
            name: "Test".into(),
            script: script.into(),
            directory: None,
            env: BTreeMap::from([("STANDARD".into(), "17".into())]),
            own_env: std::collections::BTreeSet::new(),
            shows: None,
            before: vec![CiScript {
                script: before.into(),
                directory: None,
                env: BTreeMap::new(),
            }],
            versions: BTreeMap::new(),
            services: Vec::new(),
            is_aside: false,
        };
        let mut command = TestCommand::new(
            ["sh", "-c", "cmake -S . -B .greenlight-build && ctest"]
                .map(String::from)
                .to_vec(),
            Framework::Ctest,
            Source::File("CMakeLists.txt".parse().unwrap()),
        );
        let tree = tempfile::tempdir().unwrap();
        let presets = r#"{"configurePresets": [{"name": "ci", "cacheVariables": {"A": true, "B": "1"}}]}"#;
        std::fs::write(tree.path().join("CMakePresets.json"), presets).unwrap();
        let checkout = Checkout::open(tree.path()).unwrap();
        configure(&checkout, std::slice::from_mut(&mut command), &[&step]);
        command.argv[2].clone()
    }

    #[test]
    fn the_options_of_ci_configure_the_build() {
        for (before, script, expected) in [
            ("cmake -S . -B build -DA=ON", "cd build && ctest", " -DA=ON"),
            (
                "mkdir build && cd build\ncmake .. -D A:BOOL=ON \\\n -DSTD=$STANDARD",
                "make test",
                " -DA:BOOL=ON -DSTD=17",
            ),
            ("cmake -B build -G Ninja -DFLAGS='-O2 -g'", "ctest", " '-DFLAGS=-O2 -g'"),
            ("", "cmake -DB=1 . && make && ctest", " -DB=1"),
            // Of a preset, and its own.
            ("cmake --preset ci -DB=2", "ctest --preset ci", " -DA=TRUE -DB=1 -DB=2"),
            ("cmake --preset=ci", "ctest --preset ci", " -DA=TRUE -DB=1"),
            ("cmake --preset absent", "ctest", ""),
            ("O='-DA=1 -DB=2'\ncmake . $O", "ctest", " -DA=1 -DB=2"),
            (
                "if [ \"a\" == \"b\" ]; then O=-DA=1; elif [[ a = a ]]; then O='-DA=2'; else O=-DA=3; fi\ncmake . $O",
                "ctest",
                " -DA=2",
            ),
            ("cmake . -DA=1 || (rm -rf * && cmake . -DA=2)", "ctest", " -DA=1"),
            // Of several builds, the one that is tested.
            (
                "cmake -B one -DA=1\ncmake -S . -Btwo -DA=2\ncmake -B three -DA=3",
                "ctest --test-dir two",
                " -DA=2",
            ),
            (
                "cmake -B one -DA=1\nmkdir two\ncd two\ncmake .. -DA=2",
                "cd two\nctest",
                " -DA=2",
            ),
            ("cmake -B one -DA=1\ncmake -B two -DA=2", "make -C two test", " -DA=2"),
            (
                "cmake -B one -DA=1\ncmake -B two -DA=2",
                "ctest --test-dir $D",
                " -DA=1",
            ),
            // No source directory, or one that only the machine of CI knows.
            ("cmake --version\ncmake -B build -DA=ON", "ctest", " -DA=ON"),
            ("cmake -S \"$GITHUB_WORKSPACE/examples\" -B build -DA=ON", "ctest", ""),
            ("cmake \"$PWD/other\" -DA=ON", "ctest", ""),
            ("cmake -S $ELSEWHERE -DA=ON", "ctest", ""),
            ("cmake -B build $FLAGS -DA=ON", "ctest", ""),
            ("cmake . -DA=1 '-DF=-O2 -m32'\ncmake . -DA=2", "ctest", " -DA=2"),
            (
                "cmake . -DA=1 -DF=-march=mips64\ncmake . -DA=-march=native",
                "ctest",
                " -DA=-march=native",
            ),
            ("mkdir b && cd b && cmake $GITHUB_WORKSPACE -DA=ON", "ctest", " -DA=ON"),
            ("cmake -B build -DA=ON", "make -C build test", " -DA=ON"),
            ("cmake -B build -DTESTS=doctest", "ctest", " -DTESTS=doctest"),
            // Of the machine, or unknown.
            (
                "cmake . -DROOT=/opt/x -DHOME_DIR=~/x -DX_COMPILER_WARNINGS=ON",
                "ctest",
                " -DX_COMPILER_WARNINGS=ON",
            ),
            (
                "cmake . -DCMAKE_C_COMPILER=icc -DCMAKE_INSTALL_PREFIX=/opt -DA=$B",
                "ctest",
                "",
            ),
            // Would be taken for the program that runs the tests.
            ("cmake . -DRUNNER=bin/ctest '-DA=b bin/ctest c'", "ctest", ""),
            // Something else is tested or configured.
            ("cmake -B build -DA=ON", "pytest", ""),
            ("cmake --build build -DA=ON", "ctest", ""),
            ("cmake -S examples -B build -DA=ON", "ctest", ""),
            ("cmake -S \"$GITHUB_WORKSPACE\" -B build -DA=ON", "ctest", " -DA=ON"),
            ("cmake -P run.cmake -DA=ON", "ctest", ""),
        ] {
            let expected = format!("cmake -S . -B .greenlight-build{expected} && ctest");
            assert_eq!(found(before, script), expected, "{before} {script}");
        }
    }

    #[test]
    fn flags_of_compilers_reach_the_build() {
        for (before, expected) in [
            ("CFLAGS=-Werror CC=clang cmake .", " -DCMAKE_C_FLAGS=-Werror"),
            (
                "export CXXFLAGS='-O2 -g'\ncmake . -DCMAKE_CXX_FLAGS=-O1",
                " -DCMAKE_CXX_FLAGS=-O1",
            ),
            ("CXXFLAGS= cmake .", ""),
            ("CFLAGS=$(id) cmake .", ""),
            ("CFLAGS=';id' cmake .", " '-DCMAKE_C_FLAGS=;id'"),
        ] {
            let expected = format!("cmake -S . -B .greenlight-build{expected} && ctest");
            assert_eq!(found(before, "ctest"), expected, "{before}");
        }
    }

    #[test]
    fn a_hostile_option_stays_one_word() {
        let line = found("cmake . '-DA=$(id)' '-DB=;id' \"-D--help=1\" '-DA`id`=1'", "ctest");
        assert_eq!(
            line,
            "cmake -S . -B .greenlight-build '-DA=$(id)' '-DB=;id' -D--help=1 && ctest"
        );
    }
}
