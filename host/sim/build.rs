//! Verilates the card, and with the feature `rings` the card with its link, and links them with the shim.
//!
//! `WIREKV_CARD_F` names another file list than rtl/top/card.f; `WIREKV_CONFIG` a variant of the card, see
//! rtl/top/config_pkg.sv.

use std::env;
use std::path::{Path, PathBuf};

use wirekv_verilate::{fail, repository, Model, CXX};

fn main() {
    let repo = repository();
    let out = PathBuf::from(env::var("OUT_DIR").unwrap()).join("model");
    let trace = env::var_os("CARGO_FEATURE_TRACE").is_some();
    let saif = env::var_os("CARGO_FEATURE_SAIF").is_some();
    if trace && saif {
        fail("Verilator's models write waves (`trace`) or toggles (`saif`), not both");
    }
    let assert = env::var_os("CARGO_FEATURE_ASSERT").is_some();

    println!("cargo:rerun-if-env-changed=WIREKV_CARD_F");
    println!("cargo:rerun-if-env-changed=WIREKV_CONFIG");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=shim");
    println!("cargo:rerun-if-changed={}", repo.join("rtl").display());
    let list = env::var("WIREKV_CARD_F").unwrap_or_else(|_| "rtl/top/card.f".into());
    if !repo.join(&list).exists() {
        fail(&format!("the card's file list {list} does not exist"));
    }

    let config = env::var("WIREKV_CONFIG").ok().map(|name| format!("-DWIREKV_CONFIG={name}"));
    let traces = [(trace, "--trace-fst"), (saif, "--trace-saif")];
    let traces = traces.iter().filter(|(on, _)| *on).map(|(_, option)| option.to_string());
    let options: Vec<String> = config.into_iter().chain(traces).collect();
    let repo = &repo;
    let mut shim = cc::Build::new();
    shim.cpp(true).compiler(CXX).std("c++17").opt_level(2).flag("-march=native");
    let mut add = |top, prefix, list: &str, files: &[&str]| {
        let folder = &out.join(prefix);
        let sources = &["-f", list];
        let model = Model { repo, out: folder, top, prefix, sources, options: &options, assert };
        model.build();
        for file in files {
            shim.file(Path::new("shim").join(file));
        }
        for flag in model.header_flags() {
            shim.flag(&flag);
        }
    };
    add("card", "Vcard", &list, &["sim.cpp", "memory.cpp", "axi_port_probe.cpp"]);
    if env::var_os("CARGO_FEATURE_RINGS").is_some() {
        add("card_link", "Vrings", "rtl/top/card_link.f", &["rings.cpp"]);
    }
    if trace {
        shim.define("WK_TRACE", None);
    }
    if saif {
        shim.define("WK_SAIF", None);
    }
    if assert {
        shim.define("WK_ASSERT", None);
    }
    shim.compile("wirekv_shim");

    println!("cargo:rustc-link-lib=static=verilated");
    println!("cargo:rustc-link-lib=stdc++");
    println!("cargo:rustc-link-lib=pthread");
    println!("cargo:rustc-link-lib=atomic");
    if trace {
        println!("cargo:rustc-link-lib=lz4");
        println!("cargo:rustc-link-lib=z");
    }
}
