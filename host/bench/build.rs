//! Verilates the store alone, for the scenarios that measure it. Verilator's runtime and the memory
//! model are those of the simulated card, which the bench has linked, too.

use std::env;
use std::path::PathBuf;

use wirekv_verilate::{repository, Model, CXX};

fn main() {
    if env::var_os("CARGO_FEATURE_STORE").is_none() {
        return;
    }
    let repo = repository();
    let out = PathBuf::from(env::var("OUT_DIR").unwrap()).join("store");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=store");
    for path in ["rtl", "host/sim/shim"] {
        println!("cargo:rerun-if-changed={}", repo.join(path).display());
    }
    let model = Model {
        repo: &repo,
        out: &out,
        top: "store_bench",
        prefix: "Vstore",
        sources: &[
            "-f",
            "rtl/pkg.f",
            "-f",
            "rtl/lib/lib.f",
            "-f",
            "rtl/mem/mem.f",
            "-f",
            "rtl/store/store.f",
            "host/bench/store/store_bench.sv",
        ],
        options: &[],
        assert: false,
    };
    model.build();

    let mut shim = cc::Build::new();
    shim.cpp(true).compiler(CXX).std("c++17").opt_level(2).flag("-march=native");
    shim.file("store/shim.cpp").include(repo.join("host/sim/shim"));
    for flag in model.header_flags() {
        shim.flag(&flag);
    }
    shim.compile("wirekv_store_shim");
}
