//! Actions that run a command which the workflow gives them, as a line for a shell.

use super::files::in_tree;
use super::script_text::without_unknown_words;
use super::{Node, Scope, interpolate};
use crate::shell::quoted;

/// What <https://cibuildwheel.pypa.io> runs.
pub(super) const WHEELS: &str = "cibuildwheel";

/// How an action is told what to run.
enum Inputs {
    /// The whole script is one input.
    Script(&'static str),
    /// A program, and the inputs with its words, in order. An input may hold several words.
    Program(&'static str, &'static [&'static str]),
    /// A Gradle build: <https://github.com/gradle/actions/blob/v3/docs/setup-gradle.md>
    Gradle,
    /// Presets of CMake: <https://github.com/lukka/run-cmake>
    CmakePresets,
}

/// Those that test projects use, without their versions.
const ACTIONS: [(&str, Inputs); 16] = [
    // <https://github.com/nick-fields/retry>
    ("nick-fields/retry", Inputs::Script("command")),
    ("nick-invision/retry", Inputs::Script("command")),
    // <https://github.com/Wandalen/wretry.action>
    ("Wandalen/wretry.action", Inputs::Script("command")),
    // <https://github.com/coactions/setup-xvfb>
    ("coactions/setup-xvfb", Inputs::Script("run")),
    ("GabrielBB/xvfb-action", Inputs::Script("run")),
    // <https://github.com/paambaati/codeclimate-action>
    ("paambaati/codeclimate-action", Inputs::Script("coverageCommand")),
    // <https://github.com/actions-rs/cargo>
    ("actions-rs/cargo", Inputs::Program("cargo", &["command", "args"])),
    ("actions-rs-plus/cargo", Inputs::Program("cargo", &["command", "args"])),
    (
        "ClementTsang/cargo-action",
        Inputs::Program("cargo", &["command", "args"]),
    ),
    // <https://github.com/Borales/actions-yarn>
    ("borales/actions-yarn", Inputs::Program("yarn", &["cmd"])),
    ("Borales/actions-yarn", Inputs::Program("yarn", &["cmd"])),
    ("gradle/gradle-build-action", Inputs::Gradle),
    ("gradle/actions/setup-gradle", Inputs::Gradle),
    ("burrunan/gradle-cache-action", Inputs::Gradle),
    ("lukka/run-cmake", Inputs::CmakePresets),
    // <https://github.com/ReactiveCircus/android-emulator-runner>
    ("reactivecircus/android-emulator-runner", Inputs::Script("script")),
];

/// What an action runs. `None` if it is not one of these, or if its inputs are not known here.
pub(super) fn command_of_action(step: &Node, uses: &str, scope: &Scope) -> Option<String> {
    let (name, _) = uses.split_once('@')?;
    // <https://cibuildwheel.pypa.io/en/stable/ci-services/#github-actions>
    if name == "pypa/cibuildwheel" {
        let is_elsewhere = step.get("with").is_some_and(|with| with.get("package-dir").is_some());
        return (!is_elsewhere).then(|| WHEELS.into());
    }
    let (_, inputs) = ACTIONS.iter().find(|(action, _)| *action == name)?;
    let with = step.get("with")?;
    let value = |input: &str| match with.get(input) {
        Some(value) => interpolate(&without_unknown_words(&value.scalar()?, scope), scope),
        None => Some(String::new()),
    };
    let line = match inputs {
        Inputs::Script(input) => value(input)?,
        Inputs::Program(_, _) if value("use-cross")? == "true" => return None,
        Inputs::Program(program, inputs) => {
            let words: Vec<String> = inputs.iter().map(|input| value(input)).collect::<Option<_>>()?;
            // Arguments of several lines are those of one command.
            let words = words.iter().flat_map(|text| text.lines().map(str::trim));
            [program]
                .into_iter()
                .copied()
                .chain(words.filter(|text| !text.is_empty()))
                .collect::<Vec<_>>()
                .join(" ")
        }
        Inputs::Gradle => gradle(&value("arguments")?, &value("build-root-directory")?)?,
        Inputs::CmakePresets => {
            let (configure, test) = (value("configurePreset")?, value("testPreset")?);
            let line = |program: &str, preset: &str| match preset {
                "" => None,
                preset => Some(format!("{program} --preset {}", quoted(preset))),
            };
            let lines: Vec<String> = line("cmake", &configure)
                .into_iter()
                .chain(line("ctest", &test))
                .collect();
            lines.join("\n")
        }
    };
    (!line.trim().is_empty()).then_some(line)
}

/// The wrapper of a Gradle build with these arguments. `None` if there are none: then the action only installs Gradle.
fn gradle(arguments: &str, root: &str) -> Option<String> {
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    if arguments.is_empty() {
        return None;
    }
    let line = format!("./gradlew {}", arguments.join(" "));
    Some(match in_tree(root)? {
        Some(root) => format!("cd {} && {line}", quoted(root.as_str())),
        None => line,
    })
}

#[cfg(test)]
mod tests {
    use greenlight_anchor::RepoPath;

    use crate::workflow::test_steps;

    #[test]
    fn the_commands_of_well_known_actions_are_those_of_the_job() {
        let path: RepoPath = ".github/workflows/ci.yml".parse().unwrap();
        let of = |action: &str, with: &str| {
            let text = format!(
                "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    strategy: {{matrix: {{flags: [--all-features], more: '${{{{ a() }}}}'}}}}\n    \
                 steps: [{{uses: '{action}', with: {{{with}}}}}]\n"
            );
            let steps = test_steps([&path], &mut |_| Some(text.clone()));
            steps.first().map(|step| step.script.clone()).unwrap_or_default()
        };
        for (action, with, expected) in [
            ("nick-fields/retry@v3", "command: npm test, max_attempts: 3", "npm test"),
            (
                "actions-rs/cargo@v1",
                "command: test, args: '--workspace ${{ matrix.flags }}'",
                "cargo test --workspace --all-features",
            ),
            ("actions-rs/cargo@v1", "command: test, use-cross: true", ""),
            ("actions-rs/cargo@v1", "command: test, args: '${{ secrets.X }}'", ""),
            ("borales/actions-yarn@v4", "cmd: test --ci", "yarn test --ci"),
            (
                "gradle/gradle-build-action@v2",
                "arguments: check -x lint",
                "./gradlew check -x lint",
            ),
            (
                "gradle/actions/setup-gradle@v3",
                "arguments: test, build-root-directory: a b",
                "cd 'a b' && ./gradlew test",
            ),
            (
                "burrunan/gradle-cache-action@v3",
                "arguments: 'check -i ${{ matrix.more }} ${{ matrix.more }}'",
                "",
            ),
            (
                "burrunan/gradle-cache-action@v3",
                "arguments: 'check -Da=b ${{ matrix.more }} ${{ matrix.more }}'",
                "./gradlew check -Da=b",
            ),
            ("gradle/actions/setup-gradle@v4", "cache-disabled: true", ""),
            (
                "lukka/run-cmake@v10",
                "configurePreset: ci, buildPreset: ci, testPreset: ci",
                "cmake --preset ci\nctest --preset ci",
            ),
            ("someone/else@v1", "command: npm test", ""),
        ] {
            assert_eq!(of(action, with), expected, "{action} {with}");
        }
    }
}
