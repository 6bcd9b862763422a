#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wirekv_fuzz::fuzz_upstream(data));
