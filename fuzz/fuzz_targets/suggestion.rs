//! Any text as a suggestion, as its file, and as the comment that it is read from.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| greenlight_fuzz::suggestion(input));
