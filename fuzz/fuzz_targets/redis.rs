#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wirekv_protocol::fuzz::fuzz_redis(data));
