//! The card's trace: which of its points the requests of a marked connection have passed, and when.

use anyhow::Result;
use wirekv_card::{csr, Card};

/// Names of the points, as the registers have them.
const POINTS: [(&str, u32); 13] = [
    ("frame", csr::TRACE_POINTS_FRAME),
    ("segment", csr::TRACE_POINTS_SEGMENT),
    ("arrived", csr::TRACE_POINTS_ARRIVED),
    ("request", csr::TRACE_POINTS_REQUEST),
    ("log", csr::TRACE_POINTS_LOG),
    ("hash", csr::TRACE_POINTS_HASH),
    ("execute", csr::TRACE_POINTS_EXECUTE),
    ("result", csr::TRACE_POINTS_RESULT),
    ("value", csr::TRACE_POINTS_VALUE),
    ("reply", csr::TRACE_POINTS_REPLY),
    ("send", csr::TRACE_POINTS_SEND),
    ("sent", csr::TRACE_POINTS_SENT),
    ("framed", csr::TRACE_POINTS_FRAMED),
];

/// Forgets what was recorded, and records of the connection that a peer has opened last from `port`, or opens next.
pub fn mark(card: &mut dyn Card, port: u16) -> Result<()> {
    card.write_csr(csr::TRACE, u32::from(port))?;
    card.write_csr(csr::TRACE, csr::TRACE_ON | u32::from(port))?;
    Ok(())
}

/// A line for each clock in which something happened: its number and the points.
pub fn records(card: &mut dyn Card) -> Result<String> {
    let mut text = String::new();
    for record in 0..=csr::TRACE_RECORD_MAX {
        card.write_csr(csr::TRACE_RECORD, record)?;
        let points = card.read_csr(csr::TRACE_POINTS)?;
        if points == 0 {
            break;
        }
        text += &card.read_csr(csr::TRACE_CLOCK)?.to_string();
        for (name, _) in POINTS.iter().filter(|(_, bit)| points & bit != 0) {
            text += " ";
            text += name;
        }
        text += "\n";
    }
    Ok(text)
}
