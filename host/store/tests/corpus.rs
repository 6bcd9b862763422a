//! What the fuzzer has found worth keeping (`fuzz/corpus`), once more.

mod operations;

#[test]
fn store() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/store");
    let files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(!files.is_empty());
    for file in files {
        println!("{}", file.display());
        operations::run(&std::fs::read(file).unwrap());
    }
}

/// Bytes at random do something, too, however little of it is new.
#[test]
fn random() {
    use rand::{rngs::SmallRng, Rng, SeedableRng};
    let mut rng = SmallRng::seed_from_u64(1);
    for _ in 0..if cfg!(miri) { 3 } else { 300 } {
        let mut data = vec![0; rng.random_range(0..3000)];
        rng.fill(&mut data[..]);
        operations::run(&data);
    }
}
