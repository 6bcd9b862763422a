//! Compiles the firmware, and Verilates the machine that runs it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use wirekv_verilate::{fail, repository, Model, CXX};

/// The core has no compressed instructions, and its loads and stores are aligned.
const TARGET: [&str; 3] = ["-march=rv32im", "-mabi=ilp32", "-mstrict-align"];
const SOURCES: [&str; 7] =
    ["start.S", "frame.c", "server.c", "store.c", "policy.c", "accel.c", "memory.c"];

fn run(command: &mut Command) {
    let what = format!("{command:?}");
    match command.output() {
        Ok(o) if o.status.success() => {}
        Ok(o) => fail(&format!("{what}\n{}", String::from_utf8_lossy(&o.stderr))),
        Err(e) => fail(&format!(
            "{what}: {e}\nThe firmware wants gcc-riscv64-unknown-elf and picolibc-riscv64-unknown-elf of Debian: \
             `scripts/packages.sh machine` installs them."
        )),
    }
}

/// The firmware with this main program, as it stands in the machine's memory from address 0 on.
fn firmware(source: &Path, main: &str, image: &Path) {
    let elf = image.with_extension("elf");
    let mut gcc = Command::new("riscv64-unknown-elf-gcc");
    gcc.current_dir(source).arg("--specs=picolibc.specs").args(TARGET);
    gcc.args(["-std=c11", "-O2", "-flto", "-ffunction-sections", "-Wl,--gc-sections"]);
    // Or memcpy's own loop would be a call of it.
    gcc.arg("-fno-tree-loop-distribute-patterns");
    gcc.args(["-nostartfiles", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-T", "machine.ld"]);
    run(gcc.arg(main).args(SOURCES).arg("-o").arg(&elf));
    run(Command::new("riscv64-unknown-elf-objcopy").args(["-O", "binary"]).arg(&elf).arg(image));
}

fn main() {
    let repo = &repository();
    let out = PathBuf::from(env::var("OUT_DIR").unwrap());
    for path in ["rtl", "firmware", "host/sim/shim", "build/vexriscv"] {
        println!("cargo:rerun-if-changed={}", repo.join(path).display());
    }
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=shim");
    if !repo.join("build/vexriscv/VexRiscv_FullCfu.v").exists() {
        fail(
            "build/vexriscv is missing, which leads to the core's netlist: run `make setup` first",
        );
    }
    let source = &repo.join("firmware");
    firmware(source, "main.c", &out.join("firmware.bin"));
    firmware(source, "faults.c", &out.join("faults.bin"));

    let folder = &out.join("model");
    let assert = env::var_os("CARGO_FEATURE_ASSERT").is_some();
    let sources = &["rtl/lib/wirekv_pkg.sv", "-f", "rtl/machine/machine.f"];
    let (top, prefix) = ("machine_top", "Vmachine_top");
    let model = Model { repo, out: folder, top, prefix, sources, options: &[], assert };
    model.build();
    let mut shim = cc::Build::new();
    shim.cpp(true).compiler(CXX).std("c++17").opt_level(2).flag("-march=native");
    shim.include(repo.join("host/sim/shim")).file("shim/machine.cpp");
    for flag in model.header_flags() {
        shim.flag(&flag);
    }
    if assert {
        shim.define("WK_ASSERT", None);
    }
    shim.compile("wirekv_machine_shim");
    for library in ["static=verilated", "stdc++", "pthread", "atomic"] {
        println!("cargo:rustc-link-lib={library}");
    }
}
