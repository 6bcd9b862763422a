//! smoltcp's view of the wire: IP packets of one connection in, frames to the card out.

use std::collections::VecDeque;

use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;

use crate::ether::{push_ethernet, Mac};
use crate::Frames;

pub struct Tap {
    pub mtu: usize,
    pub card_mac: Mac,
    pub our_mac: Mac,
    /// Of the family that is spoken.
    pub ethertype: u16,
    /// Packets for the socket that is being polled.
    pub packets: VecDeque<Vec<u8>>,
    pub to_card: Frames,
    /// Bytes that may still be added to `to_card` before sockets are asked to wait.
    pub room: usize,
    /// A socket had something to send and found no room.
    pub refused: bool,
}

impl Device for Tap {
    type RxToken<'a> = Received;
    type TxToken<'a> = Transmit<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Received, Transmit<'_>)> {
        let packet = self.packets.pop_front()?;
        // An answer to a packet (an ACK, a RST) is small and always has room.
        Some((Received(packet), Transmit(self)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Transmit<'_>> {
        self.refused = self.room == 0;
        (!self.refused).then_some(Transmit(self))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut caps = DeviceCapabilities::default();
        caps.medium = Medium::Ip;
        caps.max_transmission_unit = self.mtu;
        caps
    }
}

pub struct Received(Vec<u8>);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

pub struct Transmit<'a>(&'a mut Tap);

impl TxToken for Transmit<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, fill: F) -> R {
        let Tap { card_mac, our_mac, ethertype, to_card, room, .. } = self.0;
        *room = room.saturating_sub(len);
        to_card.push_with(|buffer| {
            push_ethernet(buffer, *card_mac, *our_mac, *ethertype);
            let start = buffer.len();
            buffer.resize(start + len, 0);
            fill(&mut buffer[start..])
        })
    }
}
