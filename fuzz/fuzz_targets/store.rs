#![no_main]

#[path = "../../host/store/tests/operations/mod.rs"]
mod operations;

libfuzzer_sys::fuzz_target!(|data: &[u8]| operations::run(data));
