//! The load generator by itself, without the card that `wirekv` brings along.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use wirekv_load::miss::{miss, MissArgs};
use wirekv_load::{load, LoadArgs};

#[derive(Parser)]
#[command(name = "wirekv-load", version, about = "Puts load on a cache server and measures it")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Throughput, latency and CPU time: what `wirekv load` does.
    Run(LoadArgs),
    /// Miss ratio of a workload: each key is asked for and, when it is missing, stored.
    Miss(MissArgs),
}

fn main() -> ExitCode {
    let result = match Args::parse().command {
        Command::Run(args) => load(&args),
        Command::Miss(args) => miss(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("wirekv-load: {e:#}");
            ExitCode::FAILURE
        }
    }
}
