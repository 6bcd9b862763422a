//! `wirekv serve` answers memcached clients with one of the bodies; `wirekv load` measures such a server.

mod args;
mod extended;
mod process;
mod signals;
#[cfg(feature = "sim")]
mod sim;
mod size;
#[cfg(feature = "soft")]
mod soft;

use std::process::ExitCode;

use anyhow::Result;
use args::{Body, Command, CommandLine, ServeArgs};
use process::Refusal;

#[cfg(not(any(feature = "sim", feature = "soft")))]
compile_error!(
    "WireKV needs something to serve with: `--features soft` (the cache in software; takes Rust alone), \
     `--features sim` (the simulated card; takes Verilator and clang), or both"
);

fn main() -> ExitCode {
    let result = match CommandLine::read(std::env::args_os()).unwrap_or_else(|e| e.exit()).command {
        Command::Serve(args) => serve(&args),
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

fn serve(args: &ServeArgs) -> Result<()> {
    match args.body {
        #[cfg(feature = "sim")]
        Body::Sim => sim::serve(args),
        #[cfg(not(feature = "sim"))]
        Body::Sim => anyhow::bail!("--body sim: this program was built without the simulated card"),
        #[cfg(feature = "soft")]
        Body::Soft => soft::serve(args),
        #[cfg(not(feature = "soft"))]
        Body::Soft => {
            anyhow::bail!("--body soft: this program was built without the software body")
        }
    }
}

#[cfg(all(test, not(all(feature = "sim", feature = "soft"))))]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_was_not_built_is_an_error_that_says_so() {
        let body = if cfg!(feature = "sim") { "soft" } else { "sim" };
        let line = CommandLine::read(["wirekv", "serve", "--body", body]).ok().unwrap();
        let Command::Serve(args) = line.command else { unreachable!() };
        let error = serve(&args).unwrap_err().to_string();
        assert!(error.starts_with(&format!("--body {body}: this program was built without")));
    }
}
