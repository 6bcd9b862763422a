//! `wirekv serve` answers memcached clients with a card; `wirekv load` measures such a server.

mod args;
mod exceptions;
mod runner;
mod serve;
mod signals;
mod size;
mod stats;

use std::process::ExitCode;

use args::{Args, Command};
use clap::Parser;

fn main() -> ExitCode {
    let result = match Args::parse().command {
        Command::Serve(args) => serve::serve(&args),
        Command::Load(args) => {
            signals::raise_file_limit();
            wirekv_load::load(&args)
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("wirekv: {e:#}");
            ExitCode::FAILURE
        }
    }
}
