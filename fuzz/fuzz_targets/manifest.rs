//! Any texts as the files that a project describes itself with, within a time that grows no faster than the texts.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| greenlight_fuzz::manifest(input));
