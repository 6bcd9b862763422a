//! A link: three channels of a card, from bring-up to stop.

use std::mem::ManuallyDrop;
use std::ops::Range;
use std::sync::atomic::{fence, Ordering};
use std::time::{Duration, Instant};

use wirekv_card::Port;

use crate::device::{Block, Device};
use crate::error::LinkError;
use crate::registers::{self as r, of, CHANNELS, MAX_FRAME, MAX_SLOTS, PREAMBLE, SLOT};
use crate::rings::{Down, Place, Up};

/// Status lines stand together, at a multiple of this.
const STATUS: usize = 256;
const PORTS: [Port; CHANNELS] = [Port::Wire, Port::Host, Port::Exception];

/// How large rings are, how the card tells how far it has come, and for how long it is waited for.
#[derive(Clone, Debug)]
pub struct Config {
    /// Of each channel, log2 of the slots of the ring down and of the ring up: 3 to 15.
    pub bits: [(u8, u8); CHANNELS],
    /// Slots by which an index moves before the card tells of it, if there is more to do.
    pub batch_slots: u16,
    /// Clocks after which it does.
    pub batch_clocks: u16,
    /// So long a card may take nothing, or take to start or stop a channel.
    pub patience: Duration,
    /// So often a card that brings nothing is asked whether it is still there.
    pub probe: Duration,
}

impl Default for Config {
    /// Rings that fill most of a region. A card is missed within a second.
    fn default() -> Config {
        Config {
            bits: [(13, 13), (10, 10), (12, 12)],
            batch_slots: 64,
            batch_clocks: 16,
            patience: Duration::from_millis(800),
            probe: Duration::from_millis(100),
        }
    }
}

impl Config {
    fn sizes(&self) -> [u8; 2 * CHANNELS] {
        std::array::from_fn(|n| match n % 2 {
            0 => self.bits[n / 2].0,
            _ => self.bits[n / 2].1,
        })
    }

    /// Where each channel's ring down and ring up are in the memory, and where the status lines are behind them. The largest
    /// ring is the first, so each stands at a multiple of its size.
    pub fn places(&self) -> ([Range<usize>; 2 * CHANNELS], Range<usize>) {
        let sizes = self.sizes();
        let mut order: [usize; 2 * CHANNELS] = std::array::from_fn(|n| n);
        order.sort_by_key(|n| std::cmp::Reverse(sizes[*n]));
        let mut places: [Range<usize>; 2 * CHANNELS] = Default::default();
        let mut end = 0;
        for n in order {
            places[n] = end..end + (SLOT << sizes[n]);
            end = places[n].end;
        }
        let status = end.next_multiple_of(STATUS);
        (places, status..status + STATUS)
    }
}

struct Channel {
    down: Down,
    up: Up,
    /// Where the status line is.
    status: usize,
    /// It has stopped, for this reason.
    broken: Option<LinkError>,
}

impl Channel {
    fn clear(&mut self) {
        (self.down, self.up) = (Down::new(self.down.place), Up::new(self.up.place));
        self.broken = None;
    }
}

/// The host's end of a card's link. Frames of a channel come in order.
///
/// Nothing is allocated for a frame.
pub struct Link<D: Device> {
    /// Given up by `drop` alone.
    device: ManuallyDrop<D>,
    config: Config,
    channels: [Channel; CHANNELS],
    frame: Box<[[u8; SLOT]; MAX_SLOTS]>,
    /// When the registers were looked at last.
    probed: Instant,
}

impl<D: Device> Link<D> {
    /// Brings a card's link up: what another program has left running is stopped, then all channels are started.
    ///
    /// # Errors
    ///
    /// It is no link, or one that this program does not know; rings do not fit; a channel does not start.
    pub fn open(mut device: D, config: Config) -> Result<Link<D>, LinkError> {
        let (channels, status) = layout(&config, &device)?;
        identify(&mut device)?;
        let mut link = Link {
            device: ManuallyDrop::new(device),
            config,
            channels,
            frame: Box::new([[0; SLOT]; MAX_SLOTS]),
            probed: Instant::now(),
        };
        link.stop()?;
        link.set_up(status)?;
        link.start(0..CHANNELS)?;
        Ok(link)
    }

    /// The card itself.
    pub fn device(&mut self) -> &mut D {
        &mut self.device
    }

    /// The same, to look at.
    pub fn device_ref(&self) -> &D {
        &self.device
    }

    fn set_up(&mut self, status: usize) -> Result<(), LinkError> {
        self.device.let_in().map_err(LinkError::NotLetIn)?;
        let physical = self.device.memory().physical();
        self.device.memory().clear(status, STATUS);
        let (slots, clocks) = (self.config.batch_slots, self.config.batch_clocks);
        self.write(r::BATCH_SLOTS, slots.into());
        self.write(r::BATCH_CLOCKS, clocks.into());
        self.write_long(r::STATUS_BASE, physical + status as u64);
        for c in 0..CHANNELS {
            let (down, up) = (self.channels[c].down.place, self.channels[c].up.place);
            self.write_long(of(c, r::DOWN_BASE), physical + down.offset as u64);
            self.write_long(of(c, r::UP_BASE), physical + up.offset as u64);
            let sizes = u32::from(up.mask) << 16 | u32::from(down.mask);
            self.write(of(c, r::SIZES), sizes);
        }
        Ok(())
    }

    /// Starts channels that are off, with empty rings.
    fn start(&mut self, channels: Range<usize>) -> Result<(), LinkError> {
        let mut control = self.read(r::CONTROL)?;
        for c in channels.clone() {
            self.channels[c].clear();
            self.device.memory().clear(self.channels[c].status, SLOT);
            control |= 1 << c;
        }
        self.write(r::CONTROL, control);
        for channel in channels {
            let began = Instant::now();
            loop {
                let state = self.read(of(channel, r::STATE))?;
                if state & r::RUNNING != 0 {
                    break;
                }
                let fault = self.read(of(channel, r::FAULT))?;
                if fault != 0 {
                    return Err(LinkError::Fault { channel, fault, place: state as u16 });
                }
                let within = self.config.patience;
                if began.elapsed() > within {
                    return Err(LinkError::NoStart { channel, state, within });
                }
            }
            self.channels[channel].down.moved = Instant::now();
        }
        Ok(())
    }

    /// Stops all channels. The card then has begun nothing in memory.
    ///
    /// # Errors
    ///
    /// The card has gone, or does not stop.
    pub fn stop(&mut self) -> Result<(), LinkError> {
        self.write(r::CONTROL, 0);
        (0..CHANNELS).try_for_each(|channel| self.await_stop(channel))
    }

    fn await_stop(&mut self, channel: usize) -> Result<(), LinkError> {
        let began = Instant::now();
        loop {
            let state = self.read(of(channel, r::STATE))?;
            if state & r::BUSY == 0 {
                return Ok(());
            }
            let within = self.config.patience;
            if began.elapsed() > within {
                return Err(LinkError::NoStop { channel, state, within });
            }
        }
    }

    /// Stops a channel, and starts it anew. The frames that the card had not taken are put into the ring again. Those that it
    /// had told of have to be received before; those that it gives meanwhile are lost.
    ///
    /// # Errors
    ///
    /// The card has gone, or does not stop or start.
    pub fn restart(&mut self, port: Port) -> Result<(), LinkError> {
        let channel = port as usize;
        let control = self.read(r::CONTROL)?;
        self.write(r::CONTROL, control & !(1 << channel));
        self.await_stop(channel)?;
        // The last line was written. It counts if it makes sense; what it says of the ring up is lost.
        let indices = self.device.memory().load(self.channels[channel].status);
        let _ = self.channels[channel].down.told(channel, (indices >> 16) as u16, Instant::now());
        let mut left = Vec::new();
        self.channels[channel].down.left(self.device.memory(), |frame| left.push(frame.to_vec()));
        self.start(channel..channel + 1)?;
        for frame in left {
            // They came out of this ring.
            self.channels[channel].down.put(self.device.memory(), &frame);
        }
        self.flush();
        Ok(())
    }

    /// A function-level reset, and a bring-up behind it. All that was in the rings is lost.
    ///
    /// # Errors
    ///
    /// There is no reset, or the card does not come up.
    pub fn reset(&mut self) -> Result<(), LinkError> {
        self.device.reset().map_err(LinkError::Reset)?;
        let (channels, status) = layout(&self.config, &*self.device)?;
        self.channels = channels;
        identify(&mut *self.device)?;
        self.stop()?;
        self.set_up(status)?;
        self.start(0..CHANNELS)
    }

    /// Puts a frame into a ring. False: it has no room. The card hears of it by [`Link::flush`].
    ///
    /// # Panics
    ///
    /// No frame is so long, or it is empty.
    #[inline]
    pub fn send(&mut self, port: Port, frame: &[u8]) -> bool {
        assert!(!frame.is_empty() && frame.len() <= MAX_FRAME, "a frame of {} bytes", frame.len());
        self.channels[port as usize].down.put(self.device.memory(), frame)
    }

    /// Tells the card what was sent and what was received: a doorbell for each ring with news.
    #[inline]
    pub fn flush(&mut self) {
        for c in 0..CHANNELS {
            let channel = &mut self.channels[c];
            let (down, up) = (channel.down.ring(), channel.up.ring());
            if down.is_some() || up.is_some() {
                // Frames are written before the doorbell, and read before their slots are given back.
                fence(Ordering::SeqCst);
            }
            if let Some(index) = up {
                self.device.write(Block::Link, of(c, r::UP_CONSUMER), index.into());
            }
            if let Some(index) = down {
                self.device.write(Block::Link, of(c, r::DOWN_PRODUCER), index.into());
            }
        }
    }

    /// Looks at what the card has told, and now and then whether it is still there. What it tells of a channel that has an
    /// error counts no more, until that is restarted; the error is told once.
    ///
    /// # Errors
    ///
    /// Each is described in [`LinkError`].
    #[inline]
    pub fn poll(&mut self) -> Result<(), LinkError> {
        let now = Instant::now();
        let mut result = Ok(());
        let mut news = false;
        for c in 0..CHANNELS {
            let channel = &mut self.channels[c];
            if channel.broken.is_some() {
                continue;
            }
            let memory = self.device.memory();
            let indices = memory.load(channel.status);
            let up = channel.up.told(c, indices as u16);
            let told = channel.down.told(c, (indices >> 16) as u16, now).and(up);
            let told = told.and_then(|moved| {
                news |= moved;
                let fault = memory.load(channel.status + 4);
                match fault {
                    0 => Ok(()),
                    _ => {
                        let place = memory.load(channel.status + 8) as u16;
                        Err(LinkError::Fault { channel: c, fault, place })
                    }
                }
            });
            if let Err(error) = told {
                channel.broken = Some(error.clone());
                result = Err(error);
            }
        }
        if news {
            self.probed = now;
        } else if now.duration_since(self.probed) > self.config.probe {
            self.probed = now;
            result = result.and_then(|()| self.probe(now));
        }
        result
    }

    /// Nothing has come for a while: is the card there, do the channels run, do they go on?
    #[cold]
    fn probe(&mut self, now: Instant) -> Result<(), LinkError> {
        for c in 0..CHANNELS {
            if self.channels[c].broken.is_some() {
                continue;
            }
            let state = self.read(of(c, r::STATE))?;
            let error = if state & r::RUNNING == 0 {
                match self.read(of(c, r::FAULT))? {
                    // Whoever stopped it has also forgotten why.
                    0 => LinkError::Stopped { channel: c, state },
                    fault => LinkError::Fault { channel: c, fault, place: state as u16 },
                }
            } else {
                let down = &self.channels[c].down;
                let (slots, at, within) = (down.waiting(), down.consumed(), self.config.patience);
                if slots == 0 || now.saturating_duration_since(down.moved) < within {
                    continue;
                }
                let register = self.read(of(c, r::INDICES))?;
                let line = self.device.memory().load(self.channels[c].status);
                match register == line {
                    true => LinkError::Stands { channel: c, slots, at, within },
                    false => LinkError::NotTold { channel: c, register, line },
                }
            };
            self.channels[c].broken = Some(error.clone());
            return Err(error);
        }
        Ok(())
    }

    /// Hands over frames that the card has told of. How many.
    ///
    /// # Errors
    ///
    /// What the card has written is no frame. The channel has stopped for this program, see [`Link::poll`].
    #[inline]
    pub fn receive(&mut self, port: Port, mut take: impl FnMut(&[u8])) -> Result<usize, LinkError> {
        let channel = &mut self.channels[port as usize];
        let mut count = 0;
        while channel.up.waiting() != 0 {
            match channel.up.take(port as usize, self.device.memory(), &mut self.frame) {
                Ok(bytes) => take(&self.frame.as_flattened()[PREAMBLE..PREAMBLE + bytes]),
                Err(error) => {
                    // What is behind it cannot be told from anything else.
                    channel.up = Up::new(channel.up.place);
                    channel.broken = Some(error.clone());
                    return Err(error);
                }
            }
            count += 1;
        }
        Ok(count)
    }

    /// Slots of the ring down that the card has not taken.
    pub fn waiting(&self, port: Port) -> usize {
        self.channels[port as usize].down.waiting().into()
    }

    /// Nothing is in a ring, and the card knows all.
    pub fn is_empty(&self) -> bool {
        PORTS.iter().all(|port| {
            let channel = &self.channels[*port as usize];
            channel.down.waiting() == 0 && channel.up.waiting() == 0
        })
    }

    /// Why a channel has stopped.
    pub fn broken(&self, port: Port) -> Option<&LinkError> {
        self.channels[port as usize].broken.as_ref()
    }

    /// The card's counters of a channel: frames down, frames up, frames dropped, faults.
    ///
    /// # Errors
    ///
    /// The card has gone.
    pub fn events(&mut self, port: Port) -> Result<[u32; 4], LinkError> {
        let mut events = [0; 4];
        for (n, event) in events.iter_mut().enumerate() {
            *event = self.device.read(Block::Link, r::EVENTS + 16 * port as u32 + 4 * n as u32);
        }
        // A counter may be all ones.
        self.read(r::ID)?;
        Ok(events)
    }

    /// A register that is never all ones.
    fn read(&mut self, register: u32) -> Result<u32, LinkError> {
        read(&mut *self.device, register)
    }

    fn write(&mut self, register: u32, value: u32) {
        self.device.write(Block::Link, register, value);
    }

    fn write_long(&mut self, register: u32, value: u64) {
        self.write(register, value as u32);
        self.write(register + 4, (value >> 32) as u32);
    }
}

impl<D: Device> Drop for Link<D> {
    /// The memory is given back only when the card cannot write to it any more.
    fn drop(&mut self) {
        let is_still = self.stop().is_ok();
        if is_still || self.device.cut() {
            // SAFETY: nobody uses it any more.
            unsafe { ManuallyDrop::drop(&mut self.device) };
        } else {
            self.device.keep_memory();
        }
    }
}

/// A register of the link that is never all ones.
fn read<D: Device>(device: &mut D, register: u32) -> Result<u32, LinkError> {
    match device.read(Block::Link, register) {
        r::ALL_ONES => Err(LinkError::Gone { register }),
        value => Ok(value),
    }
}

/// Nothing is written to a card before it is known to be one.
fn identify<D: Device>(device: &mut D) -> Result<(), LinkError> {
    let id = read(device, r::ID)?;
    if id != r::ID_VALUE {
        return Err(LinkError::WrongId { id });
    }
    let caps = read(device, r::CAPS)?;
    let (channels, longest) = (caps & 0xFF, caps >> 16);
    if (channels, longest) != (CHANNELS as u32, MAX_FRAME as u32) {
        return Err(LinkError::WrongCaps { caps, channels, longest });
    }
    Ok(())
}

/// The channels, with their rings where they are, and where the status lines begin.
fn layout<D: Device>(
    config: &Config,
    device: &D,
) -> Result<([Channel; CHANNELS], usize), LinkError> {
    let sizes = config.sizes();
    if let Some(bits) = sizes.into_iter().find(|bits| !(3..=15).contains(bits)) {
        return Err(LinkError::RingSize { bits });
    }
    let memory = device.memory();
    let (places, status) = config.places();
    if status.end > memory.len() {
        return Err(LinkError::TooLarge { bytes: status.end, room: memory.len() });
    }
    let largest = sizes.into_iter().max().map_or(STATUS, |bits| SLOT << bits) as u64;
    if !memory.physical().is_multiple_of(largest) {
        return Err(LinkError::Unaligned { physical: memory.physical() });
    }
    let channels = std::array::from_fn(|c| Channel {
        down: Down::new(Place::new(places[2 * c].start, sizes[2 * c])),
        up: Up::new(Place::new(places[2 * c + 1].start, sizes[2 * c + 1])),
        status: status.start + SLOT * c,
        broken: None,
    });
    Ok((channels, status.start))
}
