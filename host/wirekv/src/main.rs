//! `wirekv serve` answers memcached clients with one of the bodies; `wirekv load` measures such a server.

mod args;
mod exceptions;
mod runner;
mod signals;
mod sim;
mod size;
mod soft;
mod stats;

use std::process::ExitCode;

use args::{Body, Command, CommandLine};
use clap::Parser;

fn main() -> ExitCode {
    let result = match CommandLine::parse().command {
        Command::Serve(args) if args.body == Body::Soft => soft::serve(&args),
        Command::Serve(args) => sim::serve(&args),
        Command::Load(args) => {
            signals::raise_file_limit(0);
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
