//! `wirekv serve --body soft`: memcached's flags, and the process around the server.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{anyhow, bail, ensure, Context, Result};
use nix::sys::mman::{mlockall, MlockAllFlags};
use wirekv_proto::Protocol;
use wirekv_soft::{clock, Access, Options, Secure, Soft, Verify, PIECE};

use crate::args::{Binding, ServeArgs, SoftArgs};
use crate::extended;
use crate::process::Process;
use crate::signals;

const THREADS: std::ops::RangeInclusive<u16> = 1..=256;
const ITEM_SIZES: std::ops::RangeInclusive<u64> = 1 << 10..=1 << 30;

pub fn serve(args: &ServeArgs) -> Result<()> {
    let options = options(args)?;
    give_memory_back();
    let process = Process::new(&args.process)?;
    // While it may be root, which alone gets past the hard limit. The words are memcached's.
    let files = signals::raise_file_limit(options.files());
    ensure!(
        files >= u64::from(args.conn_limit()),
        "-c {}: failed to set rlimit for open files. Try starting as root or requesting smaller \
         maxconns value. (There are {files}.)",
        args.conn_limit()
    );
    args.memory_limit.check(options.memory as u64, beside(args))?;
    process.settle(args.verbose > 0)?;
    if args.soft.lock_memory {
        mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE)
            .context("-k: memory cannot be locked; raise the limit (ulimit -l)")?;
    }

    let path = |unix: &Option<(PathBuf, u32)>| Some(unix.as_ref()?.0.display().to_string());
    let unix = [path(&options.unix), path(&options.unix_redis)];
    let server = Soft::start(options, clock(), Box::new(signals::raise))?;
    let served = process.write_pid().and_then(|pid_file| {
        if extended::drops_privileges(&args.extended) {
            server.confine(args.process.pidfile.is_some())?;
        }
        for address in server.addresses().iter().chain(server.redis_addresses()) {
            println!("listening on {address}");
        }
        for path in unix.iter().flatten() {
            println!("listening on {path}");
        }
        signals::wait_or(|| {
            if let Err(e) = server.renew() {
                wirekv_log::warn!("SIGHUP: {e:#}");
            }
        })?;
        Ok(pid_file)
    });
    let mut figures = Vec::new();
    server.stats(|name, value| {
        if SUMMARY.contains(&name) {
            figures.push(format!("{name} {value}"));
        }
    });
    server.stop()?;
    drop(served?);
    eprintln!("\n{}", figures.join("\n"));
    Ok(())
}

/// Long buffers go back to the system when they are freed. By itself glibc maps only the first of them apart, and from
/// then on keeps as much of its heap, with holes between the small ones: megabytes beside `-m` (mallopt(3)).
fn give_memory_back() {
    // SAFETY: the call has no pointers.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 128 << 10)
    };
}

/// Statistics that are told at the end.
const SUMMARY: &[&str] = &[
    "uptime",
    "total_connections",
    "cmd_get",
    "cmd_set",
    "get_hits",
    "get_misses",
    "curr_items",
    "evictions",
    "bytes_read",
    "bytes_written",
];

/// Bytes that may be resident beside `-m`: the program, what each thread has to read and write with, and
/// what each connection keeps. docs/OPERATING.md states it, tb/soft/test_fits.py measures it.
fn beside(args: &ServeArgs) -> u64 {
    const PROGRAM: u64 = 12 << 20;
    const THREAD: u64 = 1 << 20;
    const CONNECTION: u64 = 32 << 10;
    PROGRAM + u64::from(args.soft.threads) * THREAD + u64::from(args.conn_limit()) * CONNECTION
}

fn options(args: &ServeArgs) -> Result<Options> {
    let soft = &args.soft;
    ensure!(THREADS.contains(&soft.threads), "-t {}: 1 to 256 threads", soft.threads);
    ensure!(args.conn_limit() > 0, "-c 0: there must be a connection");
    ensure!(soft.max_reqs_per_event > 0, "-R 0: there must be a request");
    ensure!(soft.listen_backlog >= 0, "-b {}: 0 or more", soft.listen_backlog);
    ensure!(
        ITEM_SIZES.contains(&args.max_item_size),
        "-I {}: items can be limited to 1k up to 1024m",
        args.max_item_size
    );
    let memory = args.memory_limit.bytes()?;
    ensure!(
        args.max_item_size <= memory / 2,
        "-I {}: cannot be larger than half of -m {}",
        args.max_item_size,
        args.memory_limit
    );
    let given = |port: u16| (port != 0).then_some(port);
    let is_unix = soft.unix_socket.is_some();
    let (tls, plain) = listeners(&args.listen, soft.enable_ssl)?;
    let all: Vec<&str> = tls.iter().chain(&plain).copied().collect();
    let find = |list: &[&str], port, tcp| match is_unix {
        true => Ok(Vec::new()),
        false => addresses(list, port, tcp),
    };
    let tcp = find(&plain, Some(args.port), true)?;
    let redis = find(&all, given(args.redis_port), false)?;
    let udp = find(&all, given(args.udp_port), false)?;
    let tls = soft
        .enable_ssl
        .then(|| {
            ensure!(!is_unix, "-Z: there is no TLS without a TCP port; -s leaves none");
            extended::secure(&args.extended, find(&tls, Some(args.port), true)?)
        })
        .transpose()?;
    ensure!(
        tls.is_some() || !extended::of_tls(&args.extended),
        "-o ssl_*: of no use without -Z (--tls-cert-file and its like are for --tls-port)"
    );
    let redis_tls = redis_tls(soft, find(&all, given(soft.tls_port), false)?)?;
    let unix_redis = soft.unix_socket.as_ref().filter(|_| args.redis_port != 0).map(|path| {
        let mut path = path.clone().into_os_string();
        path.push(".redis");
        (path.into(), soft.unix_mask)
    });
    let auth = soft.auth_file.is_some();
    ensure!(
        !auth || udp.is_empty(),
        "-U {}: over UDP nobody can say who they are; with -Y there is none",
        args.udp_port
    );
    ensure!(auth || !soft.enable_sasl, "-S: -Y FILE says who may come in");
    ensure!(
        !soft.enable_sasl || soft.protocol != Binding::Ascii,
        "-S: of no use with -B ascii: SASL is of the binary protocol"
    );
    udp.iter().try_for_each(|address| args.check_udp(address.ip()))?;
    Ok(Options {
        tcp,
        udp,
        redis,
        unix: soft.unix_socket.clone().map(|path| (path, soft.unix_mask)),
        unix_redis,
        debug: soft.enable_debug_command,
        access: Access {
            users: soft.auth_file.clone(),
            sasl: soft.enable_sasl,
            allowed: args.allow.clone(),
            password_file: soft.requirepass_file.clone(),
            tls,
            redis_tls,
        },
        password: args.password().to_vec(),
        protected: args.is_protected(),
        memory: memory as usize,
        file: soft.memory_file.clone(),
        resident: soft.enable_largepages,
        item_max: args.max_item_size as usize,
        least_item: soft.least_item as usize,
        threads: soft.threads.into(),
        max_conns: args.conn_limit() as usize,
        backlog: soft.listen_backlog,
        protocol: match soft.protocol {
            Binding::Auto => Protocol::Auto,
            Binding::Ascii => Protocol::Ascii,
            Binding::Binary => Protocol::Binary,
        },
        watch_buffer: if args.disable_watch { 0 } else { extended::watch_buffer(&args.extended) },
        batch: soft.max_reqs_per_event.into(),
        busy_poll: Duration::from_micros(soft.busy_poll.into()),
        idle_timeout: extended::idle_timeout(&args.extended),
        keep_alive: args.keep_alive(),
        crawler: extended::crawls(&args.extended),
        shutdown: soft.enable_shutdown,
        cas: !soft.disable_cas,
        evict: !soft.disable_evictions,
        flush: !soft.disable_flush_all,
        delimiter: soft.delimiter.as_ref().map(|text| text.as_bytes()[0]),
        verbosity: args.verbose.into(),
        metrics: args.metrics,
    })
}

/// Addresses of `-l` with and without TLS.
fn listeners(listen: &[String], tls: bool) -> Result<(Vec<&str>, Vec<&str>)> {
    let (mut secure, mut plain) = (Vec::new(), Vec::new());
    for text in listen {
        match text.strip_prefix("notls:") {
            Some(_) if !tls => bail!("-l {text}: notls: says that -Z is not for this address"),
            Some(address) => plain.push(address),
            None if tls => secure.push(text.as_str()),
            None => plain.push(text.as_str()),
        }
    }
    Ok((secure, plain))
}

/// Redis' TLS, as its flags say it.
fn redis_tls(soft: &SoftArgs, addresses: Vec<SocketAddr>) -> Result<Option<Secure>> {
    let files = [&soft.tls_cert_file, &soft.tls_key_file, &soft.tls_ca_cert_file];
    if soft.tls_port == 0 {
        ensure!(
            files.iter().all(|file| file.is_none()),
            "--tls-*-file: of no use without --tls-port"
        );
        return Ok(None);
    }
    ensure!(
        soft.unix_socket.is_none(),
        "--tls-port: there is no TLS without a TCP port; -s leaves none"
    );
    let [Some(chain), key, authorities] = files else {
        bail!("--tls-port: --tls-cert-file FILE names the certificate");
    };
    let verify = match soft.tls_auth_clients.as_str() {
        "no" => Verify::No,
        "optional" => Verify::IfGiven,
        _ => Verify::Yes,
    };
    ensure!(
        verify == Verify::No || authorities.is_some(),
        "--tls-auth-clients {}: --tls-ca-cert-file FILE names who signs the certificates of clients; with \
         `no` they need none",
        soft.tls_auth_clients
    );
    Ok(Some(Secure {
        addresses,
        chain: chain.clone(),
        key: key.clone(),
        authorities: authorities.clone(),
        verify,
        only_13: false,
        sessions: true,
        piece: PIECE,
    }))
}

/// Sockets of `-l`: a name or an address, with or without a port of its own (memcached's over TCP).
fn addresses(listen: &[&str], port: Option<u16>, tcp: bool) -> Result<Vec<SocketAddr>> {
    let Some(port) = port else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for text in listen {
        let own = text.parse().ok().or_else(|| {
            let (host, port) = text.rsplit_once(':')?;
            let port = port.parse::<u16>().ok().filter(|_| !host.contains(':'))?;
            (host, port).to_socket_addrs().ok()?.next()
        });
        let address = match own {
            Some(address) if tcp => Some(address),
            Some(address) => Some(SocketAddr::new(address.ip(), port)),
            None => (*text, port).to_socket_addrs().ok().and_then(|mut all| all.next()),
        };
        let address = address.ok_or_else(|| anyhow!("-l {text}: there is no such address"))?;
        // Without its own ports an address can be there twice.
        if tcp || !found.contains(&address) {
            found.push(address);
        }
    }
    Ok(found)
}
