//! Maven and Gradle.
//!
//! A wrapper (`./mvnw`, `./gradlew`) would have to download its tool, which is impossible here, so the machine's own
//! tool is called instead.

use super::Invocation;

/// The share of the memory for the heap of one Java virtual machine, in per cent: the virtual machines of the build
/// and of the tests run at the same time.
const HEAP: u32 = 40;

/// Tells Java virtual machines how much memory there is. Otherwise they go by the machine's memory, and exceed the
/// sandbox's limit instead of collecting garbage.
/// <https://docs.oracle.com/en/java/javase/17/docs/specs/man/java.html> (`-XX:MaxRAM`)
pub(crate) fn heap(memory: u64) -> (String, String) {
    let options = format!("-XX:MaxRAM={memory} -XX:MaxRAMPercentage={HEAP}");
    ("JAVA_TOOL_OPTIONS".into(), options)
}

/// Calls the tool instead of its wrapper.
pub(crate) fn without_wrapper(invocation: &mut Invocation, wrapper: &str, tool: &str) {
    for word in &mut invocation.argv {
        if word.strip_prefix("./").unwrap_or(word) == wrapper {
            *word = tool.into();
        }
    }
}
