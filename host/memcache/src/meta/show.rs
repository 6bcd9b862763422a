//! What replies to meta commands show.

use wirekv_proto::Out;

use super::flags::MAX_OPAQUE;
use crate::base64;
use crate::line::Words;

pub const LONG_OPAQUE: &[u8] = b"CLIENT_ERROR opaque token too long\r\n";
/// Room for what a command answers besides key, opaque and value.
pub const REPLY: usize = 256;

/// `Err`: what is said in place of the reply.
pub type Done = Result<(), &'static [u8]>;

pub fn opaque(word: &[u8], out: &mut Out) -> Done {
    if word.len() > MAX_OPAQUE {
        return Err(LONG_OPAQUE);
    }
    out.room(1 + word.len()).byte(b' ').bytes(word).finish();
    Ok(())
}

/// ` k<key>`, in base64 with ` b` behind it where it is binary.
pub fn show_key(key: &[u8], binary: bool, out: &mut Out) {
    let mut w = out.room(8 + key.len() * 2);
    w.bytes(b" k");
    if binary {
        base64::encode(key, |group| {
            w.bytes(group);
        });
        w.bytes(b" b");
    } else {
        w.bytes(key);
    }
    w.finish();
}

pub fn show_number(flag: u8, value: u64, out: &mut Out) {
    out.room(24).byte(b' ').byte(flag).number(value).finish();
}

/// ` t<seconds to live>`, -1 for ever.
pub fn show_exptime(exptime: u32, now: u32, out: &mut Out) {
    match exptime {
        0 => out.text(b" t-1"),
        _ => show_number(b't', exptime.wrapping_sub(now).into(), out),
    }
}

/// What opaque and key flags show in a reply about no item.
pub fn show_request(args: &[u8], key: &[u8], binary: bool, out: &mut Out) -> Done {
    for word in Words::new(args) {
        match word[0] {
            b'O' => opaque(word, out)?,
            b'k' => show_key(key, binary, out),
            _ => {}
        }
    }
    Ok(())
}
