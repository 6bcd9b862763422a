//! What the fuzzer has found worth keeping (`fuzz/corpus`), once more.

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
    replay("classic", wirekv_fuzz::fuzz_classic);
}

#[test]
fn resp() {
    replay("resp", wirekv_fuzz::fuzz_resp);
}

#[test]
fn redis() {
    replay("redis", wirekv_fuzz::fuzz_redis);
}

#[test]
fn meta() {
    replay("meta", wirekv_fuzz::fuzz_meta);
}

#[test]
fn binary() {
    replay("binary", wirekv_fuzz::fuzz_binary);
}

#[test]
fn udp() {
    replay("udp", wirekv_fuzz::fuzz_udp);
}

#[test]
fn number() {
    replay("number", wirekv_fuzz::fuzz_number);
}

#[test]
fn base64() {
    replay("base64", wirekv_fuzz::fuzz_base64);
}

#[test]
fn upstream() {
    replay("upstream", wirekv_fuzz::fuzz_upstream);
}
