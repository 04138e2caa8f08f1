//! What Ruby projects have in common, no matter which framework tests them.

use crate::discover::directory::Directory;
use crate::framework::Framework;
use crate::test_command::TestCommand;

/// Maximum number of files with helpers for specs that are read.
const MAX_HELPERS: usize = 10;

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
    let says_minitest = |file: &str| place.text(file).is_some_and(|text| text.lines().any(says_minitest));
    let is_helper = |path: &&str| path.starts_with("spec/") && path.ends_with("helper.rb");
    let mut helpers = place.files().filter(is_helper).take(MAX_HELPERS);
    !place.has(".rspec") && (helpers.any(says_minitest) || spec(place).is_some_and(says_minitest))
}

/// Whether a line of code mentions Minitest. The comments that `rspec --init` writes mention it as well.
fn says_minitest(line: &str) -> bool {
    !line.trim_start().starts_with('#') && ["minitest", "maxitest"].iter().any(|name| line.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_about_minitest_does_not_count() {
        for (line, expected) in [
            ("require 'minitest/autorun'", true),
            ("  require_relative(\"minitest_helper\")", true),
            ("require 'maxitest/autorun'", true),
            ("  # such as the assertions of stdlib/minitest", false),
            ("require 'rspec'", false),
        ] {
            assert_eq!(says_minitest(line), expected, "{line}");
        }
    }
}
