//! Any bytes as what a git server answers, in chunks of any size, within a time that grows no faster than the answer.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| greenlight_fuzz::packets(input));
