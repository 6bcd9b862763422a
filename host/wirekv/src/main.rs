//! `wirekv serve` answers memcached clients with one of the bodies; `wirekv load` measures such a server.

mod args;
mod clients;
mod exceptions;
mod extended;
mod items;
mod mover;
mod port;
mod process;
mod redis;
mod runner;
mod signals;
mod sim;
mod size;
mod soft;
mod stats;
mod walk;

use std::process::ExitCode;

use args::{Body, Command, CommandLine};
use process::Refusal;

fn main() -> ExitCode {
    let result = match CommandLine::read(std::env::args_os()).unwrap_or_else(|e| e.exit()).command {
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
            e.downcast_ref::<Refusal>().map_or(ExitCode::FAILURE, |r| ExitCode::from(r.status))
        }
    }
}
