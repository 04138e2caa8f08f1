//! Maven and Gradle.
//!
//! A wrapper (`./mvnw`, `./gradlew`) downloads the tool that it stands for, which it cannot here: the machine's own is
//! called in its place.

use super::Invocation;

/// The part of the memory that one virtual machine's heap may take, in per cent: the build's own and that of the tests
/// it starts run at the same time.
const HEAP: u32 = 40;

/// Tells virtual machines of Java how much memory there is: alone they look at the machine's, and grow beyond
/// what the sandbox allows instead of collecting garbage.
/// <https://docs.oracle.com/en/java/javase/17/docs/specs/man/java.html> (`-XX:MaxRAM`)
pub(crate) fn heap(memory: u64) -> (String, String) {
    let options = format!("-XX:MaxRAM={memory} -XX:MaxRAMPercentage={HEAP}");
    ("JAVA_TOOL_OPTIONS".into(), options)
}

/// Calls the tool in place of its wrapper.
pub(crate) fn without_wrapper(invocation: &mut Invocation, wrapper: &str, tool: &str) {
    for word in &mut invocation.argv {
        if word.strip_prefix("./").unwrap_or(word) == wrapper {
            *word = tool.into();
        }
    }
}
