//! With the feature `dpdk`: compiles the shim and links it with the DPDK that pkg-config finds.

#[cfg(not(feature = "dpdk"))]
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}

#[cfg(feature = "dpdk")]
fn main() {
    const SHIM: &str = "shim/dpdk.c";
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={SHIM}");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    let mut shim = cc::Build::new();
    shim.file(SHIM).std("gnu11").warnings(true).extra_warnings(true);
    for flag in pkg_config("--cflags") {
        // What is not the shim's is not to be warned of.
        match flag.strip_prefix("-I") {
            Some(folder) => shim.flag(format!("-isystem{folder}")),
            None => shim.flag(flag),
        };
    }
    shim.compile("wirekv_dpdk");
    for flag in pkg_config("--libs") {
        if let Some(library) = flag.strip_prefix("-l") {
            println!("cargo:rustc-link-lib={library}");
        } else if let Some(folder) = flag.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={folder}");
        }
    }
}

/// What pkg-config says of DPDK; without it there is nothing to build.
#[cfg(feature = "dpdk")]
fn pkg_config(what: &str) -> Vec<String> {
    let done = std::process::Command::new("pkg-config").args([what, "libdpdk >= 22.11"]).output();
    match done {
        Ok(done) if done.status.success() => {
            let text = String::from_utf8_lossy(&done.stdout);
            text.split_whitespace().map(String::from).collect()
        }
        Ok(done) => fail(&String::from_utf8_lossy(&done.stderr)),
        Err(e) => fail(&format!("pkg-config: {e}")),
    }
}

#[cfg(feature = "dpdk")]
fn fail(why: &str) -> ! {
    eprintln!(
        "The feature dpdk needs DPDK 22.11 (Debian 12: apt install libdpdk-dev pkgconf): {}",
        why.trim()
    );
    std::process::exit(1)
}
