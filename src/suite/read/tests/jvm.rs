//! Java: Maven and Gradle.

use super::*;

#[test]
fn maven() {
    assert_snapshot!(read_file(Framework::Maven, "maven/pass.txt", 0), @"");
    assert_snapshot!(read_file(Framework::Maven, "maven/fail.txt", 1), @"");
    assert_snapshot!(read_file(Framework::Maven, "maven/compile_error.txt", 1), @"");
    assert_snapshot!(read_file(Framework::Maven, "maven/crash.txt", 1), @"");
    assert_snapshot!(read_file(Framework::Maven, "maven/missing_dependency.txt", 1), @"");
    assert_snapshot!(read_file(Framework::Maven, "maven/nothing_ran.txt", 0), @"");
}
