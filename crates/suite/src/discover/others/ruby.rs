//! What Ruby projects have in common, no matter which framework tests them.

use crate::discover::directory::Directory;
use crate::framework::Framework;
use crate::test_command::TestCommand;

/// A command, run through Bundler if the project uses it.
pub(crate) fn command(place: &Directory<'_>, argv: &[&str], framework: Framework, file: &str) -> Option<TestCommand> {
    let is_bundled = place.has("Gemfile") && argv.first() != Some(&"bin/rails");
    let bundle: &[&str] = if is_bundled { &["bundle", "exec"] } else { &[] };
    place.command(&[bundle, argv].concat(), framework, file)
}

/// The first file below `spec`.
pub(crate) fn spec<'a>(place: &'a Directory<'_>) -> Option<&'a str> {
    place
        .files()
        .find(|path| path.starts_with("spec/") && path.ends_with("_spec.rb"))
}

/// Whether the files below `spec` are written for Minitest.
pub(crate) fn has_minitest_specs(place: &Directory<'_>) -> bool {
    let loads_minitest = |file: &str| place.text(file).is_some_and(|text| text.lines().any(loads_minitest));
    ["spec/spec_helper.rb", "spec/helper.rb"]
        .into_iter()
        .any(loads_minitest)
        || spec(place).is_some_and(loads_minitest)
}

/// Whether a line loads Minitest. The comments that `rspec --init` writes mention it as well.
fn loads_minitest(line: &str) -> bool {
    let library = line.trim_start().strip_prefix("require");
    library.is_some_and(|library| {
        library
            .trim_start_matches([' ', '(', '"', '\''])
            .starts_with("minitest")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_does_not_load_minitest() {
        for (line, expected) in [
            ("require 'minitest/autorun'", true),
            ("  require(\"minitest/spec\")", true),
            ("# such as the assertions of stdlib/minitest", false),
            ("require 'rspec'", false),
            ("minitest", false),
        ] {
            assert_eq!(loads_minitest(line), expected, "{line}");
        }
    }
}
