//! Maven and Gradle.
//!
//! A wrapper (`./mvnw`, `./gradlew`) would have to download its tool, which is impossible here, so the machine's own
//! tool is called instead.

use std::collections::BTreeMap;

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

/// Tells Maven's own virtual machine to compile its code only quickly: most of a build's time is the start of Maven and
/// its plugins, which thorough optimisation doubles. The tests have another virtual machine. Options of the
/// project come later and win.
pub(crate) fn start_quickly(env: &mut BTreeMap<String, String>) {
    let options = env.entry("MAVEN_OPTS".into()).or_default();
    *options = format!("-XX:TieredStopAtLevel=1 {options}").trim_end().to_string();
}

/// Calls the tool instead of its wrapper.
pub(crate) fn without_wrapper(invocation: &mut Invocation, wrapper: &str, tool: &str) {
    for word in &mut invocation.argv {
        if word.strip_prefix("./").unwrap_or(word) == wrapper {
            *word = tool.into();
        }
    }
}
