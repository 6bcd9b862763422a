//! `wirekv machine`: the simulated RISC-V machine, a network, and a thread for each.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::thread::Builder;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{anyhow, bail, Context, Result};
use wirekv_machine::{Config, Machine, Nic, Seeds};
use wirekv_net::{
    Addresses, Allowed, CardEnd, Frames, Link, NetEnd, Pcap, Tap, User, UserConfig, Wire,
};

use crate::args::{Aside, MachineArgs, MachineNet, MachineNic};
use crate::process::Process;
use crate::signals;

const MAC: [u8; 6] = [0x02, 0x57, 0x4B, 0x56, 0x00, 0x02];
const MTU: u16 = 1500;
/// Clocks between two looks at the network.
const CLOCKS: u64 = 20_000;
/// Its firmware starts in less than a million.
const START: u64 = 20_000_000;
/// So often a machine that waits is told the time.
const REST: Duration = Duration::from_secs(1);

enum Net {
    User(Box<User>),
    Tap(Tap),
}

pub fn serve(args: &MachineArgs) -> Result<()> {
    let process = Process::new(&args.process)?;
    if args.ip.is_loopback()
        || args.ip.is_multicast()
        || matches!(args.ip.octets(), [0, ..] | [.., 0 | 1 | 15..=23 | 255])
    {
        bail!(
            "--ip {}: no address of a host, or one of 0, 1, 15 to 23 and 255, which are taken",
            args.ip
        );
    }
    let wire = Addresses {
        card_mac: MAC,
        card_ip: args.ip,
        card_ip6: Ipv6Addr::UNSPECIFIED,
        card_tcp_port: 0,
        card_redis_port: 0,
        card_udp_port: if args.udp_port == 0 { 11211 } else { args.udp_port },
        mtu: MTU,
    };
    let pcap = match &args.pcap {
        Some(path) => {
            Some(Pcap::create(path).with_context(|| format!("cannot write {}", path.display()))?)
        }
        None => None,
    };
    let (net, waker, address) = match args.net {
        MachineNet::User => {
            args.check_udp(args.listen)?;
            let user = User::bind(UserConfig {
                listen: SocketAddr::new(args.listen, 0),
                tcp: false,
                redis_port: None,
                denies: Box::new(|_, _| None),
                allowed: Allowed::default(),
                udp_port: Some(args.udp_port),
                keep_alive: None,
                wire,
            })?;
            let (waker, address) = (user.waker()?, user.local_addr()?);
            (Net::User(Box::new(user)), waker, address)
        }
        MachineNet::Tap => {
            args.check_udp(args.ip.into())?;
            let [a, b, c, _] = args.ip.octets();
            let host = (Ipv4Addr::new(a, b, c, 1), Ipv6Addr::new(0xFD57, 0x4B56, 0, 0, 0, 0, 0, 1));
            let tap = Tap::open(&args.tap_name, host, MTU)?;
            let waker = tap.waker()?;
            (Net::Tap(tap), waker, SocketAddr::new(IpAddr::V4(args.ip), wire.card_udp_port))
        }
    };
    process.settle(false)?;
    let _pid_file = process.write_pid()?;

    let nic = match args.nic {
        MachineNic::Dma => Nic::Dma,
        MachineNic::Mmio => Nic::Mmio,
    };
    let (ip, port) = (args.ip.octets(), wire.card_udp_port);
    let (aside, seeds) = (args.aside == Aside::On, Seeds::random()?);
    let config = Config { nic, aside, seeds, mac: MAC, ip, port, ..Config::default() };
    let mut machine = Machine::new(&config);
    // Before it is ready it would drop what comes.
    machine.run(START, false);
    if !machine.idle() {
        bail!("the firmware does not start; it says: {:?}", machine.console());
    }
    let (net_end, card_end) = Link::ends(waker);
    let machine_end = card_end.clone();
    let machine_thread = Builder::new().name("machine".into()).spawn(move || {
        let _ends_server = signals::RaiseOnDrop;
        run(machine, &machine_end, Wire::new(None, pcap))
    })?;
    let net_thread = Builder::new().name("net".into()).spawn(move || {
        let _ends_server = signals::RaiseOnDrop;
        run_net(net, net_end)
    })?;
    println!("listening on {address}");

    signals::wait()?;
    card_end.stop();
    let ran = machine_thread.join().map_err(|_| anyhow!("the machine's thread failed"))?;
    net_thread.join().map_err(|_| anyhow!("the network's thread failed"))??;
    ran
}

fn run_net(net: Net, link: NetEnd) -> Result<()> {
    match net {
        Net::User(user) => user.run(link).map(|_| ()),
        Net::Tap(tap) => tap.run(link),
    }
}

/// Moves frames and lets the machine work until the link is stopped; its clock stands while it waits.
fn run(mut machine: Machine, link: &CardEnd, mut wire: Wire) -> Result<()> {
    let (mut from, mut to, mut busy) = (Frames::default(), Frames::default(), Duration::ZERO);
    let start = machine.clock();
    while !link.stopped() {
        link.exchange(&mut from, &mut to, machine.backlog())?;
        for frame in to.iter() {
            wire.to_card(frame, &mut |f| machine.send(f))?;
        }
        to.clear();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is wrong")?;
        machine.set_time(now.as_secs() as u32);
        let began = Instant::now();
        machine.run(CLOCKS, true);
        busy += began.elapsed();
        let mut result = Ok(());
        machine.outputs(|_, frame| {
            if result.is_ok() {
                result = wire.from_card(frame, &mut |f| from.push(f));
            }
        });
        result?;
        eprint!("{}", machine.console());
        if machine.idle() && from.is_empty() {
            link.wait(REST);
        }
    }
    wire.flush()?;
    let (clocks, seconds) = (machine.clock() - start, busy.as_secs_f64());
    eprintln!(
        "machine: {clocks} clocks at {:.0} kHz, {} frames in, {} out, {} GETs answered by the accelerator, {} without room, {} restarts of the core",
        clocks as f64 / seconds / 1e3,
        wire.counts.to_card,
        wire.counts.from_card,
        machine.answered(),
        machine.dropped(),
        machine.restarts()
    );
    Ok(())
}
