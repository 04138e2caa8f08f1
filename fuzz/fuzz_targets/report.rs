//! Any bytes as what a test command printed and reported, within a time that grows no faster than they do.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| greenlight_fuzz::report(input));
