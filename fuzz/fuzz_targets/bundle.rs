//! Any bytes as a bundle for `greenlight replay`, within a time that grows no faster than they do.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| greenlight_fuzz::bundle(input));
