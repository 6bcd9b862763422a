//! The thread that owns all sockets: it connects, sends and receives, and knows nothing of what passes.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token, Waker};

use crate::server::Server;

/// Bytes that were received and not taken: more is not read from a socket.
pub const WINDOW: usize = 128 << 10;
/// Bytes of one read.
const READ: usize = 64 << 10;
const WAKER: Token = Token(usize::MAX);

/// A connection. None has the number of an earlier one.
pub type Id = usize;

/// What the thread is to do.
#[derive(Debug, PartialEq, Eq)]
pub enum Order {
    /// A connection to the server, under a number that none had before.
    Open(Id),
    /// Bytes for the server.
    Send(Id, Vec<u8>),
    /// So many of the bytes that were received were taken.
    Took(Id, usize),
    /// The end of a connection, of which nothing more is told.
    Close(Id),
}

/// What has happened.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// Bytes from the server.
    Data(Id, Vec<u8>),
    /// So many bytes of what was to be sent were taken by the kernel.
    Sent(Id, usize),
    /// The server has closed, or was not there.
    Closed {
        /// Which.
        id: Id,
        /// It was there.
        connected: bool,
    },
}

/// The way to the server.
pub trait Net {
    /// Something is to be done.
    fn order(&mut self, order: Order);
    /// What was ordered is to be done now.
    fn go(&mut self);
    /// What has happened since.
    fn events(&mut self) -> Vec<Event>;
}

/// The thread, and the way to it. It ends with this.
pub struct Sockets {
    orders: Sender<Order>,
    events: Arc<Mutex<Vec<Event>>>,
    waker: Arc<Waker>,
    thread: Option<JoinHandle<()>>,
    /// Something was ordered.
    waiting: bool,
}

impl Sockets {
    /// Connections to `server`. `wake` is called when something has happened.
    ///
    /// # Errors
    ///
    /// There is no descriptor, or no thread, for it.
    pub fn new(server: &Server, wake: impl Fn() + Send + 'static) -> io::Result<Sockets> {
        let server = server.address;
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKER)?);
        let (orders, come) = channel();
        let events = Arc::<Mutex<Vec<Event>>>::default();
        let told = events.clone();
        let tell = move |mut new: Vec<Event>| {
            told.lock().expect("nobody panics while it holds the lock").append(&mut new);
            wake();
        };
        let mut thread = Thread {
            server,
            poll,
            sockets: HashMap::new(),
            events: Vec::new(),
            buffer: vec![0; READ],
        };
        let run = move || thread.run(&come, &tell);
        let thread = Some(Builder::new().name("upstream".into()).spawn(run)?);
        Ok(Sockets { orders, events, waker, thread, waiting: false })
    }
}

impl Net for Sockets {
    fn order(&mut self, order: Order) {
        // The thread ends after this.
        let _ = self.orders.send(order);
        self.waiting = true;
    }

    fn go(&mut self) {
        if std::mem::take(&mut self.waiting) {
            let _ = self.waker.wake();
        }
    }

    fn events(&mut self) -> Vec<Event> {
        std::mem::take(&mut *self.events.lock().expect("nobody panics while it holds the lock"))
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        self.orders = channel().0;
        let _ = self.waker.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Socket {
    stream: TcpStream,
    connected: bool,
    out: Vec<u8>,
    /// So much of it was sent.
    at: usize,
    /// Received, and not taken.
    ahead: usize,
    /// There may be something to read.
    readable: bool,
}

struct Thread {
    server: SocketAddr,
    poll: Poll,
    sockets: HashMap<Id, Socket>,
    events: Vec<Event>,
    buffer: Vec<u8>,
}

impl Thread {
    fn run(&mut self, orders: &Receiver<Order>, tell: &dyn Fn(Vec<Event>)) {
        let mut ready = Events::with_capacity(1024);
        loop {
            match self.poll.poll(&mut ready, None) {
                Err(e) if e.kind() != ErrorKind::Interrupted => return,
                _ => {}
            }
            loop {
                use std::sync::mpsc::TryRecvError::{Disconnected, Empty};
                match orders.try_recv() {
                    Ok(order) => self.obey(order),
                    Err(Empty) => break,
                    Err(Disconnected) => return,
                }
            }
            for event in &ready {
                let id = event.token().0;
                if let Some(socket) = self.sockets.get_mut(&id) {
                    socket.readable |=
                        event.is_readable() || event.is_read_closed() || event.is_error();
                    self.work(id);
                }
            }
            if !self.events.is_empty() {
                tell(std::mem::take(&mut self.events));
            }
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Open(id) => match self.open(id) {
                Ok(socket) => drop(self.sockets.insert(id, socket)),
                Err(_) => self.events.push(Event::Closed { id, connected: false }),
            },
            Order::Send(id, bytes) => {
                let Some(socket) = self.sockets.get_mut(&id) else { return };
                socket.out.drain(..std::mem::take(&mut socket.at));
                socket.out.extend(bytes);
                self.work(id);
            }
            Order::Took(id, count) => {
                let Some(socket) = self.sockets.get_mut(&id) else { return };
                socket.ahead -= count;
                self.work(id);
            }
            Order::Close(id) => drop(self.sockets.remove(&id)),
        }
    }

    fn open(&mut self, id: Id) -> io::Result<Socket> {
        let mut stream = TcpStream::connect(self.server)?;
        let both = Interest::READABLE | Interest::WRITABLE;
        self.poll.registry().register(&mut stream, Token(id), both)?;
        let (out, at, ahead) = (Vec::new(), 0, 0);
        Ok(Socket { stream, connected: false, out, at, ahead, readable: false })
    }

    fn work(&mut self, id: Id) {
        let Thread { sockets, events, buffer, .. } = self;
        let Some(socket) = sockets.get_mut(&id) else { return };
        let connected = match socket.work(id, buffer, events) {
            Ok(true) => return,
            Ok(false) | Err(_) => socket.connected,
        };
        sockets.remove(&id);
        events.push(Event::Closed { id, connected });
    }
}

impl Socket {
    /// Sends and receives what it can. False: the server has closed.
    fn work(&mut self, id: Id, buffer: &mut [u8], events: &mut Vec<Event>) -> io::Result<bool> {
        if !self.connected {
            if let Some(error) = self.stream.take_error()? {
                return Err(error);
            }
            match self.stream.peer_addr() {
                Ok(_) => self.connected = true,
                Err(e) if e.kind() == ErrorKind::NotConnected => return Ok(true),
                Err(e) => return Err(e),
            }
            self.stream.set_nodelay(true)?;
        }
        let sent = self.send();
        // What came before an end is received in any case.
        while self.readable && self.ahead < WINDOW {
            let most = buffer.len().min(WINDOW - self.ahead);
            match self.stream.read(&mut buffer[..most]) {
                Ok(0) => return Ok(false),
                Ok(count) => {
                    self.ahead += count;
                    events.push(Event::Data(id, buffer[..count].to_vec()));
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => self.readable = false,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        match sent? {
            0 => {}
            count => events.push(Event::Sent(id, count)),
        }
        Ok(true)
    }

    fn send(&mut self) -> io::Result<usize> {
        let from = self.at;
        while self.at < self.out.len() {
            match self.stream.write(&self.out[self.at..]) {
                Ok(count) => self.at += count,
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        let count = self.at - from;
        if self.at == self.out.len() {
            (self.out, self.at) = (Vec::new(), 0);
        }
        Ok(count)
    }
}
