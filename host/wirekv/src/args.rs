//! The command line.

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
#[cfg(feature = "host")]
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;

#[cfg(feature = "soft")]
use clap::builder::NonEmptyStringValueParser;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Id, Parser, Subcommand, ValueEnum};
use ipnet::IpNet;
#[cfg(feature = "card")]
use wirekv_link::Address;
use wirekv_load::LoadArgs;
#[cfg(feature = "host")]
use wirekv_net::Impair;
#[cfg(feature = "host")]
use wirekv_upstream::{Address as Upstream, Protocol};

use crate::extended::Extended;
use crate::memory::Memory;
use crate::size::parse_size;
use crate::top::TopArgs;

#[derive(Parser)]
#[command(name = "wirekv", version, about = "A key-value cache whose data path is hardware")]
pub struct CommandLine {
    #[command(subcommand)]
    pub command: Command,
}

/// The bodies that have the flags of a group, and what others are told. What stands in no group here, all bodies have.
const OWNERS: &[(&str, &[Body], &str)] = &[
    #[cfg(feature = "host")]
    ("HostArgs", &[Body::Sim, Body::Card], "is a flag of --body sim and --body card"),
    #[cfg(feature = "sim")]
    ("SimArgs", &[Body::Sim], "is a flag of --body sim"),
    #[cfg(feature = "card")]
    ("PciArgs", &[Body::Card], "is a flag of --body card"),
    #[cfg(feature = "soft")]
    ("SoftArgs", &[Body::Soft], "is a flag of --body soft"),
];

impl CommandLine {
    /// As `try_parse_from`; a flag that would do nothing is an error as well.
    pub fn read<W>(words: impl IntoIterator<Item = W>) -> Result<CommandLine, clap::Error>
    where
        W: Into<OsString> + Clone,
    {
        let mut command = CommandLine::command();
        let matches = command.try_get_matches_from_mut(words)?;
        let line = CommandLine::from_arg_matches(&matches)?;
        if let (Command::Serve(args), Some(given)) =
            (&line.command, matches.subcommand_matches("serve"))
        {
            let serve =
                command.find_subcommand_mut("serve").expect("the subcommand that was found");
            if let Some((id, why)) = useless(args, given) {
                let flag = serve.get_arguments().find(|arg| *arg.get_id() == id);
                let flag = flag.map_or_else(String::new, ToString::to_string);
                let conflict = ErrorKind::ArgumentConflict;
                return Err(serve.error(conflict, format!("'{flag}' {why}")));
            }
            #[cfg(feature = "card")]
            if args.body == Body::Card && args.pci.pci.is_none() {
                let missing = ErrorKind::MissingRequiredArgument;
                return Err(serve.error(missing, "--body card: --pci ADDRESS says which card"));
            }
        }
        Ok(line)
    }
}

/// A flag that was given and that nothing would look at, and why.
fn useless(args: &ServeArgs, given: &ArgMatches) -> Option<(Id, String)> {
    let body = args.body.to_possible_value().expect("no body is skipped");
    let here = format!("here it is --body {}", body.get_name());
    for (group, _, why) in OWNERS.iter().filter(|(_, bodies, _)| !bodies.contains(&args.body)) {
        let first = given.get_many::<Id>(group).and_then(|mut ids| ids.next().cloned());
        if let Some(id) = first {
            return Some((id, format!("{why}; {here}")));
        }
    }
    let other_word = |word: &Extended| !matches!(word, Extended::IdleTimeout(_));
    if args.body != Body::Soft && args.extended.iter().any(other_word) {
        let why = "is a flag of --body soft, but for idle_timeout";
        return Some((Id::from("extended"), format!("{why}; {here}")));
    }
    let is_given = |other: &str| given.value_source(other) == Some(ValueSource::CommandLine);
    #[cfg(feature = "sim")]
    if args.sim.link == LinkKind::Direct && is_given("host_memory") {
        return Some((Id::from("host_memory"), "is a flag of --link rings".into()));
    }
    #[cfg(feature = "host")]
    if let Some((id, why)) = useless_upstream(args, is_given) {
        return Some((Id::from(id), why.into()));
    }
    let of_tap = ("tap_name", "is a flag of --net tap");
    let of_interfaces = ("net_shared", "is a flag of --net packet, --net afxdp and --net dpdk");
    let listen = ("listen", "is a flag of --net user; --card-ip sets the address");
    let protected = ("protected_mode", "is a flag of --net user");
    let own =
        ("vlan", "does not go with --net-shared: the machine's VLANs have interfaces of their own");
    let background =
        ("daemon", "does not go with --net dpdk, whose threads would stay behind: let a shell or systemd do it");
    let others: &[(&str, &'static str)] = match args.net() {
        None => &[],
        Some(NetKind::User) => &[of_tap, of_interfaces],
        Some(NetKind::Tap) => &[listen, protected, of_interfaces],
        Some(NetKind::Dpdk(_)) => &[listen, protected, of_tap, background],
        Some(_) if args.is_shared() => &[listen, protected, of_tap, own],
        Some(_) => &[listen, protected, of_tap],
    };
    let (other, why) = others.iter().find(|(other, _)| is_given(other))?;
    Some((Id::from(*other), (*why).into()))
}

/// The same with `--upstream`, and without it.
#[cfg(feature = "host")]
fn useless_upstream(
    args: &ServeArgs,
    is_given: impl Fn(&str) -> bool,
) -> Option<(&'static str, &'static str)> {
    const OF: &str = "is a flag of --upstream";
    const PORT: &str = "does not go with --upstream redis:, whose clients come to --redis-port";
    const REDIS: &str = "does not go with --upstream memcached:, whose clients come to --port";
    const UDP: &str = "does not go with --upstream redis:, whose clients come over TCP";
    const PASSWORD: &str = "does not go with --upstream, whose server decides who its clients are";
    let of = [("upstream_timeout", OF), ("upstream_admit", OF), ("max_age", OF)];
    let others: &[_] = match args.host.upstream.as_ref().map(|upstream| upstream.protocol) {
        None => &of,
        Some(Protocol::Redis) => &[("port", PORT), ("udp_port", UDP), ("requirepass", PASSWORD)],
        Some(Protocol::Memcached) => &[("redis_port", REDIS), ("requirepass", PASSWORD)],
    };
    others.iter().copied().find(|(other, _)| is_given(other))
}

#[derive(Subcommand)]
pub enum Command {
    /// Answer memcached clients.
    Serve(Box<ServeArgs>),
    /// Simulate a RISC-V machine whose software is a memcached over UDP.
    #[cfg(feature = "machine")]
    Machine(Box<MachineArgs>),
    /// Write man pages and completions of shells to a folder.
    #[cfg(feature = "pages")]
    #[command(hide = true)]
    Pages { folder: PathBuf },
    /// Put load on a server and measure it. Parameters are named as memtier_benchmark's.
    Load(Box<LoadArgs>),
    /// Show a server's figures in this terminal.
    Top(TopArgs),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Body {
    /// The RTL, simulated in this process.
    #[cfg_attr(not(feature = "sim"), value(hide = true))]
    Sim,
    /// The same cache in software, over the kernel's sockets.
    #[cfg_attr(not(feature = "soft"), value(hide = true))]
    Soft,
    /// The RTL on an FPGA, on PCIe.
    #[cfg_attr(not(feature = "card"), value(hide = true))]
    Card,
}

impl Body {
    /// The simulated card, where it is there. One on PCIe has to be named.
    const DEFAULT: Body = if cfg!(feature = "sim") {
        Body::Sim
    } else if cfg!(feature = "soft") {
        Body::Soft
    } else {
        Body::Card
    };
}

#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(not(feature = "host"), expect(dead_code, reason = "the software body has none"))]
pub enum NetKind {
    /// Listens on a local address; needs no privileges.
    User,
    /// A TAP device; the kernel's TCP/IP talks to the card's.
    Tap,
    /// Frames of a network interface, by packet sockets.
    Packet(String),
    /// Frames of a network interface, by AF_XDP.
    AfXdp(String),
    /// Frames of a port of DPDK, which these arguments of its EAL make.
    Dpdk(String),
}

#[cfg(feature = "host")]
fn parse_net(text: &str) -> Result<NetKind, String> {
    match (text, text.split_once(':')) {
        ("user", _) => Ok(NetKind::User),
        ("tap", _) => Ok(NetKind::Tap),
        (_, Some(("packet", name))) if !name.is_empty() => Ok(NetKind::Packet(name.into())),
        (_, Some(("afxdp", name))) if !name.is_empty() => Ok(NetKind::AfXdp(name.into())),
        (_, Some(("dpdk", words))) => Ok(NetKind::Dpdk(words.into())),
        _ => Err(format!("'{text}' is none of user, tap, packet:IFACE, afxdp:IFACE and dpdk:ARGS")),
    }
}

/// Flags of memcached mean what they mean there.
#[derive(Parser)]
#[command(version, display_name = "wirekv")]
// As with getopt: the last one counts, so that a script can add to what a user has set.
#[command(args_override_self = true)]
pub struct ServeArgs {
    /// What runs the data path.
    #[arg(long, value_enum, default_value_t = Body::DEFAULT)]
    pub body: Body,
    /// Addresses to listen on, with a comma between; with a port of its own as ADDR:PORT. One
    /// address unless it is --body soft.
    #[arg(short = 'l', long = "listen", value_name = "ADDR", default_value = "127.0.0.1")]
    #[arg(value_delimiter = ',')]
    pub listen: Vec<String>,
    /// TCP port; 0 picks a free one.
    #[arg(short = 'p', long, default_value_t = 11211)]
    pub port: u16,
    /// TCP port for Redis clients; 0 is off. With -s, any other number has them served on the socket
    /// FILE.redis.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub redis_port: u16,
    /// Redis clients must give this password; memcached's need none. Whoever may list processes
    /// sees it.
    #[arg(long, value_name = "PASSWORD")]
    pub requirepass: Option<String>,
    /// While there is no password, Redis clients from other addresses than loopback ones are told so
    /// and closed: yes or no. Only with --net user and --body soft is anybody.
    #[arg(long, value_name = "YES", default_value = "yes", value_parser = ["yes", "no"])]
    pub protected_mode: String,
    /// Only clients from these addresses and networks are served, such as 127.0.0.1,10.0.0.0/8,fd00::/8.
    /// Not with --body card.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_network)]
    pub allow: Vec<IpNet>,
    /// UDP port; 0 is off. Over UDP the sender's address may be a lie: with one small datagram
    /// anybody can have the server send up to 1.4 MB to somebody else (amplification).
    #[arg(short = 'U', long, default_value_t = 0)]
    pub udp_port: u16,
    /// Serve -U on addresses that are not loopback ones, too. Only where a firewall keeps strangers
    /// away.
    #[arg(long)]
    pub udp_public: bool,
    /// Memory for items and their index: megabytes, a size such as 512m or 1g, or a share such as 80%
    /// of the machine's memory or its cgroup's limit. What does not fit there is refused. Of the
    /// software body, half of it is also for replies that clients do not take: Redis' clients go on
    /// meanwhile, each up to 256 MiB of replies, and when there is no room for more are closed.
    #[arg(short = 'm', long, value_name = "MEGABYTES", default_value = "64")]
    pub memory_limit: Memory,
    /// Largest number of connections at once. Default: 1024, or as many as the card is built for.
    #[arg(short = 'c', long, value_name = "NUMBER")]
    pub conn_limit: Option<u32>,
    /// Largest size of an item, such as 512k or 1m.
    #[arg(short = 'I', long, value_name = "SIZE", default_value = "1m", value_parser = parse_size)]
    pub max_item_size: u64,
    /// Seconds of a client's silence before its host is asked whether it is still there; 0 is never.
    /// Who does not answer within 72 seconds loses its connection.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    #[arg(value_parser = clap::value_parser!(u16).range(..=32_767))]
    pub tcp_keepalive: u16,
    /// idle_timeout=SECONDS closes connections without requests. The rest is for --body soft:
    /// drop_privileges leaves the process no system calls but those that serving needs; with -Z
    /// ssl_chain_cert=FILE, ssl_key=FILE, ssl_ca_cert=FILE, ssl_verify_mode=0 to 3, ssl_min_version=2 or 3,
    /// ssl_session_cache and ssl_wbuf_size=KILOBYTES are memcached's; watcher_logbuf_size=KILOBYTES is room for
    /// lines of watch and MONITOR that a client does not take; what tunes memcached's slabs, LRU
    /// lists, hash table and buffers is accepted and does nothing.
    #[arg(short = 'o', long, value_name = "LIST", value_delimiter = ',')]
    pub extended: Vec<Extended>,
    /// Forbid memcached's watch and Redis' MONITOR.
    #[arg(short = 'W', long)]
    pub disable_watch: bool,
    /// Serve Prometheus metrics over HTTP on this address: /metrics, and /healthz.
    #[arg(long, value_name = "ADDR:PORT")]
    pub metrics: Option<SocketAddr>,
    /// Say more; of a card twice: what the host port and the punt queue bring.
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,
    #[command(flatten)]
    pub process: ProcessArgs,
    #[cfg(feature = "host")]
    #[command(flatten)]
    pub host: HostArgs,
    #[cfg(feature = "sim")]
    #[command(flatten)]
    pub sim: SimArgs,
    #[cfg(feature = "card")]
    #[command(flatten)]
    pub pci: PciArgs,
    #[cfg(feature = "soft")]
    #[command(flatten)]
    pub soft: SoftArgs,
    #[command(flatten)]
    pub ignored: IgnoredArgs,
}

impl ServeArgs {
    /// Connections at once; a card may be built for fewer.
    pub fn conn_limit(&self) -> u32 {
        self.conn_limit.unwrap_or(1024)
    }

    /// Seconds of silence before a client's host is asked whether it is still there.
    pub fn keep_alive(&self) -> Option<u16> {
        (self.tcp_keepalive > 0).then_some(self.tcp_keepalive)
    }

    /// What Redis' clients must give; an empty one is none.
    pub fn password(&self) -> &[u8] {
        self.requirepass.as_deref().unwrap_or_default().as_bytes()
    }

    /// Whether it is known where clients come from.
    pub fn knows_peers(&self) -> bool {
        matches!(self.net(), None | Some(NetKind::User))
    }

    /// Whether the card has the machine's addresses.
    pub fn is_shared(&self) -> bool {
        #[cfg(feature = "host")]
        return self.host.net_shared;
        #[cfg(not(feature = "host"))]
        return false;
    }

    /// The card's network.
    #[cfg(feature = "host")]
    fn net(&self) -> Option<&NetKind> {
        (self.body != Body::Soft).then_some(&self.host.net)
    }

    #[cfg(not(feature = "host"))]
    fn net(&self) -> Option<&NetKind> {
        None
    }

    /// Whether Redis' clients from elsewhere are sent away.
    pub fn is_protected(&self) -> bool {
        self.protected_mode == "yes" && self.knows_peers()
    }

    /// Whether UDP may be served on such an address.
    pub fn check_udp(&self, address: IpAddr) -> anyhow::Result<()> {
        if self.udp_port == 0 {
            return Ok(());
        }
        check_udp(self.udp_port, self.udp_public, address)
    }
}

/// How frames reach the machine.
#[cfg(feature = "machine")]
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MachineNet {
    /// Datagrams to a local address; needs no privileges.
    User,
    /// A TAP device; needs them.
    Tap,
}

/// How they reach its memory.
#[cfg(feature = "machine")]
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MachineNic {
    /// By DMA, through rings.
    Dma,
    /// The core moves them by reads and writes of registers.
    Mmio,
}

/// Whether its accelerator answers.
#[cfg(feature = "machine")]
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Aside {
    /// What it can.
    On,
    /// Software answers all.
    Off,
}

#[cfg(feature = "machine")]
#[derive(Parser)]
#[command(version, display_name = "wirekv", args_override_self = true)]
pub struct MachineArgs {
    /// How frames reach the machine.
    #[arg(long, value_enum, default_value_t = MachineNet::User)]
    pub net: MachineNet,
    /// How they reach its memory.
    #[arg(long, value_enum, default_value_t = MachineNic::Dma)]
    pub nic: MachineNic,
    /// Whether its accelerator answers GETs in front of the software.
    #[arg(long, value_enum, default_value_t = Aside::On)]
    pub aside: Aside,
    /// With --net user: the address to listen on.
    #[arg(short = 'l', long = "listen", value_name = "ADDR", default_value = "127.0.0.1")]
    pub listen: IpAddr,
    /// UDP port; with --net user 0 picks a free one.
    #[arg(short = 'U', long, default_value_t = 11211)]
    pub udp_port: u16,
    /// Serve on addresses that are not loopback ones, too: as of `serve`.
    #[arg(long)]
    pub udp_public: bool,
    /// With --net tap: name of the device.
    #[arg(long, value_name = "NAME", default_value = "wirekv0")]
    pub tap_name: String,
    /// The machine's address, in a /24 network in which the host is .1.
    #[arg(long, value_name = "ADDR", default_value = "10.77.0.2")]
    pub ip: std::net::Ipv4Addr,
    /// Capture the frames between the network and the machine.
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    #[command(flatten)]
    pub process: ProcessArgs,
}

/// `10.0.0.0/8`, `fd00::/8`, or an address alone.
fn parse_network(text: &str) -> Result<IpNet, String> {
    let network = text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
    let network = network
        .map_err(|_| format!("'{text}' is no address or network such as 10.0.0.0/8 or fd00::/8"))?;
    if network != network.trunc() {
        let bits = network.prefix_len();
        return Err(format!("'{text}': behind its first {bits} bits a network's address is 0"));
    }
    Ok(network)
}

/// Whether UDP may be served on such an address: to strangers only if that is said.
fn check_udp(port: u16, public: bool, address: IpAddr) -> anyhow::Result<()> {
    anyhow::ensure!(
        public || address.is_loopback(),
        "-U {port}: on {address}, others could have this server flood whomever they like; where a \
         firewall keeps them away, say --udp-public"
    );
    Ok(())
}

#[cfg(feature = "machine")]
impl MachineArgs {
    /// As of `ServeArgs`.
    pub fn check_udp(&self, address: IpAddr) -> anyhow::Result<()> {
        check_udp(self.udp_port, self.udp_public, address)
    }
}

#[derive(Args)]
#[command(next_help_heading = "The process")]
pub struct ProcessArgs {
    /// Run in the background.
    #[arg(short = 'd', long)]
    pub daemon: bool,
    /// Serve as this user. Needed if root starts it, be it as `-u root`; of no effect else.
    #[arg(short = 'u', long, value_name = "NAME")]
    pub user: Option<String>,
    /// Write the process id to this file.
    #[arg(short = 'P', long, value_name = "FILE")]
    pub pidfile: Option<PathBuf>,
    /// Allow core files of any size.
    #[arg(short = 'r', long)]
    pub enable_coredumps: bool,
}

#[cfg(feature = "host")]
#[derive(Args)]
#[command(next_help_heading = "With --body sim and --body card")]
pub struct HostArgs {
    /// How frames reach the card. `user` listens on a local address and needs no privileges. The others need them:
    /// with `tap` the kernel's TCP/IP talks to the card's through a TAP device; `packet:IFACE` and `afxdp:IFACE` carry
    /// frames of a network interface, by packet sockets or by AF_XDP; `dpdk:ARGS` those of the port that DPDK makes by
    /// ARGS, the arguments of its EAL. It needs a build with `make server FEATURES=dpdk`.
    #[arg(long, value_name = "NET", default_value = "user", value_parser = parse_net)]
    pub net: NetKind,
    /// With `--net packet` and `--net afxdp`: the card has the interface's MAC and IP addresses, and of the frames to
    /// them those for its ports. With `--net dpdk`: the port's MAC address. Otherwise it has addresses of its own.
    #[arg(long)]
    pub net_shared: bool,
    /// Stand before this server, memcached:HOST:PORT or redis:HOST:PORT: the card answers plain GETs of what it has a copy
    /// of. Everything else that clients send goes to the server, and its answer comes back. docs/UPSTREAM.md says more.
    #[arg(long, value_name = "ADDR")]
    pub upstream: Option<Upstream>,
    /// The server has so long to answer; then clients are told an error.
    #[arg(long, value_name = "SECONDS", default_value_t = 2)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=3600))]
    pub upstream_timeout: u16,
    /// When a key's value is copied: when it is asked for a second time, or at once.
    #[arg(long, value_enum, default_value = "twice")]
    pub upstream_admit: Admit,
    /// No copy is older than this, for a server that others change, too; 0: they live as long as the server says.
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=2_000_000_000))]
    pub max_age: u32,
    /// Capture the frames between the network and the card.
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Let whoever reaches --metrics mark a connection, and read which points of the card its requests pass in which
    /// clocks. Needs a build with `make server CONFIG=Traced`.
    #[arg(long, requires = "metrics")]
    pub demo: bool,
    /// Treat frames badly, for tests: drop=P,dup=P,reorder=P,damage=P,seed=N.
    #[arg(long, value_name = "LIST")]
    pub impair: Option<Impair>,
    /// Largest IP packet on the wire, 576 to 9000. Without it, that of the interface, or else 1500.
    #[arg(long, value_parser = clap::value_parser!(u16).range(576..=9000))]
    pub mtu: Option<u16>,
    /// VLAN of which the card is a member beside the untagged network: frames of others are dropped.
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(u16).range(1..=4094))]
    pub vlan: Option<u16>,
    /// Say nothing to who asks for a port where nobody serves: no RST, no ICMP error.
    #[arg(long)]
    pub quiet: bool,
    /// Name of the TAP device.
    #[arg(long, value_name = "NAME", default_value = "wirekv0")]
    pub tap_name: String,
    /// The card's address. With `--net user` and `--net tap` it is in a /24 network in which the host is .1. Without
    /// it: 10.77.0.2, or with --net-shared the interface's first one.
    #[arg(long, value_name = "ADDR")]
    pub card_ip: Option<Ipv4Addr>,
    /// The card's IPv6 address beside that of the link; likewise, in a /64 network in which the host is ::1, or
    /// fd57:4b56::2.
    #[arg(long, value_name = "ADDR")]
    pub card_ip6: Option<Ipv6Addr>,
}

/// Which values are copied to a card before another server.
#[cfg(feature = "host")]
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Admit {
    /// Those of keys that were asked for lately.
    Twice,
    All,
}

#[cfg(feature = "sim")]
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LinkKind {
    /// Frames are handed to the card's ports.
    Direct,
    /// They pass rings in memory, which the card reads and writes. Needs a build with
    /// `make server FEATURES=rings`.
    Rings,
}

/// The memory of a simulated card's host.
#[cfg(feature = "sim")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "rings"), allow(dead_code, reason = "no link is simulated"))]
pub struct HostMemory {
    pub latency: u32,
    pub jitter: u32,
    pub shuffle: bool,
    pub refuse: u32,
}

#[cfg(feature = "sim")]
fn parse_host_memory(text: &str) -> Result<HostMemory, String> {
    let mut memory = HostMemory { latency: 1, jitter: 0, shuffle: false, refuse: 0 };
    for word in text.split(',') {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let number = |most: u32| {
            let number = value.parse::<u32>().ok().filter(|n| *n <= most);
            number.ok_or_else(|| format!("'{word}': {name} is a number up to {most}"))
        };
        match (name, value) {
            ("latency", _) => memory.latency = number(100_000)?.max(1),
            ("jitter", _) => memory.jitter = number(100_000)?,
            ("refuse", _) => memory.refuse = number(u32::MAX)?,
            ("shuffle", "") => memory.shuffle = true,
            _ => {
                return Err(format!(
                    "'{word}' is none of latency=N, jitter=N, shuffle and refuse=N"
                ))
            }
        }
    }
    Ok(memory)
}

#[cfg(feature = "sim")]
#[derive(Args)]
#[command(next_help_heading = "With --body sim")]
pub struct SimArgs {
    /// How frames pass between this program and the simulated card. `direct` hands them to the card's ports. `rings` is as
    /// with a card on PCIe: they lie in memory, which the card reads and writes. Needs a build with
    /// `make server FEATURES=rings`.
    #[arg(long, value_enum, default_value_t = LinkKind::Direct)]
    pub link: LinkKind,
    /// The memory that the card reaches with `--link rings`: latency=CLOCKS (1), jitter=CLOCKS beside it at most, shuffle (reads
    /// are answered in any order), and for tests refuse=N: each N-th access to the wire's rings fails.
    #[arg(long, value_name = "LIST", default_value = "latency=1", value_parser = parse_host_memory)]
    pub host_memory: HostMemory,
    /// Write waves of the simulated card to this file. Needs a build with `--features trace`.
    #[arg(long, value_name = "FILE.fst")]
    pub trace: Option<PathBuf>,
    /// Clocks from a request to the simulated memory to its answer. Real ones take some 40, as `make bench` has it;
    /// each of them makes a lone client wait for longer here.
    #[arg(long, value_name = "CLOCKS", default_value_t = 1)]
    pub mem_latency: u32,
}

#[cfg(feature = "card")]
#[derive(Args)]
#[command(next_help_heading = "With --body card")]
pub struct PciArgs {
    /// The card: its address on PCI as `lspci -D` has it, such as 0000:00:1d.0. Needs root, and a huge page of 2 MiB.
    #[arg(long, value_name = "ADDRESS")]
    pub pci: Option<Address>,
    /// What the card must say it is, in hexadecimal. The default is a card of AWS F2.
    #[arg(long, value_name = "VENDOR:DEVICE", default_value = "1d0f:f000", value_parser = parse_ids)]
    pub pci_id: (u16, u16),
    /// Where its registers are: the BAR, and the byte in it, a multiple of 4096.
    #[arg(long, value_name = "BAR:OFFSET", default_value = "0:0", value_parser = parse_bar)]
    pub pci_registers: (u8, u64),
    /// A hugetlbfs with pages of 2 MiB.
    #[arg(long, value_name = "FOLDER", default_value = "/dev/hugepages")]
    pub hugepages: PathBuf,
}

#[cfg(feature = "card")]
fn parse_ids(text: &str) -> Result<(u16, u16), String> {
    let hex = |text: &str| u16::from_str_radix(text, 16).ok().filter(|_| text.len() == 4);
    let ids = text.split_once(':').and_then(|(vendor, device)| Some((hex(vendor)?, hex(device)?)));
    ids.ok_or_else(|| format!("'{text}' is not VENDOR:DEVICE such as 1d0f:f000"))
}

#[cfg(feature = "card")]
fn parse_bar(text: &str) -> Result<(u8, u64), String> {
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    };
    let place = text.split_once(':').and_then(|(bar, at)| Some((bar.parse().ok()?, number(at)?)));
    let place = place.filter(|(bar, at)| *bar < 6 && at % 4096 == 0 && *at < 1 << 40);
    place.ok_or_else(|| format!("'{text}' is not BAR:OFFSET such as 0:0 or 2:0x200000"))
}

#[cfg(feature = "soft")]
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Binding {
    /// The first byte of a connection decides.
    Auto,
    Ascii,
    Binary,
}

#[cfg(feature = "soft")]
#[derive(Args)]
#[command(next_help_heading = "With --body soft")]
pub struct SoftArgs {
    /// Threads that serve.
    #[arg(short = 't', long, value_name = "NUMBER", default_value_t = 4)]
    pub threads: u16,
    /// Let Redis clients use DEBUG.
    #[arg(long)]
    pub enable_debug_command: bool,
    /// Listen on this UNIX domain socket, and on nothing else.
    #[arg(short = 's', long, value_name = "FILE")]
    pub unix_socket: Option<PathBuf>,
    /// Access mode of the UNIX domain socket, octal.
    #[arg(short = 'a', long, value_name = "MODE", default_value = "700", value_parser = parse_octal)]
    pub unix_mask: u32,
    /// Bytes of key, value and flags that the smallest items have; the index is sized for items that
    /// have 40 more on average.
    #[arg(short = 'n', long = "slab-min-size", value_name = "BYTES", default_value_t = 48)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub least_item: u32,
    /// Microseconds for which a thread looks for more to do before it sleeps, when its work lately came
    /// within this time: lower latency for more processor time. 0: it sleeps at once.
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 20)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    pub busy_poll: u32,
    /// Requests of one connection that are served before others have their turn.
    #[arg(short = 'R', long, value_name = "NUMBER", default_value_t = 64)]
    pub max_reqs_per_event: u16,
    /// Connections that may wait to be accepted.
    #[arg(short = 'b', long, value_name = "NUMBER", default_value_t = 1024)]
    pub listen_backlog: i32,
    /// Protocol that clients may speak.
    #[arg(short = 'B', long, value_enum, default_value = "auto")]
    pub protocol: Binding,
    /// Refuse new items when memory is full instead of evicting old ones.
    #[arg(short = 'M', long)]
    pub disable_evictions: bool,
    /// No CAS uniques.
    #[arg(short = 'C', long)]
    pub disable_cas: bool,
    /// No flush_all.
    #[arg(short = 'F', long)]
    pub disable_flush_all: bool,
    /// Obey the command `shutdown`.
    #[arg(short = 'A', long)]
    pub enable_shutdown: bool,
    /// Keep items in this file, from which the next start with the same flags has them again: one on
    /// tmpfs, such as below /dev/shm, for speed. A server that is killed leaves nothing in it.
    #[arg(short = 'e', long, value_name = "FILE")]
    pub memory_file: Option<PathBuf>,
    /// Keep all memory resident.
    #[arg(short = 'k', long)]
    pub lock_memory: bool,
    /// Touch all of -m at the start, in huge pages where there are any, so that no request waits for
    /// a page.
    #[arg(short = 'L', long)]
    pub enable_largepages: bool,
    /// Count commands by what their keys have before this character, for `stats detail dump`. Without it `stats detail
    /// on` begins that, and the character is a colon.
    #[arg(short = 'D', value_name = "CHAR", value_parser = NonEmptyStringValueParser::new())]
    pub delimiter: Option<String>,
    /// Clients must be one of the users in this file, whatever they speak: it has lines user:password. memcached's
    /// send `user password` as the value of a first `set`, Redis' AUTH.
    #[arg(short = 'Y', long, value_name = "FILE")]
    pub auth_file: Option<PathBuf>,
    /// With -Y, clients of the binary protocol may log in: by SASL, mechanism PLAIN.
    #[arg(short = 'S', long)]
    pub enable_sasl: bool,
    /// As --requirepass; the password is the one line of this file.
    #[arg(long, value_name = "FILE", conflicts_with = "requirepass")]
    pub requirepass_file: Option<PathBuf>,
    /// Speak TLS on memcached's TCP ports, with the certificate of -o ssl_chain_cert=FILE and the key of
    /// -o ssl_key=FILE. An address of -l that begins with `notls:` is without.
    #[arg(short = 'Z', long)]
    pub enable_ssl: bool,
    /// TCP port for Redis clients over TLS; 0 is off.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub tls_port: u16,
    /// The certificate there, and those that lead to one that clients know, in PEM.
    #[arg(long, value_name = "FILE")]
    pub tls_cert_file: Option<PathBuf>,
    /// Its private key, in PEM.
    #[arg(long, value_name = "FILE")]
    pub tls_key_file: Option<PathBuf>,
    /// Who signs the certificates of clients there, in PEM.
    #[arg(long, value_name = "FILE")]
    pub tls_ca_cert_file: Option<PathBuf>,
    /// Whether clients there must show a certificate: yes, no, or optional.
    #[arg(long, value_name = "YES", default_value = "yes", value_parser = ["yes", "no", "optional"])]
    pub tls_auth_clients: String,
}

/// Flags of memcached that a command line may have and that need nothing to be done.
#[derive(Args)]
#[command(next_help_heading = "Accepted, and without effect")]
pub struct IgnoredArgs {
    /// There are no slabs.
    #[arg(short = 'f', long, value_name = "FACTOR", value_parser = parse_growth)]
    slab_growth_factor: Option<f64>,
    /// There are no dumps.
    #[arg(short = 'X', long)]
    disable_dumping: bool,
}

fn parse_growth(text: &str) -> Result<f64, String> {
    let factor = text.parse().ok().filter(|factor| *factor > 1.0);
    factor.ok_or_else(|| format!("'{text}' is not a factor above 1"))
}

#[cfg(feature = "soft")]
fn parse_octal(text: &str) -> Result<u32, String> {
    u32::from_str_radix(text, 8)
        .ok()
        .filter(|mode| *mode <= 0o777)
        .ok_or_else(|| format!("'{text}' is not an access mode such as 700"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serve(words: &str) -> ServeArgs {
        let words = ["wirekv", "serve"].into_iter().chain(words.split_whitespace());
        match CommandLine::read(words).unwrap_or_else(|e| panic!("{e}")).command {
            Command::Serve(args) => *args,
            _ => unreachable!(),
        }
    }

    #[test]
    fn without_a_word_it_is_the_card_where_there_is_one() {
        let expected = if cfg!(feature = "sim") { Body::Sim } else { Body::Soft };
        if cfg!(any(feature = "sim", feature = "soft")) {
            assert_eq!(serve("").body, expected);
        }
    }

    #[cfg(feature = "soft")]
    #[test]
    fn the_last_one_counts() {
        let args = serve(
            "--body soft -p 1 -m 64 -t 2 -M -B ascii -M -m 128 --port=2 -B binary --threads 3",
        );
        assert_eq!(
            (args.port, args.memory_limit.bytes().unwrap(), args.soft.threads),
            (2, 128 << 20, 3)
        );
        assert!(args.soft.disable_evictions && args.soft.protocol == Binding::Binary);
    }

    #[test]
    fn lists_add_up() {
        let args = serve(
            "--body soft -l ::1,127.0.0.1 -v -o idle_timeout=5,modern -l 127.0.0.2 -vv -o idle_timeout=6",
        );
        assert_eq!(args.listen, ["::1", "127.0.0.1", "127.0.0.2"]);
        assert_eq!(args.verbose, 3);
        let idle = Extended::IdleTimeout;
        assert_eq!(args.extended, [idle(5), Extended::Ignored, idle(6)]);
    }

    #[test]
    fn networks() {
        for text in ["10.0.0.0/8", "127.0.0.1", "0.0.0.0/0", "::/0", "fd00::/8", "2001:db8::/33"] {
            assert!(parse_network(text).is_ok(), "{text}");
        }
        for wrong in
            ["", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.1/8", "fd00::1/64", "::/129", "a", "/8"]
        {
            assert!(parse_network(wrong).is_err(), "{wrong}");
        }
    }

    /// What all bodies have. Whoever adds a flag here sees to it that it does something in each.
    const OF_ALL: &[&str] = &[
        "body",
        "listen",
        "port",
        "udp_port",
        "udp_public",
        "memory_limit",
        "conn_limit",
        "max_item_size",
        "tcp_keepalive",
        "extended",
        "metrics",
        "verbose",
        "daemon",
        "user",
        "pidfile",
        "redis_port",
        "requirepass",
        "protected_mode",
        "allow",
        "enable_coredumps",
        "slab_growth_factor",
        "disable_dumping",
        "disable_watch",
    ];

    fn name_of(flag: &clap::Arg) -> String {
        let short = || format!("-{}", flag.get_short().expect("a flag has a name"));
        flag.get_long().map_or_else(short, |long| format!("--{long}"))
    }

    /// Words that give a flag, with a value that it takes.
    fn words_for(flag: &clap::Arg, body: &str) -> Vec<String> {
        let name = name_of(flag);
        let net = match (name.as_str(), body) {
            ("--tap-name", "sim" | "card") => "--net tap",
            ("--net-shared", "sim" | "card") => "--net packet:eth0",
            ("--host-memory", "sim") => "--link rings",
            ("--upstream-timeout" | "--upstream-admit" | "--max-age", "sim" | "card") => {
                "--upstream redis:127.0.0.1:1"
            }
            ("--demo", _) => "--metrics 127.0.0.1:1",
            _ => "",
        };
        let is_pci = cfg!(feature = "card") && body == "card" && name != "--pci";
        let card = if is_pci { "--pci 0000:00:1d.0" } else { "" };
        let values = [
            "",
            "700",
            "10.0.0.1",
            "fd00::1",
            "127.0.0.1:1",
            "drop=0.1",
            "idle_timeout=7",
            "auto",
            "user",
            "no",
            body,
            "1400",
            "direct",
            "latency=5",
            "0000:00:1d.0",
            "1d0f:f000",
            "0:0",
            "memcached:127.0.0.1:1",
            "twice",
        ];
        let words =
            values.map(|value| format!("wirekv serve --body {body} {card} {net} {name} {value}"));
        let mut words = words.iter().map(|w| w.split_whitespace().map(String::from).collect());
        let is_right = |words: &Vec<String>| CommandLine::try_parse_from(words).is_ok();
        words.find(is_right).unwrap_or_else(|| panic!("no value is right for {name}"))
    }

    /// Every flag there is: one body's is the other's error, which says whose it is.
    #[test]
    fn a_flag_that_a_body_does_not_have_is_an_error() {
        let command = CommandLine::command();
        let serve = command.find_subcommand("serve").unwrap();
        let mut counts = vec![0; OWNERS.len()];
        for flag in serve.get_arguments() {
            let id = flag.get_id();
            let of = |group: &str| {
                let group = serve.get_groups().find(|g| g.get_id() == group);
                group.expect("a group of arguments").get_args().any(|arg| arg == id)
            };
            let owner = OWNERS.iter().position(|(group, ..)| of(group));
            if let Some(owner) = owner {
                counts[owner] += 1;
            }
            assert_eq!(owner.is_none(), OF_ALL.contains(&id.as_str()), "{id}");
            for (body, body_name) in
                [(Body::Sim, "sim"), (Body::Card, "card"), (Body::Soft, "soft")]
            {
                let read = CommandLine::read(words_for(flag, body_name));
                let words = match owner.map(|owner| OWNERS[owner]) {
                    Some((_, bodies, words)) if !bodies.contains(&body) => words,
                    _ => {
                        assert!(read.is_ok(), "{id} with {body_name}");
                        continue;
                    }
                };
                let error =
                    read.err().unwrap_or_else(|| panic!("{id} with {body_name}")).to_string();
                assert!(error.starts_with(&format!("error: '{}", name_of(flag))), "{error}");
                let why = format!("{words}; here it is --body {body_name}");
                assert!(error.contains(&why), "{error}");
            }
        }
        assert!(counts.iter().all(|count| *count >= 4), "{counts:?}");
    }

    #[cfg(all(feature = "sim", feature = "card"))]
    #[test]
    fn flags_of_cards_say_what_is_wrong_with_them() {
        for (words, why) in [
            ("--body card", "--body card: --pci ADDRESS says which card"),
            ("--body card --pci 1d.0", "is no address of PCI such as 0000:00:1d.0"),
            ("--body card --pci 0000:00:1d.0 --pci-id 1d0f", "is not VENDOR:DEVICE"),
            ("--body card --pci 0000:00:1d.0 --pci-registers 6:0", "is not BAR:OFFSET"),
            ("--body card --pci 0000:00:1d.0 --pci-registers 0:17", "is not BAR:OFFSET"),
            (
                "--body card --pci 0000:00:1d.0 --link rings",
                "is a flag of --body sim; here it is --body card",
            ),
            ("--host-memory latency=9", "is a flag of --link rings"),
            ("--link rings --host-memory latency=-1", "latency is a number up to 100000"),
            ("--link rings --host-memory late", "'late' is none of latency=N, jitter=N, shuffle"),
            ("--link rings --host-memory shuffle=1", "'shuffle=1' is none of"),
        ] {
            let words = ["wirekv", "serve"].into_iter().chain(words.split(' '));
            let error = CommandLine::read(words).err().unwrap().to_string();
            assert!(error.contains(why), "{error}");
        }
        let args = serve("--link rings --host-memory latency=250,jitter=20,shuffle,refuse=7");
        let memory = HostMemory { latency: 250, jitter: 20, shuffle: true, refuse: 7 };
        assert_eq!(args.sim.host_memory, memory);
        let args =
            serve("--body card --pci 0000:00:1d.0 --pci-id 10ee:903f --pci-registers 2:0x200000");
        assert_eq!((args.pci.pci_id, args.pci.pci_registers), ((0x10EE, 0x903F), (2, 0x200000)));
    }

    #[cfg(feature = "host")]
    #[test]
    fn flags_beside_another_server() {
        let body = if cfg!(feature = "sim") { "sim" } else { "card --pci 0000:00:1d.0" };
        for (words, why) in [
            ("--upstream 10.0.0.1:11211", "is no address such as memcached:10.0.0.1:11211"),
            ("--max-age 5", "is a flag of --upstream"),
            ("--upstream-timeout 5", "is a flag of --upstream"),
            ("--upstream-admit all", "is a flag of --upstream"),
            ("--upstream redis:h:1 --upstream-timeout 0", "0 is not in 1..=3600"),
            ("--upstream redis:h:1 -p 5", "whose clients come to --redis-port"),
            ("--upstream memcached:h:1 --redis-port 5", "whose clients come to --port"),
            ("--upstream redis:h:1 -U 5", "whose clients come over TCP"),
            ("--upstream redis:h:1 --requirepass x", "whose server decides"),
        ] {
            let words = format!("wirekv serve --body {body} {words}");
            let error = CommandLine::read(words.split(' ')).err().unwrap().to_string();
            assert!(error.contains(why), "{error}");
        }
        let args = serve(&format!("--body {body} --upstream redis:[::1]:7 --max-age 9"));
        assert_eq!(args.host.upstream.unwrap().to_string(), "redis:[::1]:7");
        assert_eq!((args.host.upstream_timeout, args.host.max_age), (2, 9));
    }

    #[cfg(feature = "sim")]
    #[test]
    fn a_flag_of_another_network_is_an_error() {
        for (words, why) in [
            ("wirekv serve --tap-name x", "is a flag of --net tap"),
            ("wirekv serve --net tap -l 127.0.0.1", "is a flag of --net user"),
            ("wirekv serve --net tap --protected-mode no", "is a flag of --net user"),
            ("wirekv serve --net packet:e -l 127.0.0.1", "is a flag of --net user"),
            ("wirekv serve --net afxdp:e --tap-name x", "is a flag of --net tap"),
            ("wirekv serve --net-shared", "is a flag of --net packet, --net afxdp and --net dpdk"),
            (
                "wirekv serve --net tap --net-shared",
                "is a flag of --net packet, --net afxdp and --net dpdk",
            ),
            ("wirekv serve --net packet:e --net-shared --vlan 5", "does not go with --net-shared"),
            (
                "wirekv serve --net packet",
                "none of user, tap, packet:IFACE, afxdp:IFACE and dpdk:ARGS",
            ),
            (
                "wirekv serve --net afxdp:",
                "none of user, tap, packet:IFACE, afxdp:IFACE and dpdk:ARGS",
            ),
            (
                "wirekv serve --net dpdk",
                "none of user, tap, packet:IFACE, afxdp:IFACE and dpdk:ARGS",
            ),
            ("wirekv serve --net dpdk: -d", "'--daemon' does not go with --net dpdk"),
            ("wirekv serve --net dpdk: -l 127.0.0.1", "is a flag of --net user"),
            (
                "wirekv serve --net user:e",
                "none of user, tap, packet:IFACE, afxdp:IFACE and dpdk:ARGS",
            ),
        ] {
            let error = CommandLine::read(words.split(' ')).err().unwrap().to_string();
            assert!(error.contains(why), "{error}");
        }
        serve("--net tap --tap-name x");
        serve("--net user -l 127.0.0.1");
        serve("--net packet:e --vlan 5");
        serve("--net afxdp:e --net-shared --card-ip 10.0.0.1");
        serve("--net dpdk: --net-shared --vlan 5");
        assert!(serve("--net dpdk:-a=0:1:2.3").host.net == NetKind::Dpdk("-a=0:1:2.3".into()));
    }
}
