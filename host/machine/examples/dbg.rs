use wirekv_machine::frames::{request, text};
use wirekv_machine::{Config, Machine, Nic};
fn main() {
    for nic in [Nic::Dma, Nic::Mmio] {
    let mut m = Machine::new(&Config { nic, ..Config::default() });
    let r = m.run(1_000_000, false);
    println!("{nic:?} ran {r} idle {} console {:?} restarts {}", m.idle(), m.console(), m.restarts());
    for t in ["stats\r\n", "set k 0 0 3\r\nabc\r\n", "get k\r\n", "stats\r\n"] {
    m.send(&request(1, t.as_bytes()));
    let r = m.run(1_000_000, false);
    println!("ran {r} idle {} console {:?} restarts {} dropped {} {:?}", m.idle(), m.console(), m.restarts(), m.dropped(), m.inputs());
    m.outputs(|s, f| println!("{s:?} {} {:?}", f.len(), String::from_utf8_lossy(text(f))));
    }
    }
}
