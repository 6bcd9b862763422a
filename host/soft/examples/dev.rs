use wirekv_soft::*;
fn main() {
    let a: Vec<usize> = std::env::args().skip(1).map(|s| s.parse().unwrap()).collect();
    let addr = std::net::SocketAddr::from(([127, 0, 0, 1], a[0] as u16));
    let o = Options {
        tcp: vec![addr],
        udp: vec![addr],
        unix: None,
        memory: a[1] << 20,
        item_max: 1 << 20,
        mean_item: 56,
        threads: a[2],
        max_conns: 20000,
        backlog: 1024,
        protocol: Default::default(),
        batch: 64,
        idle_timeout: None,
        shutdown: false,
        cas: true,
        evict: true,
        flush: true,
        verbosity: 0,
        metrics: None,
    };
    let _s = Soft::start(o, clock(), Box::new(|| {})).unwrap();
    loop {
        std::thread::park()
    }
}
