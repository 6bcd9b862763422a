//! What the fuzzer has found worth keeping (`fuzz/corpus`), once more.

use wirekv_protocol::fuzz;

fn replay(target: &str, entry: fn(&[u8])) {
    let dir = format!("{}/../../fuzz/corpus/{target}", env!("CARGO_MANIFEST_DIR"));
    let files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(!files.is_empty());
    for file in files {
        println!("{}", file.display());
        entry(&std::fs::read(file).unwrap());
    }
}

#[test]
fn classic() {
    replay("classic", fuzz::fuzz_classic);
}

#[test]
fn resp() {
    replay("resp", fuzz::fuzz_resp);
}

#[test]
fn redis() {
    replay("redis", fuzz::fuzz_redis);
}

#[test]
fn meta() {
    replay("meta", fuzz::fuzz_meta);
}

#[test]
fn binary() {
    replay("binary", fuzz::fuzz_binary);
}

#[test]
fn udp() {
    replay("udp", fuzz::fuzz_udp);
}

#[test]
fn number() {
    replay("number", fuzz::fuzz_number);
}

#[test]
fn base64() {
    replay("base64", fuzz::fuzz_base64);
}
