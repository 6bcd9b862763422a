//! The command line.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use wirekv_load::LoadArgs;
use wirekv_net::Impair;

use crate::size::parse_size;

#[derive(Parser)]
#[command(name = "wirekv", version, about = "A key-value cache whose data path is hardware")]
pub struct Args {
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
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum NetKind {
    /// Listens on a local address; needs no privileges.
    User,
    /// A TAP device; the kernel's TCP/IP talks to the card's. Needs CAP_NET_ADMIN.
    Tap,
}

#[derive(Parser)]
pub struct ServeArgs {
    /// What runs the data path.
    #[arg(long, value_enum, default_value = "sim")]
    pub body: Body,
    /// How frames reach the card.
    #[arg(long, value_enum, default_value = "user")]
    pub net: NetKind,
    /// Address to listen on (--net user).
    #[arg(short = 'l', long = "listen", value_name = "ADDR", default_value = "127.0.0.1")]
    pub listen: IpAddr,
    /// TCP port; 0 picks a free one.
    #[arg(short = 'p', long, default_value_t = 11211)]
    pub port: u16,
    /// UDP port; 0 is off.
    #[arg(short = 'U', long, default_value_t = 0)]
    pub udp_port: u16,
    /// Memory for items and their index, in megabytes.
    #[arg(short = 'm', long, value_name = "MEGABYTES", default_value_t = 64)]
    pub memory_limit: u64,
    /// Largest number of connections at once.
    #[arg(short = 'c', long, value_name = "NUMBER", default_value_t = 1024)]
    pub conn_limit: u32,
    /// Largest size of an item: 1k to 1m.
    #[arg(short = 'I', long, value_name = "SIZE", default_value = "1m", value_parser = parse_size)]
    pub max_item_size: u64,
    /// Say more; twice, say what the host port and the exception queue bring.
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,
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
