//! The code that is injected into projects whose functions are observed. Its files are Go and Rust, below
//! `injected/`. greenlight's build does not compile them; `just scripts` does.

/// The crate root, which declares the other modules.
const ROOT: &str = include_str!("injected/rust/lib.rs");
const MODULES: [(&str, &str); 4] = [
    ("digest", include_str!("injected/rust/digest.rs")),
    ("observe", include_str!("injected/rust/observe.rs")),
    ("shown", include_str!("injected/rust/shown.rs")),
    ("vary", include_str!("injected/rust/vary.rs")),
];
/// The parts that need unsafe code to work well, and a variant without it.
const MEANS: &str = include_str!("injected/rust/means.rs");
const SAFE_MEANS: &str = include_str!("injected/rust/safe_means.rs");

/// Files to add beside Go files, by name, with the code after the package clause.
const GO: [(&str, &str); 2] = [
    ("greenlight_observe_on.go", include_str!("injected/go/observe.go")),
    ("greenlight_vary_on.go", include_str!("injected/go/vary.go")),
];
/// The name of their package here; every project has a different one.
const PACKAGE: &str = "\npackage observed\n";

/// A module with everything that an observed Rust function calls, without `unsafe` if the crate forbids it.
pub(super) fn rust(has_unsafe: bool) -> String {
    let means = ("means", if has_unsafe { MEANS } else { SAFE_MEANS });
    let inline = |text: String, (name, body): (&str, &str)| {
        text.replace(&format!("\nmod {name};\n"), &format!("\nmod {name} {{\n{body}}}\n"))
    };
    let root = MODULES.into_iter().chain([means]).fold(ROOT.to_owned(), inline);
    format!("mod greenlight_help {{\n{root}}}")
}

pub(super) fn go() -> impl Iterator<Item = (&'static str, &'static str)> {
    let body = |text: &'static str| text.split_once(PACKAGE).map_or(text, |(_, body)| body);
    GO.into_iter().map(move |(name, text)| (name, body(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_is_put_in_its_place() {
        for has_unsafe in [true, false] {
            let text = rust(has_unsafe);
            assert_eq!(text.contains("unsafe {"), has_unsafe);
            for name in ["digest", "means", "observe", "shown", "vary"] {
                assert!(text.contains(&format!("mod {name} {{\n//! ")), "{name}");
                assert!(!text.contains(&format!("mod {name};")), "{name}");
            }
        }
    }

    #[test]
    fn go_files_have_the_package_of_the_project() {
        for (name, body) in go() {
            assert!(body.trim_start().starts_with("import ("), "{name}");
        }
    }
}
