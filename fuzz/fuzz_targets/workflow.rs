//! Any texts as workflow files and the step of them that failed, within a time that grows no faster than the texts.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| greenlight_fuzz::workflow(input));
