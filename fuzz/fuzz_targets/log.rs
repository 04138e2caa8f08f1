//! Any bytes as the log of a CI job, within a time that grows no faster than the log.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| greenlight_fuzz::log(input));
