//! The harness for Maven with JUnit: its sources, and the cell that compiles and starts them.
//!
//! One process compiles candidates in memory, and others run the tests, each candidate with its classes loaded anew.
//! It needs the JDK that the project needs, and nothing else: bash only passes lines on.

use std::fmt::Write as _;

use greenlight_sandbox::Language;

use super::lane::Harness;

/// The classes by name.
macro_rules! classes {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("java/", $name, ".java")))),*]
    };
}
const CLASSES: [(&str, &str); 14] = classes! {
    "Behaviour" "Build" "Child" "Compiler" "Guard" "Json" "Lines" "Main" "Prepared" "Probe" "Trials" "Units" "Values"
    "Worker"
};
/// Marks the end of a file; no class has such a line.
const END: &str = "_greenlight_end_of_file";
/// These programs end soon, so that thorough optimisation does not pay.
const QUICK: &str = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData";
/// The compiler that keeps what it has read is not part of the supported interface; without it, it reads again.
const POOL: &str = "--add-exports=jdk.compiler/com.sun.tools.javac.api=ALL-UNNAMED";

pub(super) fn harness() -> Harness {
    let mut code = String::from("_greenlight_home=$(mktemp -d) || return\n");
    for (name, source) in CLASSES {
        // Writing to a string does not fail.
        let _ = write!(
            code,
            "cat > \"$_greenlight_home/{name}.java\" <<'{END}'\n{source}{END}\n"
        );
    }
    let for_compiler = QUICK.split(' ').map(|option| format!("-J{option}")).collect::<Vec<_>>();
    let _ = write!(
        code,
        "javac {} -proc:none -nowarn -encoding UTF-8 -d \"$_greenlight_home\" \"$_greenlight_home\"/*.java >&2 || return\n\
         coproc _greenlight_jvm {{ exec java {QUICK} {POOL} -cp \"$_greenlight_home\" greenlight.Main; }}\n\
         _greenlight() {{\n\
         printf '%s\\n' \"$1\" >&\"${{_greenlight_jvm[1]}}\" && IFS= read -r _greenlight_line <&\"${{_greenlight_jvm[0]}}\" &&\n\
         printf '%s' \"$_greenlight_line\"\n\
         }}\n",
        for_compiler.join(" "),
    );
    Harness {
        language: Language::Bash,
        code,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_is_sent_and_fits_into_one_cell() {
        let code = harness().code;
        assert!(code.len() < 1 << 20);
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/warm/java");
        for file in std::fs::read_dir(folder).unwrap() {
            let name = file.unwrap().file_name().into_string().unwrap();
            assert!(code.contains(&format!("/{name}\" <<")), "{name}");
        }
        for (name, source) in CLASSES {
            assert!(source.ends_with('\n') && !source.contains(END), "{name}");
        }
    }
}
