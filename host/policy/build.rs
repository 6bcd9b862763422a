//! Compiles the firmware's policy for this machine.

fn main() {
    let firmware = "../../firmware";
    println!("cargo:rerun-if-changed={firmware}");
    println!("cargo:rerun-if-changed=src/shim.c");
    println!("cargo:rerun-if-changed=build.rs");
    cc::Build::new()
        .std("c11")
        .opt_level(2)
        .warnings_into_errors(true)
        .flag("-Wshadow")
        .include(firmware)
        .file(format!("{firmware}/policy.c"))
        .file("src/shim.c")
        .compile("wirekv_policy");
}
