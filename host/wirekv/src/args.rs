//! The command line.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use wirekv_load::LoadArgs;
use wirekv_net::Impair;

use crate::size::parse_size;

#[derive(Parser)]
#[command(name = "wirekv", version, about = "A key-value cache whose data path is hardware")]
pub struct CommandLine {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Answer memcached clients.
    Serve(ServeArgs),
    /// Put load on a server and measure it. Parameters are named as memtier_benchmark's.
    Load(LoadArgs),
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Body {
    /// The RTL, simulated in this process.
    Sim,
    /// The same cache in software, over the kernel's sockets.
    Soft,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum NetKind {
    /// Listens on a local address; needs no privileges.
    User,
    /// A TAP device; the kernel's TCP/IP talks to the card's. Needs CAP_NET_ADMIN.
    Tap,
}

/// Flags of memcached mean what they mean there.
#[derive(Parser)]
#[command(version, display_name = "wirekv")]
// As with getopt: the last one counts, so that a script can add to what a user has set.
#[command(args_override_self = true)]
pub struct ServeArgs {
    /// What runs the data path.
    #[arg(long, value_enum, default_value = "sim")]
    pub body: Body,
    /// Addresses to listen on, with a comma between; with a port of its own as ADDR:PORT. One
    /// address with --body sim.
    #[arg(short = 'l', long = "listen", value_name = "ADDR", default_value = "127.0.0.1")]
    #[arg(value_delimiter = ',')]
    pub listen: Vec<String>,
    /// TCP port; 0 picks a free one.
    #[arg(short = 'p', long, default_value_t = 11211)]
    pub port: u16,
    /// UDP port; 0 is off. Over UDP the sender's address may be a lie: with one small datagram
    /// anybody can have the server send up to 1.4 MB to somebody else (amplification).
    #[arg(short = 'U', long, default_value_t = 0)]
    pub udp_port: u16,
    /// Serve -U on addresses that are not loopback ones, too. Only where a firewall keeps strangers
    /// away.
    #[arg(long)]
    pub udp_public: bool,
    /// Memory for items and their index, in megabytes.
    #[arg(short = 'm', long, value_name = "MEGABYTES", default_value_t = 64)]
    pub memory_limit: u64,
    /// Largest number of connections at once.
    #[arg(short = 'c', long, value_name = "NUMBER", default_value_t = 1024)]
    pub conn_limit: u32,
    /// Largest size of an item, such as 512k or 1m.
    #[arg(short = 'I', long, value_name = "SIZE", default_value = "1m", value_parser = parse_size)]
    pub max_item_size: u64,
    /// Say more; with --body sim twice: what the host port and the exception queue bring.
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,
    #[command(flatten)]
    pub sim: SimArgs,
    #[command(flatten)]
    pub soft: SoftArgs,
    #[command(flatten)]
    pub ignored: IgnoredArgs,
}

impl ServeArgs {
    /// Whether UDP may be served on such an address.
    pub fn check_udp(&self, address: IpAddr) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.udp_port == 0 || self.udp_public || address.is_loopback(),
            "-U {}: on {address}, others could have this server flood whomever they like; where a \
             firewall keeps them away, say --udp-public",
            self.udp_port
        );
        Ok(())
    }
}

#[derive(Args)]
#[command(next_help_heading = "With --body sim")]
pub struct SimArgs {
    /// How frames reach the card.
    #[arg(long, value_enum, default_value = "user")]
    pub net: NetKind,
    /// Write waves of the simulated card to this file. Needs a build with `--features trace`.
    #[arg(long, value_name = "FILE.fst")]
    pub trace: Option<PathBuf>,
    /// Capture the frames between the network and the card.
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Clocks from a request to the simulated memory to its answer.
    #[arg(long, value_name = "CLOCKS", default_value_t = 40)]
    pub mem_latency: u32,
    /// Treat frames badly, for tests: drop=P,dup=P,reorder=P,damage=P,seed=N.
    #[arg(long, value_name = "LIST")]
    pub impair: Option<Impair>,
    /// Largest IP packet on the wire, 576 to 9000.
    #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u16).range(576..=9000))]
    pub mtu: u16,
    /// Name of the TAP device.
    #[arg(long, value_name = "NAME", default_value = "wirekv0")]
    pub tap_name: String,
    /// The card's address, in a /24 network in which the host is .1.
    #[arg(long, value_name = "ADDR", default_value = "10.77.0.2")]
    pub card_ip: Ipv4Addr,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Binding {
    /// The first byte of a connection decides.
    Auto,
    Ascii,
    Binary,
}

#[derive(Args)]
#[command(next_help_heading = "With --body soft")]
pub struct SoftArgs {
    /// Threads that serve.
    #[arg(short = 't', long, value_name = "NUMBER", default_value_t = 4)]
    pub threads: u16,
    /// Listen on this UNIX domain socket, and on nothing else.
    #[arg(short = 's', long, value_name = "FILE")]
    pub unix_socket: Option<PathBuf>,
    /// Access mode of the UNIX domain socket, octal.
    #[arg(short = 'a', long, value_name = "MODE", default_value = "700", value_parser = parse_octal)]
    pub unix_mask: u32,
    /// Bytes of key and value that an item has on average; sizes the index.
    #[arg(short = 'n', long = "slab-min-size", value_name = "BYTES", default_value_t = 88)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub mean_item: u32,
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
    /// Run in the background.
    #[arg(short = 'd', long)]
    pub daemon: bool,
    /// Serve as this user; for root.
    #[arg(short = 'u', long, value_name = "NAME")]
    pub user: Option<String>,
    /// Write the process id to this file.
    #[arg(short = 'P', long, value_name = "FILE")]
    pub pidfile: Option<PathBuf>,
    /// Keep all memory resident.
    #[arg(short = 'k', long)]
    pub lock_memory: bool,
    /// Touch all of -m at the start, in huge pages where there are any, so that no request waits for
    /// a page.
    #[arg(short = 'L', long)]
    pub enable_largepages: bool,
    /// Allow core files of any size.
    #[arg(short = 'r', long)]
    pub enable_coredumps: bool,
    /// idle_timeout=SECONDS closes silent connections. What tunes memcached's slabs, LRU lists, hash
    /// table and buffers is accepted and does nothing.
    #[arg(short = 'o', long, value_name = "LIST", value_delimiter = ',')]
    pub extended: Vec<Extended>,
    /// Serve Prometheus metrics over HTTP on this address.
    #[arg(long, value_name = "ADDR:PORT")]
    pub metrics: Option<SocketAddr>,
}

/// Flags of memcached that a command line may have and that need nothing to be done.
#[derive(Args)]
#[command(next_help_heading = "Accepted, and without effect")]
pub struct IgnoredArgs {
    /// There are no slabs.
    #[arg(short = 'f', long, value_name = "FACTOR", value_parser = parse_growth)]
    slab_growth_factor: Option<f64>,
    /// Nothing is counted by prefix of the key.
    #[arg(short = 'D', value_name = "CHAR", value_parser = NonEmptyStringValueParser::new())]
    delimiter: Option<String>,
    /// There are no dumps.
    #[arg(short = 'X', long)]
    disable_dumping: bool,
    /// There is no watch.
    #[arg(short = 'W', long)]
    disable_watch: bool,
}

/// What `-o` knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extended {
    IdleTimeout(u32),
    /// Tunes what memcached has and this server does not.
    Ignored,
}

impl FromStr for Extended {
    type Err = String;

    fn from_str(text: &str) -> Result<Extended, String> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let number = |least: f64, most: f64| {
            let number = value.and_then(|text| text.parse().ok());
            number.is_some_and(|number| (least..=most).contains(&number))
        };
        const MANY: f64 = u32::MAX as f64;
        // What memcached would refuse is refused though nobody needs it: it is a mistake.
        let right = match name {
            "idle_timeout" => match value.and_then(|text| text.parse().ok()) {
                Some(seconds) => return Ok(Extended::IdleTimeout(seconds)),
                None => false,
            },
            "drop_privileges" | "inline_ascii_resp" | "lru_crawler" | "lru_maintainer" => true,
            "maxconns_fast" | "modern" | "slab_reassign" | "track_sizes" => true,
            "no_drop_privileges" | "no_inline_ascii_resp" | "no_lru_crawler" => true,
            "no_lru_maintainer" | "no_maxconns_fast" | "no_modern" | "no_slab_reassign" => true,
            "no_chunked_items" | "no_hashexpand" | "no_slab_automove" => true,
            "resp_obj_mem_limit" => true,
            "hash_algorithm" => matches!(value, Some("jenkins" | "murmur3" | "xxh3")),
            "hashpower" => number(12.0, 32.0),
            "hot_lru_pct" | "warm_lru_pct" => number(1.0, 79.0),
            "hot_max_factor" | "warm_max_factor" => number(f64::MIN_POSITIVE, MANY),
            "lru_crawler_sleep" => number(0.0, 1e6),
            "lru_crawler_tocrawl" | "read_buf_mem_limit" => number(0.0, MANY),
            "slab_automove" => value.is_none() || number(0.0, 2.0),
            "slab_automove_freeratio" => number(0.0, MANY),
            "slab_automove_ratio" => number(f64::MIN_POSITIVE, 1.0),
            "slab_automove_window" => number(3.0, MANY),
            "slab_chunk_max" => number(1.0, MANY),
            "slab_sizes" => value.is_some_and(|list| {
                let sizes: Result<Vec<u32>, _> = list.split('-').map(str::parse).collect();
                sizes.is_ok_and(|sizes| sizes.is_sorted_by(|a, b| a < b))
            }),
            "tail_repair_time" => number(10.0, MANY),
            "temporary_ttl" => number(-MANY, MANY),
            "watcher_logbuf_size" | "worker_logbuf_size" => number(0.0, MANY),
            _ => {
                let known = "there is idle_timeout=SECONDS, and what tunes memcached";
                return Err(format!("'{name}' is not known; {known}"));
            }
        };
        match value {
            _ if right => Ok(Extended::Ignored),
            Some(value) => Err(format!("'{value}' is no value of {name}")),
            None => Err(format!("{name} needs a value")),
        }
    }
}

fn parse_growth(text: &str) -> Result<f64, String> {
    let factor = text.parse().ok().filter(|factor| *factor > 1.0);
    factor.ok_or_else(|| format!("'{text}' is not a factor above 1"))
}

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
        match CommandLine::try_parse_from(words).unwrap_or_else(|e| panic!("{e}")).command {
            Command::Serve(args) => args,
            Command::Load(_) => unreachable!(),
        }
    }

    #[test]
    fn the_last_one_counts() {
        let args = serve("-p 1 -m 64 -t 2 -M -B ascii -M -m 128 --port=2 -B binary --threads 3");
        assert_eq!((args.port, args.memory_limit, args.soft.threads), (2, 128, 3));
        assert!(args.soft.disable_evictions && args.soft.protocol == Binding::Binary);
    }

    #[test]
    fn lists_add_up() {
        let args = serve(
            "-l ::1,127.0.0.1 -v -o idle_timeout=5,modern -l 127.0.0.2 -vv -o idle_timeout=6",
        );
        assert_eq!(args.listen, ["::1", "127.0.0.1", "127.0.0.2"]);
        assert_eq!(args.verbose, 3);
        let idle = Extended::IdleTimeout;
        assert_eq!(args.soft.extended, [idle(5), Extended::Ignored, idle(6)]);
    }

    #[test]
    fn an_error_names_what_is_wrong() {
        for (text, why) in [
            ("nonsense", "'nonsense' is not known"),
            ("ext_path=/dev/null:1G", "'ext_path' is not known"),
            ("hashpower", "hashpower needs a value"),
            ("idle_timeout=x", "'x' is no value of idle_timeout"),
            ("hot_max_factor=0", "'0' is no value of hot_max_factor"),
            ("slab_sizes=200-100", "'200-100' is no value of slab_sizes"),
        ] {
            let error = text.parse::<Extended>().unwrap_err();
            assert!(error.starts_with(why), "{error}");
        }
    }
}
