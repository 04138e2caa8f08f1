//! Any bytes as the payload of a webhook, within a time that grows no faster than the payload.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| greenlight_fuzz::payload(input));
