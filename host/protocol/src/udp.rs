//! memcached over UDP: a datagram has a frame header and whole requests behind it.
//!
//! Each reply is a message of its own, of as many datagrams as it needs.

use std::io::IoSlice;

use crate::{Engine, Next, Out, Parse, Server, Session};

/// Request id, sequence number, datagrams in the message, reserved; 16 bits each, big endian.
pub const HEADER: usize = 8;
/// Longest datagram sent, header included.
pub const DATAGRAM: usize = 1400;
const PAYLOAD: usize = DATAGRAM - HEADER;

/// Serves the requests of a datagram. Their replies are in `out`, an [`Out::with_units`], and the
/// request id is returned. None: it is not a datagram of one, and gets no answer.
pub fn serve(
    datagram: &[u8],
    engine: &mut Engine,
    server: &mut dyn Server,
    out: &mut Out,
) -> Option<u16> {
    let (header, mut input) = datagram.split_at_checked(HEADER)?;
    // Of a message in several datagrams none is served. Nothing else in the header matters.
    if header[4] != 0 || header[5] != 1 {
        return None;
    }
    let mut session = Session::new();
    while let Parse::Request(mut request) = session.parse(input, engine) {
        loop {
            match session.execute(&mut request, input, engine, server, out) {
                Next::Continue => break,
                Next::Again => {}
                // There is no connection to close, but the rest is not served.
                Next::Close => return Some(u16::from_be_bytes([header[0], header[1]])),
            }
        }
        input = &input[request.len as usize..];
        if input.is_empty() {
            break;
        }
    }
    Some(u16::from_be_bytes([header[0], header[1]]))
}

/// Calls `send` with the parts of each datagram, frame header first.
pub fn datagrams(out: &Out, id: u16, mut send: impl FnMut(&[IoSlice<'_>])) {
    for unit in out.units() {
        // A longer message cannot be numbered.
        let Ok(total) = u16::try_from(unit.len().div_ceil(PAYLOAD)) else { continue };
        for (sequence, from) in unit.clone().step_by(PAYLOAD).enumerate() {
            let mut header = [0; HEADER];
            header[..2].copy_from_slice(&id.to_be_bytes());
            header[2..4].copy_from_slice(&(sequence as u16).to_be_bytes());
            header[4..6].copy_from_slice(&total.to_be_bytes());
            // Even a payload of single bytes and pins between them cannot have more parts.
            let mut slices = [IoSlice::new(&[]); 8];
            slices[0] = IoSlice::new(&header);
            let to = unit.end.min(from + PAYLOAD);
            let count = out.slices_of(from..to, &mut slices[1..]);
            send(&slices[..=count]);
        }
    }
}
