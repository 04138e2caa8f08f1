//! The harness for `node --test`, Mocha and Jest: its sources, and the cell that loads them.

use greenlight_sandbox::Language;

use super::lane::Harness;

/// Loads the modules, both in the thread that takes requests and in those that run tests.
const LOAD: &str = include_str!("node/load.js");

/// The modules by name.
macro_rules! modules {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("node/", $name)))),*]
    };
}
const MODULES: [(&str, &str); 14] = modules! {
    "affected.js" "behaviour.js" "command.js" "coverage.js" "jest.js" "loader.js" "main.js" "mocha.js"
    "node_test.js" "progress.js" "results.js" "survey.js" "time_limit.js" "worker.js"
};

pub(super) fn harness() -> Harness {
    // JSON is valid JavaScript.
    let modules: serde_json::Map<_, _> = MODULES
        .iter()
        .map(|(name, source)| ((*name).to_owned(), (*source).into()))
        .collect();
    let load = format!("const load = ((module) => {{\n{LOAD}\nreturn module.exports;\n}})({{}});\n");
    // Each in a scope that is invisible to the project under test.
    let code = format!(
        "(() => {{\n{load}\
         const modules = {};\n\
         const worker = `{{${{{}}}const modules = ${{JSON.stringify(modules)}};\n\
         load(modules, require)('./worker.js').begin((url) => import(url));}}`;\n\
         globalThis._greenlight = load(modules, require)('./main.js').serve(worker);\n}})();",
        serde_json::Value::from(modules),
        serde_json::Value::from(load.as_str()),
    );
    Harness {
        language: Language::Node,
        code,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_harness_fits_into_one_cell() {
        assert!(harness().code.len() < 1 << 20);
    }

    #[test]
    fn every_module_that_is_required_is_there() {
        for (from, source) in MODULES {
            for name in source.split("require('./").skip(1) {
                let name = name.split('\'').next().unwrap();
                assert!(MODULES.iter().any(|(module, _)| *module == name), "{from}: {name}");
            }
        }
    }
}
