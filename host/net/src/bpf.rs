//! bpf(2), as far as it is needed here, and an assembler of its instructions.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

const MAP_CREATE: libc::c_int = 0;
const MAP_UPDATE_ELEM: libc::c_int = 2;
const PROG_LOAD: libc::c_int = 5;
const LINK_CREATE: libc::c_int = 28;

const MAP_TYPE_XSKMAP: u32 = 17;
const ATTACH_XDP: u32 = 37;
/// Packets in several pieces are welcome.
const XDP_HAS_FRAGS: u32 = 1 << 5;

/// Where a program runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    SocketFilter = 1,
    Xdp = 6,
}

/// How an interface runs an XDP program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum XdpMode {
    /// Behind the driver, for every interface.
    Generic = 1 << 1,
    /// In the driver.
    Native = 1 << 2,
}

fn bpf<T>(command: libc::c_int, attributes: &mut T) -> io::Result<i32> {
    // SAFETY: the attributes are as long as is said, and what they point to outlives the call.
    match unsafe { libc::syscall(libc::SYS_bpf, command, attributes, size_of::<T>()) } {
        0.. => Ok(0),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A command whose result is a file.
fn open<T>(command: libc::c_int, attributes: &mut T) -> io::Result<OwnedFd> {
    // SAFETY: as in `bpf`; the file that is returned is nobody else's.
    unsafe {
        match libc::syscall(libc::SYS_bpf, command, attributes, size_of::<T>()) {
            fd @ 0.. => Ok(OwnedFd::from_raw_fd(fd as RawFd)),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// A map from a queue's number to an AF_XDP socket. A socket that is closed leaves it.
pub struct Sockets(OwnedFd);

impl Sockets {
    pub fn new(queues: u32) -> io::Result<Sockets> {
        #[repr(C)]
        struct Create(u32, u32, u32, u32);
        Ok(Sockets(open(MAP_CREATE, &mut Create(MAP_TYPE_XSKMAP, 4, 4, queues))?))
    }

    pub fn insert(&self, queue: u32, socket: RawFd) -> io::Result<()> {
        #[repr(C)]
        struct Update(u64, u64, u64, u64);
        let (key, value) = (&raw const queue as u64, &raw const socket as u64);
        bpf(MAP_UPDATE_ELEM, &mut Update(self.0.as_raw_fd() as u64, key, value, 0)).map(drop)
    }
}

/// Loads a program. The verifier's words are part of its refusal.
pub fn load(kind: Kind, name: &str, code: &[u64]) -> io::Result<OwnedFd> {
    #[repr(C)]
    #[derive(Default)]
    struct Load {
        kind: u32,
        instructions: u32,
        code: u64,
        license: u64,
        log_level: u32,
        log_size: u32,
        log: u64,
        kernel: u32,
        flags: u32,
        name: [u8; 16],
        interface: u32,
        attach: u32,
    }
    let mut load = Load {
        kind: kind as u32,
        instructions: code.len() as u32,
        code: code.as_ptr() as u64,
        license: c"Apache-2.0".as_ptr() as u64,
        ..Load::default()
    };
    load.name[..name.len().min(15)].copy_from_slice(&name.as_bytes()[..name.len().min(15)]);
    if kind == Kind::Xdp {
        (load.flags, load.attach) = (XDP_HAS_FRAGS, ATTACH_XDP);
    }
    open(PROG_LOAD, &mut load).or_else(|error| {
        if error.raw_os_error() == Some(libc::EPERM) {
            return Err(error);
        }
        let mut log = vec![0; 1 << 16];
        (load.log_level, load.log_size, load.log) = (1, log.len() as u32, log.as_mut_ptr() as u64);
        open(PROG_LOAD, &mut load).map_err(|error| {
            let log = String::from_utf8_lossy(&log);
            io::Error::new(error.kind(), format!("{error}: {}", log.trim_end_matches('\0')))
        })
    })
}

/// Has the interface run the program until what is returned is closed, by whoever holds it last.
pub fn attach(program: &OwnedFd, interface: u32, mode: XdpMode) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Link(u32, u32, u32, u32, [u64; 4]);
    let program = program.as_raw_fd() as u32;
    open(LINK_CREATE, &mut Link(program, interface, ATTACH_XDP, mode as u32, [0; 4]))
}

/// A place in a program to which jumps go, all of them forward.
#[derive(Clone, Copy)]
pub struct Label(usize);

/// A register. What calls leave alone are 6 to 9.
pub type Reg = u8;
const FRAME: Reg = 10;

/// Registers of a call: its result and arguments. The first one is the context at the start, too.
pub const RESULT: Reg = 0;
pub const CONTEXT: Reg = 1;

/// Bytes of the packet are loaded to here, relative to the end of the stack.
const BUFFER: i16 = -48;

const LOAD_SKB_BYTES: i32 = 26;
const REDIRECT_MAP: i32 = 51;
const LOAD_XDP_BYTES: i32 = 189;

/// A program in the making.
pub struct Asm {
    kind: Kind,
    code: Vec<u64>,
    /// Where labels are, and the jumps to them.
    places: Vec<usize>,
    jumps: Vec<(usize, Label)>,
}

/// Sizes of loads from the buffer.
#[derive(Clone, Copy)]
pub enum Size {
    Byte = 0x71,
    Half = 0x69,
    Word = 0x61,
}

impl Asm {
    pub fn new(kind: Kind) -> Asm {
        Asm { kind, code: Vec::new(), places: Vec::new(), jumps: Vec::new() }
    }

    fn push(&mut self, op: u8, dst: Reg, src: Reg, offset: i16, value: i32) {
        let registers = u64::from(src << 4 | dst);
        let offset = u64::from(offset as u16);
        self.code
            .push(u64::from(op) | registers << 8 | offset << 16 | u64::from(value as u32) << 32);
    }

    pub fn label(&mut self) -> Label {
        self.places.push(usize::MAX);
        Label(self.places.len() - 1)
    }

    /// The label is here.
    pub fn place(&mut self, label: Label) {
        self.places[label.0] = self.code.len();
    }

    fn jump_by(&mut self, op: u8, reg: Reg, value: i32, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.push(op, reg, 0, 0, value);
    }

    pub fn jump(&mut self, to: Label) {
        self.jump_by(0x05, 0, 0, to);
    }

    /// Of the register's low 32 bits.
    pub fn jump_if(&mut self, reg: Reg, value: u32, to: Label) {
        self.jump_by(0x16, reg, value as i32, to);
    }

    pub fn jump_unless(&mut self, reg: Reg, value: u32, to: Label) {
        self.jump_by(0x56, reg, value as i32, to);
    }

    pub fn jump_if_any(&mut self, reg: Reg, bits: u32, to: Label) {
        self.jump_by(0x46, reg, bits as i32, to);
    }

    pub fn set(&mut self, reg: Reg, value: i32) {
        self.push(0xB7, reg, 0, 0, value);
    }

    pub fn copy(&mut self, reg: Reg, from: Reg) {
        self.push(0xBF, reg, from, 0, 0);
    }

    pub fn add(&mut self, reg: Reg, value: i32) {
        self.push(0x07, reg, 0, 0, value);
    }

    pub fn add_reg(&mut self, reg: Reg, other: Reg) {
        self.push(0x0F, reg, other, 0, 0);
    }

    pub fn and(&mut self, reg: Reg, bits: i32) {
        self.push(0x57, reg, 0, 0, bits);
    }

    pub fn shift_left(&mut self, reg: Reg, bits: i32) {
        self.push(0x67, reg, 0, 0, bits);
    }

    /// Loads `len` bytes of the packet, whose context is in `context`, from `base` + `offset` on into the buffer; if it is
    /// shorter, jumps.
    pub fn fetch(&mut self, context: Reg, base: Reg, offset: i32, len: i32, or: Label) {
        assert!(len <= -i32::from(BUFFER));
        self.copy(1, context);
        self.copy(2, base);
        self.add(2, offset);
        self.copy(3, FRAME);
        self.add(3, BUFFER.into());
        self.set(4, len);
        let load = if self.kind == Kind::Xdp { LOAD_XDP_BYTES } else { LOAD_SKB_BYTES };
        self.push(0x85, 0, 0, 0, load);
        self.jump_unless(RESULT, 0, or);
    }

    /// Loads from the buffer, in the order that the bytes have there.
    pub fn get(&mut self, reg: Reg, size: Size, at: i16) {
        self.push(size as u8, reg, FRAME, BUFFER + at, 0);
    }

    /// Ends with a value.
    pub fn exit(&mut self, value: i32) {
        self.set(RESULT, value);
        self.push(0x95, 0, 0, 0, 0);
    }

    /// Ends: the packet goes to its queue's socket, and if there is none it is dealt with as `otherwise`.
    pub fn redirect(&mut self, context: Reg, sockets: &Sockets, otherwise: i32) {
        const RX_QUEUE: i16 = 16; // in an xdp_md
        const MAP: Reg = 1; // the value is a map's file
        self.push(Size::Word as u8, 2, context, RX_QUEUE, 0);
        self.push(0x18, 1, MAP, 0, sockets.0.as_raw_fd());
        self.push(0, 0, 0, 0, 0);
        self.set(3, otherwise);
        self.push(0x85, 0, 0, 0, REDIRECT_MAP);
        self.push(0x95, 0, 0, 0, 0);
    }

    pub fn finish(mut self) -> Vec<u64> {
        for (at, to) in self.jumps {
            let offset = self.places[to.0] - at - 1; // no jump goes back
            self.code[at] |= u64::from(u16::try_from(offset).expect("a short program")) << 16;
        }
        self.code
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Runs a program on a frame; its verdict.
    pub fn run(program: &OwnedFd, data: &[u8]) -> io::Result<u32> {
        #[repr(C)]
        struct Run(u32, u32, u32, u32, u64, u64, u32, u32, [u64; 6]);
        const PROG_TEST_RUN: libc::c_int = 10;
        let (fd, len) = (program.as_raw_fd() as u32, data.len() as u32);
        let mut out = vec![0u8; data.len() + 256];
        let (from, to) = (data.as_ptr() as u64, out.as_mut_ptr() as u64);
        let mut run = Run(fd, 0, len, out.len() as u32, from, to, 1, 0, [0; 6]);
        bpf(PROG_TEST_RUN, &mut run)?;
        Ok(run.1)
    }
}
