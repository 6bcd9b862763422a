//! `wirekv serve --body sim` and `--body card`: a card, a network, and a thread for each.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
#[cfg(feature = "sim")]
use std::path::PathBuf;
use std::sync::{mpsc, Arc};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail, Context, Result};
use wirekv_card::{csr, init, Card, Layout, Seeds, Settings};
use wirekv_cardhost::{unix_time, Mover, Options, Runner, Summary};
#[cfg(any(feature = "rings", feature = "card"))]
use wirekv_link::{Config as LinkConfig, RingCard};
#[cfg(feature = "card")]
use wirekv_link::{Function, Pci, Places};
use wirekv_net::{
    own_mac, Addresses, AfXdp, Allowed, CardEnd, Denies, Found as Interface, Link, NetCounts,
    NetEnd, Own, Packet, Pcap, Refuser, Tap, User, UserConfig, Wire,
};
#[cfg(feature = "dpdk")]
use wirekv_net::{Dpdk, DpdkPort};
use wirekv_proto::users;
use wirekv_resp::Common;
#[cfg(feature = "sim")]
use wirekv_sim::{Config, Sim};
use wirekv_upstream::{Protocol, Server, Settings as UpstreamSettings, Sockets, Upstream};

#[cfg(feature = "sim")]
use crate::args::LinkKind;
use crate::args::{Admit, Body, NetKind, ServeArgs};
use crate::extended;
use crate::process::Process;
use crate::signals;

const CARD_MAC: [u8; 6] = [0x02, 0x57, 0x4B, 0x56, 0x00, 0x02];
const CARD_IP: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
const CARD_IP6: Ipv6Addr = Ipv6Addr::new(0xFD57, 0x4B56, 0, 0, 0, 0, 0, 2);
const MTU: u16 = 1500;
/// Rings are laid out for the largest card that can be built; memory nobody uses costs nothing.
const MAX_CONNS: u32 = 16_384;
/// The wires here are short: an old segment does not turn up much later.
const TIME_WAIT_MS: u32 = 1000;
const ITEM_SIZES: std::ops::RangeInclusive<u64> = 1 << 10..=1 << 20;

/// A network with its local sockets or device open.
enum Net {
    User(Box<User>),
    Tap(Tap),
    Packet(String, Packet),
    AfXdp(String, AfXdp),
    #[cfg(feature = "dpdk")]
    Dpdk(Dpdk),
}

pub fn serve(args: &ServeArgs) -> Result<()> {
    let layout = check(args)?;
    let idle_seconds = idle_seconds(args)?;
    let process = Process::new(&args.process)?;
    signals::raise_file_limit(0);
    let upstream = meet(args)?;

    let mut wire = Addresses {
        card_mac: CARD_MAC,
        card_ip: args.host.card_ip.unwrap_or(CARD_IP),
        card_ip6: args.host.card_ip6.unwrap_or(CARD_IP6),
        card_tcp_port: tcp_port(args),
        card_redis_port: args.redis_port,
        card_udp_port: args.udp_port,
        mtu: args.host.mtu.unwrap_or(MTU),
    };
    let pcap = match &args.host.pcap {
        Some(path) => {
            Some(Pcap::create(path).with_context(|| format!("cannot write {}", path.display()))?)
        }
        None => None,
    };
    let common = Arc::new(Common::new(args.password(), args.is_protected(), false));
    let allowed = Allowed::new(args.allow.clone());
    let net = open_net(args, &mut wire, &common, &allowed)?;
    let address = match &net {
        Net::User(user) => user.local_addr()?,
        _ if wire.card_tcp_port == 0 => (wire.card_ip, wire.card_redis_port).into(),
        _ => (wire.card_ip, wire.card_tcp_port).into(),
    };

    let found = find_card(args)?;
    // What root may open is open, and clients may connect. The simulated card may start threads.
    process.settle(args.verbose > 0)?;
    let _pid_file = process.write_pid()?;

    let mut card = open_card(args, found, &layout)?;
    let has = card.read_csr(csr::CONNS)?;
    let conns = args.conn_limit.unwrap_or(args.conn_limit().min(has));
    if address.is_ipv6() && card.read_csr(csr::VARIANT)? & csr::VARIANT_IPV6 == 0 {
        bail!("-l {}: the card is built without IPv6", address.ip());
    }
    if args.host.demo && card.read_csr(csr::VARIANT)? & csr::VARIANT_TRACE == 0 {
        bail!("--demo: the card is built without the trace (make server CONFIG=Traced)");
    }
    let settings = Settings {
        mac: wire.card_mac,
        ip: wire.card_ip,
        ip6: wire.card_ip6,
        tcp_port: wire.card_tcp_port,
        redis_port: wire.card_redis_port,
        guard: !args.password().is_empty(),
        upstream: upstream.is_some(),
        udp_port: wire.card_udp_port,
        mtu: wire.mtu,
        vlan: args.host.vlan.unwrap_or(0),
        item_max: args.max_item_size as u32,
        max_conns: conns,
        time_wait_ms: TIME_WAIT_MS,
        keep_alive_seconds: args.tcp_keepalive,
        idle_seconds,
        time: unix_time(),
        layout,
        zero_index: args.body != Body::Sim || GARBAGE,
    };
    init(card.as_mut(), &settings, &Seeds::random()?)?;
    if args.verbose > 0 {
        eprintln!("card {} and {} of {has} connections, {layout:?}", wire.card_ip, wire.card_ip6);
    }

    let waker = match &net {
        Net::User(user) => user.waker()?,
        Net::Tap(tap) => tap.waker()?,
        Net::Packet(_, packet) => packet.waker()?,
        Net::AfXdp(_, afxdp) => afxdp.waker()?,
        #[cfg(feature = "dpdk")]
        Net::Dpdk(dpdk) => dpdk.waker()?,
    };
    let (net_end, card_end) = Link::ends(waker);
    let mut damaged = Wire::new(args.host.impair, pcap);
    // The user network knows its clients, whose addresses the frames do not have.
    if !matches!(net, Net::User(_)) {
        damaged = damaged.only(allowed.clone());
    }
    let refuser = Refuser::new(&wire, args.host.quiet, Instant::now());
    let mover = Mover::new(card, card_end.clone(), damaged, refuser);
    let strangers = allowed.strangers.clone();
    let options = Options { strangers, ..options(args, &address, &layout, conns) };
    let mut runner = Runner::new(mover, options, common)?;
    if let Some(server) = upstream {
        runner = runner.before(before(args, server, &card_end)?, wire);
    }
    if let Some(address) = args.metrics {
        let (asks, asked) = mpsc::channel();
        let card = card_end.clone();
        wirekv_metrics::serve(
            address,
            move |from| allowed.admits(from),
            args.host.demo,
            move |asked, reply| {
                // If the card's thread is gone, nobody answers.
                let _ = asks.send((asked, reply));
                card.nudge();
            },
        )?;
        runner = runner.with_metrics(asked);
    }
    let card_thread = thread("card", move || runner.run())?;
    let net_thread = thread("net", move || run_net(net, net_end))?;
    println!("listening on {address}");

    signals::wait()?;
    card_end.stop();
    let summary = card_thread.join().map_err(|_| anyhow!("the card's thread failed"))?;
    let accepted = net_thread.join().map_err(|_| anyhow!("the network's thread failed"))?;
    report(&summary?, &accepted?, args.body);
    Ok(())
}

/// The card's port for memcached's clients; 0: none, before a Redis.
fn tcp_port(args: &ServeArgs) -> u16 {
    match (&args.host.upstream, args.port) {
        (Some(upstream), _) if upstream.protocol == Protocol::Redis => 0,
        (_, 0) => 11211,
        (_, port) => port,
    }
}

/// The server that the card is to stand before.
fn meet(args: &ServeArgs) -> Result<Option<Server>> {
    let Some(address) = &args.host.upstream else { return Ok(None) };
    if address.protocol == Protocol::Redis && args.redis_port == 0 {
        bail!("--upstream {address}: --redis-port says where its clients come to");
    }
    let server = Server::meet(address).with_context(|| format!("--upstream {address}"))?;
    Ok(Some(server))
}

/// What passes between the card's clients and that server.
fn before(args: &ServeArgs, server: Server, card: &CardEnd) -> Result<Upstream<Sockets>> {
    let age = u64::from(args.host.max_age);
    let settings = UpstreamSettings {
        timeout: Duration::from_secs(args.host.upstream_timeout.into()),
        admit_all: args.host.upstream_admit == Admit::All,
        max_age: (age > 0).then(|| Duration::from_secs(age)),
        item_max: args.max_item_size as usize,
    };
    let card = card.clone();
    let sockets = Sockets::new(&server, move || card.nudge())?;
    Ok(Upstream::new(server, settings, sockets, Instant::now())?)
}

/// Values that no later step would refuse in words a user understands.
fn check(args: &ServeArgs) -> Result<Layout> {
    if !ITEM_SIZES.contains(&args.max_item_size) {
        bail!("-I {}: items can be limited to 1k up to 1m", args.max_item_size);
    }
    let conns = args.conn_limit();
    if conns == 0 || conns > MAX_CONNS {
        bail!("-c {conns}: a card has 1 to {MAX_CONNS} connections");
    }
    if args.body == Body::Card && args.memory_limit.is_share() {
        bail!(
            "-m {}: a card on PCIe has memory of its own; say -m in megabytes",
            args.memory_limit
        );
    }
    if args.body == Body::Card && !args.allow.is_empty() {
        bail!(
            "--allow: clients' frames come to a card on PCIe by a wire of its own, past this program; \
             the network's switch may filter them"
        );
    }
    let bytes = args.memory_limit.bytes()?;
    let layout = Layout::new(bytes, MAX_CONNS)
        .ok_or_else(|| anyhow!("-m {}: a card has 1 to 4500 megabytes", args.memory_limit))?;
    if u64::from(layout.log_lines) * 64 < 2 * args.max_item_size {
        bail!(
            "-m {} is too little for items of -I {} bytes",
            args.memory_limit,
            args.max_item_size
        );
    }
    if args.body == Body::Sim {
        // The program with the simulated gates; two rings a connection.
        let beside = (48 << 20) + u64::from(conns) * Layout::BYTES_A_CONN;
        args.memory_limit.check(bytes, beside)?;
    }
    #[cfg(feature = "sim")]
    if args.sim.mem_latency == 0 || args.sim.mem_latency > 100_000 {
        bail!("--mem-latency {}: 1 to 100000 clocks", args.sim.mem_latency);
    }
    #[cfg(all(feature = "sim", not(feature = "rings")))]
    if args.body == Body::Sim && args.sim.link == LinkKind::Rings {
        bail!(
            "--link rings: this program was built without the card's link; to build it: \
             make server FEATURES=rings"
        );
    }
    check_addresses(args)?;
    Ok(layout)
}

fn check_addresses(args: &ServeArgs) -> Result<()> {
    let is_local = matches!(args.host.net, NetKind::User | NetKind::Tap);
    if let Some(ip) = args.host.card_ip {
        if is_local && matches!(ip.octets()[3], 0 | 1 | 15..=23 | 255) {
            bail!("--card-ip {ip}: 0, 1, 15 to 23 and 255 of its network are taken");
        }
        if ip.is_loopback() || ip.is_multicast() || ip.is_broadcast() || ip.octets()[0] == 0 {
            bail!("--card-ip {ip}: this is no address of a host in a network");
        }
    }
    if let Some(ip6) = args.host.card_ip6 {
        if is_local && matches!(ip6.segments()[4..], [0, 0, 0, 0 | 1 | 15..=23]) {
            bail!("--card-ip6 {ip6}: 0, 1 and f to 17 of a network are taken");
        }
        if ip6.segments()[..4] == [0; 4] || ip6.is_multicast() {
            bail!("--card-ip6 {ip6}: this is no address of a host in a network");
        }
    }
    Ok(())
}

/// What `-o` asks of the card.
fn idle_seconds(args: &ServeArgs) -> Result<u16> {
    let seconds = extended::idle_timeout(&args.extended).unwrap_or(0);
    anyhow::ensure!(
        seconds <= csr::IDLE_SECONDS_MAX,
        "-o idle_timeout={seconds}: a card counts up to {} seconds",
        csr::IDLE_SECONDS_MAX
    );
    Ok(seconds as u16)
}

fn listen_address(args: &ServeArgs) -> Result<IpAddr> {
    match args.listen.as_slice() {
        [one] => one.parse().map_err(|_| anyhow!("-l {one}: this is no address such as 127.0.0.1")),
        _ => bail!("-l: a card listens on one address"),
    }
}

/// Fills in the addresses that the network brings.
fn open_net(
    args: &ServeArgs,
    wire: &mut Addresses,
    common: &Arc<Common>,
    allowed: &Allowed,
) -> Result<Net> {
    match &args.host.net {
        NetKind::User => {
            let listen = SocketAddr::new(listen_address(args)?, args.port);
            args.check_udp(listen.ip())?;
            let udp_port = (args.udp_port != 0).then_some(args.udp_port);
            let keep_alive = args.keep_alive();
            let redis_port = (args.redis_port != 0).then_some(args.redis_port);
            let (common, admits) = (common.clone(), allowed.clone());
            let denies: Denies =
                Box::new(move |from, is_redis| match (admits.admits(from), is_redis) {
                    (true, true) => common.denies(from),
                    (true, false) => None,
                    (false, true) => Some(users::REDIS_NOT_ALLOWED),
                    (false, false) => Some(users::STRANGER),
                });
            let allowed = allowed.clone();
            let wire = *wire;
            let tcp = wire.card_tcp_port != 0;
            let config =
                UserConfig { listen, tcp, redis_port, denies, allowed, udp_port, keep_alive, wire };
            Ok(Net::User(Box::new(User::bind(config)?)))
        }
        NetKind::Tap => {
            args.check_udp(wire.card_ip.into())?;
            let [a, b, c, _] = wire.card_ip.octets();
            let [d, e, f, g, ..] = wire.card_ip6.segments();
            let host = (Ipv4Addr::new(a, b, c, 1), Ipv6Addr::new(d, e, f, g, 0, 0, 0, 1));
            Ok(Net::Tap(Tap::open(&args.host.tap_name, host, wire.mtu)?))
        }
        NetKind::Packet(name) => {
            let (found, own) = on_interface(args, name, wire)?;
            Ok(Net::Packet(name.clone(), Packet::open(found, wire, own)?))
        }
        NetKind::AfXdp(name) => {
            let (found, own) = on_interface(args, name, wire)?;
            Ok(Net::AfXdp(name.clone(), AfXdp::open(found, wire, own)?))
        }
        #[cfg(feature = "dpdk")]
        NetKind::Dpdk(words) => {
            args.check_udp(wire.card_ip.into())?;
            let port = DpdkPort::find(words)?;
            wire.mtu = port.mtu(args.host.mtu)?;
            let (own, mac) = match args.is_shared() {
                true => (Own::Machine, port.mac()),
                false => (Own::Card, own_mac(wire.card_ip)),
            };
            wire.card_mac = mac;
            Ok(Net::Dpdk(Dpdk::open(port, wire, own)?))
        }
        #[cfg(not(feature = "dpdk"))]
        NetKind::Dpdk(_) => {
            bail!("--net dpdk: this program was built without DPDK: `make server FEATURES=dpdk` builds it with it")
        }
    }
}

/// An interface, and the card's addresses on it.
fn on_interface(args: &ServeArgs, name: &str, wire: &mut Addresses) -> Result<(Interface, Own)> {
    let found = Interface::new(name)?;
    wire.mtu = found.mtu(args.host.mtu)?;
    let own = if args.is_shared() {
        (wire.card_mac, wire.card_ip, wire.card_ip6) =
            found.shared(args.host.card_ip, args.host.card_ip6)?;
        Own::Machine
    } else {
        wire.card_mac = own_mac(wire.card_ip);
        Own::Card
    };
    args.check_udp(wire.card_ip.into())?;
    Ok((found, own))
}

/// With the RTL's assertions the simulated card's memory is as a card's, which the card has to make zero at its start: a
/// second for each 64 MB.
const GARBAGE: bool = cfg!(feature = "assert");

/// What a card needs of the machine, opened before this program gives up its privileges.
enum Found {
    /// Nothing, but a path from where the user is.
    #[cfg(feature = "sim")]
    Sim(Option<PathBuf>),
    #[cfg(feature = "card")]
    Pci(Box<Pci>),
}

fn find_card(args: &ServeArgs) -> Result<Found> {
    match args.body {
        #[cfg(feature = "sim")]
        Body::Sim => Ok(Found::Sim(args.sim.trace.as_ref().map(std::path::absolute).transpose()?)),
        #[cfg(feature = "card")]
        Body::Card => {
            let (vendor, device) = args.pci.pci_id;
            let (bar, offset) = args.pci.pci_registers;
            let address = args.pci.pci.expect("the command line was checked");
            let function = Function { address, vendor, device, bar: bar.into(), offset };
            let places = Places { pages: args.pci.hugepages.clone(), ..Places::default() };
            Ok(Found::Pci(Box::new(Pci::open(&places, &function)?)))
        }
        _ => unreachable!("another module serves it"),
    }
}

#[allow(unused_variables, reason = "a card on PCIe has memory of its own")]
fn open_card(args: &ServeArgs, found: Found, layout: &Layout) -> Result<Box<dyn Card>> {
    match found {
        #[cfg(feature = "sim")]
        Found::Sim(trace) => {
            let config = Config {
                memory_bytes: layout.total,
                garbage: GARBAGE,
                mem_latency: args.sim.mem_latency,
                wire_waits: true,
                trace,
                ..Config::default()
            };
            #[cfg(feature = "rings")]
            if args.sim.link == LinkKind::Rings {
                let crate::args::HostMemory { latency, jitter, shuffle, refuse } =
                    args.sim.host_memory;
                let host = wirekv_sim::HostMemory { latency, jitter, shuffle, refuse };
                // Its clock is slow, and stands while nobody asks.
                let patience = Duration::from_secs(60);
                let link = LinkConfig { patience, ..LinkConfig::default() };
                let sim = wirekv_sim::RingSim::new(&config, &host, &link)?;
                return Ok(Box::new(RingCard::open(sim, link)?));
            }
            Ok(Box::new(Sim::new(&config)?))
        }
        #[cfg(feature = "card")]
        Found::Pci(pci) => Ok(Box::new(RingCard::open(*pci, LinkConfig::default())?)),
    }
}

fn options(args: &ServeArgs, address: &SocketAddr, layout: &Layout, conns: u32) -> Options {
    Options {
        memory: args.memory_limit.bytes().unwrap_or(0),
        item_max: args.max_item_size,
        index_bits: layout.index_bits,
        log_bytes: 64 * u64::from(layout.log_lines),
        carries: args.body == Body::Sim,
        max_conns: conns,
        address: address.ip(),
        tcp_port: address.port(),
        udp_port: args.udp_port,
        redis_port: args.redis_port,
        bind: args.listen.join(" "),
        knows_peers: args.knows_peers(),
        idle_timeout: extended::idle_timeout(&args.extended).unwrap_or(0),
        verbosity: args.verbose,
        ..Options::default()
    }
}

/// Starts a thread whose end, for whatever reason, ends the server.
fn thread<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>> {
    let work = move || {
        let _ends_server = signals::RaiseOnDrop;
        work()
    };
    Ok(Builder::new().name(name.into()).spawn(work)?)
}

/// Runs the network; its figures for the summary.
fn run_net(net: Net, link: NetEnd) -> Result<(String, NetCounts)> {
    let none = NetCounts::default();
    match net {
        Net::User(user) => {
            let counts = user.run(link)?;
            let network =
                format!("{} connections, {} datagrams", counts.accepted, counts.datagrams);
            Ok((network, none))
        }
        Net::Tap(tap) => {
            let name = tap.name().to_string();
            tap.run(link)?;
            Ok((name, none))
        }
        Net::Packet(name, packet) => Ok((format!("packets of {name}"), packet.run(&link)?)),
        Net::AfXdp(name, afxdp) => {
            Ok((format!("AF_XDP on {name}, {}", afxdp.mode()), afxdp.run(&link)?))
        }
        #[cfg(feature = "dpdk")]
        Net::Dpdk(dpdk) => Ok((format!("DPDK's port {}", dpdk.name()), dpdk.run(&link)?)),
    }
}

fn report(s: &Summary, (network, lost): &(String, NetCounts), body: Body) {
    let total = |name| s.totals.get(name);
    let requests = total("IngressLines");
    eprintln!("\nnetwork    {network}");
    eprintln!("requests   {requests}");
    eprintln!(
        "frames     {} in, {} out, {} to the host",
        s.wire.to_card, s.wire.from_card, s.host_frames
    );
    if body == Body::Sim {
        let khz = s.clocks as f64 / s.busy.as_secs_f64().max(1e-9) / 1e3;
        eprintln!(
            "simulated  {} clocks at {khz:.0} kHz, running {:.0} % of {:.1} s",
            s.clocks,
            100.0 * s.busy.as_secs_f64() / s.total.as_secs_f64().max(1e-9),
            s.total.as_secs_f64()
        );
    }
    if let Some(damage) = &s.damage {
        eprintln!("impaired   {damage}");
    }
    if lost.oversize.cut > 0 {
        eprintln!("cut        {} segments larger than the MTU", lost.oversize.cut);
    }
    for (name, n, what) in [
        ("LinkOversize", lost.oversize.dropped, "larger than the MTU"),
        ("LinkNoRoom", lost.no_room, "for which the ring had no room"),
        ("LinkDamaged", lost.damaged, "that the port found damaged"),
        ("LinkUnsent", lost.unsent, "that the interface did not take"),
    ] {
        if n > 0 {
            eprintln!("dropped    {n} {name}: frames dropped {what}");
        }
    }
    for (counter, n) in s.totals.iter() {
        let is_drop = counter.what.contains("dropped");
        if is_drop && n > 0 {
            eprintln!("dropped    {n} {}: {}", counter.name, counter.what);
        }
    }
}
