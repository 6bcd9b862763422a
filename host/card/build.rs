//! Takes the names of the event counters from the RTL: the card's register map gives each group
//! of counters a base address, the group's enum in the RTL package their order.

use std::fmt::Write;
use std::path::PathBuf;
use std::{env, fs};

/// Counters of a group that stand together; those beyond go on at `MORE`.
const TOGETHER: usize = 32;
const MORE: [(&str, u32); 2] = [("NetCount", 0x400), ("TcpCount", 0x420)];

/// Prefix of the enum's names, package, first register.
const GROUPS: [(&str, &str, u32); 5] = [
    ("NetCount", "rtl/net/net_pkg.sv", 0x200),
    ("TcpCount", "rtl/tcp/tcp_pkg.sv", 0x280),
    ("FrontCount", "rtl/parse/request_pkg.sv", 0x300),
    ("BackCount", "rtl/parse/request_pkg.sv", 0x338),
    ("StoreCount", "rtl/store/store_pkg.sv", 0x370),
];

/// Names that start with `prefix` and go on with a capital, in order, with their comments.
fn names<'a>(text: &'a str, prefix: &str) -> Vec<(&'a str, &'a str)> {
    let mut found: Vec<(&str, &str)> = Vec::new();
    for line in text.lines() {
        let (code, comment) = line.split_once("//").unwrap_or((line, ""));
        for word in code.split(|c: char| !c.is_alphanumeric() && c != '_') {
            let Some(rest) = word.strip_prefix(prefix) else { continue };
            let is_counter = rest.starts_with(char::is_uppercase) && rest != "Num";
            if is_counter && !found.iter().any(|(name, _)| *name == word) {
                found.push((word, comment.trim()));
            }
        }
    }
    found
}

fn main() {
    let repo = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap()).join("../..");
    let mut counters = Vec::new();
    for (prefix, package, base) in GROUPS {
        let path = repo.join(package);
        println!("cargo:rerun-if-changed={}", path.display());
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{package}: {e}"));
        for (n, (name, what)) in names(&text, prefix).into_iter().enumerate() {
            let name = name.replacen("Count", "", 1);
            let more = MORE.iter().find(|(group, _)| n >= TOGETHER && *group == prefix);
            let addr =
                more.map_or(base + 4 * n as u32, |(_, more)| more + 4 * (n - TOGETHER) as u32);
            let mut line = String::new();
            writeln!(line, "    Counter {{ name: {name:?}, addr: {addr:#05x}, what: {what:?} }},")
                .unwrap();
            counters.push((addr, line));
        }
    }
    counters.sort();
    let lines: String = counters.into_iter().map(|(_, line)| line).collect();
    let out = format!("&[\n{lines}]\n");
    println!("cargo:rerun-if-changed=build.rs");
    fs::write(PathBuf::from(env::var("OUT_DIR").unwrap()).join("counters.rs"), out).unwrap();
}
