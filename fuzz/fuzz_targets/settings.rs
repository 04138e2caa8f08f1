//! Any text as a `greenlight.toml`, within a time that grows no faster than the text.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| greenlight_fuzz::settings(input));
