//! `wirekv serve` answers memcached clients with one of the bodies; `wirekv load` measures such a server. `wirekv machine`
//! simulates a RISC-V machine with one in software. `wirekv top` shows a server's figures.

mod args;
#[cfg(feature = "host")]
mod card;
mod extended;
#[cfg(feature = "machine")]
mod machine;
mod memory;
#[cfg(feature = "pages")]
mod pages;
mod process;
mod signals;
mod size;
#[cfg(feature = "soft")]
mod soft;
mod top;

use std::process::ExitCode;

use anyhow::Result;
use args::{Body, Command, CommandLine, ServeArgs};
use process::Refusal;

#[cfg(not(any(feature = "sim", feature = "card", feature = "soft")))]
compile_error!(
    "WireKV needs something to serve with: `--features soft` (the cache in software; takes Rust alone), \
     `--features sim` (the simulated card; takes Verilator and clang), `--features card` (one on PCIe), or several"
);

fn main() -> ExitCode {
    let result = match CommandLine::read(std::env::args_os()).unwrap_or_else(|e| e.exit()).command {
        Command::Serve(args) => serve(&args),
        #[cfg(feature = "machine")]
        Command::Machine(args) => machine::serve(&args),
        #[cfg(feature = "pages")]
        Command::Pages { folder } => pages::write(&folder),
        Command::Load(args) => {
            signals::raise_file_limit(0);
            wirekv_load::load(&args)
        }
        Command::Top(args) => top::run(&args),
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
    wirekv_log::start(args.verbose.into());
    match args.body {
        #[cfg(feature = "sim")]
        Body::Sim => card::serve(args),
        #[cfg(not(feature = "sim"))]
        Body::Sim => anyhow::bail!("--body sim: this program was built without the simulated card"),
        #[cfg(feature = "card")]
        Body::Card => card::serve(args),
        #[cfg(not(feature = "card"))]
        Body::Card => anyhow::bail!("--body card: this program was built without the card on PCIe"),
        #[cfg(feature = "soft")]
        Body::Soft => soft::serve(args),
        #[cfg(not(feature = "soft"))]
        Body::Soft => {
            anyhow::bail!("--body soft: this program was built without the software body")
        }
    }
}

#[cfg(all(test, not(all(feature = "sim", feature = "card", feature = "soft"))))]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_was_not_built_is_an_error_that_says_so() {
        for (body, built) in [
            ("sim", cfg!(feature = "sim")),
            ("card", cfg!(feature = "card")),
            ("soft", cfg!(feature = "soft")),
        ] {
            if built {
                continue;
            }
            let line = CommandLine::read(["wirekv", "serve", "--body", body]).ok().unwrap();
            let Command::Serve(args) = line.command else { unreachable!() };
            let error = serve(&args).unwrap_err().to_string();
            assert!(error.starts_with(&format!("--body {body}: this program was built without")));
        }
    }
}
