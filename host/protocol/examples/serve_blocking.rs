//! The smallest server on top of the crate: a thread a connection, blocking calls. For tests of
//! the protocols; it makes no attempt to be fast.
//!
//!     serve_blocking [-p PORT] [-U PORT] [-m MEGABYTES] [-I BYTES] [-A]

use std::io::{IoSlice, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use wirekv_protocol::store::{Config, Store};
use wirekv_protocol::{udp, Counters, Engine, Next, Out, Parse, Server, Session, Settings};

struct Small;

impl Server for Small {
    fn stats(&mut self, args: &[u8], own: &Counters, line: &mut dyn FnMut(&[u8], &[u8])) -> bool {
        if args.is_empty() {
            line(b"pid", std::process::id().to_string().as_bytes());
            line(b"version", b"1.6.38");
            for (name, value) in own.each() {
                line(name.as_bytes(), value.to_string().as_bytes());
            }
        }
        matches!(args, b"" | b"settings" | b"items" | b"slabs" | b"sizes" | b"conns")
    }

    fn memory(&mut self, _megabytes: u32) -> bool {
        true
    }

    fn shutdown(&mut self, _graceful: bool) {
        std::process::exit(0);
    }
}

fn main() -> std::io::Result<()> {
    let mut settings = Settings::default();
    let (mut port, mut udp_port, mut megabytes) = (11211, 0, 64usize);
    let mut args = std::env::args().skip(1);
    while let Some(option) = args.next() {
        let mut number = || args.next().and_then(|text| text.parse().ok()).expect("a number");
        match option.as_str() {
            "-p" => port = number() as u16,
            "-U" => udp_port = number() as u16,
            "-m" => megabytes = number(),
            "-I" => settings.item_max = number(),
            "-A" => settings.shutdown = true,
            other => panic!("unknown option {other}"),
        }
    }
    // As memcached's clock: second 0 is a minute before the start.
    const START: u64 = 62;
    let unix = SystemTime::UNIX_EPOCH.elapsed().expect("a date").as_secs();
    settings.epoch = (unix - START) as i64;
    let settings = Arc::new(settings);
    let store = store(megabytes, settings.item_max);
    let begin = Instant::now();
    let clock = store.clone();
    clock.set_now(START as u32);
    std::thread::spawn(move || loop {
        std::thread::sleep(Duration::from_millis(20));
        clock.set_now((START + begin.elapsed().as_secs()) as u32);
    });

    if udp_port != 0 {
        let socket = UdpSocket::bind(("127.0.0.1", udp_port))?;
        let engine = Engine::new(store.local(), settings.clone());
        std::thread::spawn(move || serve_udp(&socket, engine));
    }
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    println!("listening on {}", listener.local_addr()?);
    for stream in listener.incoming() {
        let stream = stream?;
        let (store, settings) = (store.clone(), settings.clone());
        std::thread::spawn(move || serve(stream, Engine::new(store.local(), settings)));
    }
    Ok(())
}

fn store(megabytes: usize, item_max: usize) -> Arc<Store> {
    let config = Config { item_max: item_max + 64, threads: 64, ..Config::new(megabytes << 20) };
    Store::new(config).expect("a store")
}

fn serve(mut stream: TcpStream, mut engine: Engine) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut session = Session::new();
    let mut input = vec![0; 2 * engine.settings.buffer()];
    let (mut from, mut to) = (0, 0);
    let mut out = Out::new();
    loop {
        // Everything that is here.
        loop {
            match session.parse(&input[from..to], &engine) {
                Parse::Request(mut request) => {
                    let next = loop {
                        let bytes = &input[from..to];
                        let next =
                            session.execute(&mut request, bytes, &mut engine, &mut Small, &mut out);
                        if out.len() > 1 << 20 || next != Next::Continue {
                            write(&mut stream, &mut out)?;
                        }
                        if next != Next::Again {
                            break next;
                        }
                    };
                    from += request.len as usize;
                    if next == Next::Close {
                        return Ok(());
                    }
                }
                Parse::Need(more) => {
                    input.copy_within(from..to, 0);
                    (from, to) = (0, to - from);
                    if input.len() - to < more.min(1 << 20) || input.len() == to {
                        input.resize(2 * input.len(), 0);
                    }
                    break;
                }
                Parse::Close => return write(&mut stream, &mut out),
            }
        }
        write(&mut stream, &mut out)?;
        engine.local.quiesce();
        engine.local.offline();
        let sink = if from == to { session.sink() } else { None };
        let into_store = sink.is_some();
        let count = stream.read(sink.unwrap_or(&mut input[to..]));
        engine.local.online();
        match count? {
            0 => return Ok(()),
            count if into_store => session.sunk(count),
            count => to += count,
        }
    }
}

fn write(stream: &mut TcpStream, out: &mut Out) -> std::io::Result<()> {
    while !out.is_empty() {
        let mut slices = [IoSlice::new(&[]); 64];
        let count = out.slices(&mut slices);
        let count = stream.write_vectored(&slices[..count])?;
        out.written(count);
    }
    Ok(())
}

fn serve_udp(socket: &UdpSocket, mut engine: Engine) {
    let mut datagram = [0; 65536];
    let mut out = Out::with_units();
    while let Ok((len, peer)) = socket.recv_from(&mut datagram) {
        engine.local.online();
        if let Some(id) = udp::serve(&datagram[..len], &mut engine, &mut Small, &mut out) {
            udp::datagrams(&out, id, |parts| {
                let parts: Vec<&[u8]> = parts.iter().map(|part| &**part).collect();
                let _ = socket.send_to(&parts.concat(), peer);
            });
        }
        out.clear();
        engine.local.quiesce();
        engine.local.offline();
    }
}
