//! Any text as the diff of a pull request.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| greenlight_fuzz::diff(input));
