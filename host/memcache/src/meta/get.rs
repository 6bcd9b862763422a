//! `mg` and `me`.

use wirekv_proto::{limits, Engine, Out, Request, Value};
use wirekv_store::Hash;

use super::flags::Flags;
use super::show::{opaque, show_exptime, show_key, show_number, show_request, Done, REPLY};
use crate::base64;
use crate::line::Words;
use crate::ops::{self, Mode, Put, Stored};
use crate::texts::BAD_FORMAT;
use crate::watch;

/// `mg <key> <flags>*`
pub fn get(
    flags: &Flags,
    args: &[u8],
    key: &[u8],
    hash: Hash,
    engine: &mut Engine,
    out: &mut Out,
) -> Done {
    let touches = flags.exptime.is_some();
    watch::look(engine, key, hash);
    let mut created = false;
    let before = loop {
        if let Some(item) = engine.local.get(key, hash) {
            break Some(item.exptime());
        }
        if flags.vivify.is_none() {
            break None;
        }
        // An empty item takes its place, for the one who wins to fill.
        let empty = Put { mode: Mode::Add, explicit: flags.explicit, ..Put::default() };
        match ops::put(engine, key, hash, &empty, Value::Here(b"")) {
            Stored::Yes(..) => {
                created = true;
                break engine.local.get(key, hash).map(|item| item.exptime());
            }
            Stored::NotStored => {}
            _ => break None,
        }
    };
    let Engine { local, counters, settings, .. } = engine;
    let item = match before {
        Some(before) => match flags.last_exptime(args, created).filter(|new| *new != before) {
            Some(exptime) => ops::touch(local, key, hash, exptime),
            None => local.get(key, hash).map(|item| (&*local, item)),
        },
        None => None,
    };
    let found = item.is_some();
    settings.prefixes.get(key, found);
    if touches {
        counters.cmd_touch += 1;
        *(if found { &mut counters.touch_hits } else { &mut counters.touch_misses }) += 1;
    } else {
        counters.cmd_get += 1;
        *(if found { &mut counters.get_hits } else { &mut counters.get_misses }) += 1;
    }
    let (Some((local, item)), Some(before)) = (item, before) else {
        let mark = out.mark();
        out.text(b"EN");
        show_request(args, key, flags.binary_key, out)?;
        out.text(b"\r\n");
        if flags.quiet {
            out.rewind(mark);
        }
        return Ok(());
    };
    let (now, data) = (local.store().now(), item.value());
    if !flags.late && !flags.no_update {
        local.hit(&item);
    }
    let mut w = out.room(REPLY);
    match flags.value {
        true => w.bytes(b"VA ").number(data.len() as u64).finish(),
        false => w.bytes(b"HD").finish(),
    }
    let mut exptime = before;
    let mut won = false;
    for word in Words::new(args) {
        match word[0] {
            b'T' => exptime = flags.exptime.unwrap_or(exptime),
            b'N' if created => {
                exptime = flags.vivify.unwrap_or(exptime);
                won = true;
            }
            b'R' => {
                let soon = exptime != 0 && flags.recache.is_some_and(|limit| exptime < limit);
                won |= soon && !created && !item.win_sent();
            }
            b's' => show_number(b's', data.len() as u64, out),
            b't' => show_exptime(exptime, now, out),
            b'c' => show_number(b'c', item.cas(), out),
            b'f' => show_number(b'f', item.flags().into(), out),
            b'l' => show_number(b'l', now.saturating_sub(item.time()).into(), out),
            b'h' => show_number(b'h', item.fetched().into(), out),
            b'k' => show_key(key, item.binary_key(), out),
            b'O' => opaque(word, out)?,
            _ => {}
        }
    }
    let (win_sent, stale) = (item.win_sent(), item.stale());
    if win_sent {
        out.text(b" Z");
    }
    if stale {
        out.text(b" X");
        won |= !win_sent;
    }
    if won {
        let entry = local.lock(key);
        if entry.item().is_some_and(|item| item.win_sent()) {
            // Another one was faster.
            won = false;
        } else if entry.item().is_some() {
            entry.set_win_sent(true);
        }
        out.text(if won { b" W" } else { b" Z" });
    }
    if flags.late && !flags.no_update {
        local.hit(&item);
    }
    out.text(b"\r\n");
    if flags.value {
        out.item(&item, settings.copy_max);
        out.text(b"\r\n");
    }
    Ok(())
}

/// `me <key> [b]`
pub fn debug(request: &Request, key: Option<&[u8]>, engine: &mut Engine, out: &mut Out) {
    let (Some(key), Some(hash)) = (key, request.hash) else { return out.text(BAD_FORMAT) };
    watch::look(engine, key, hash);
    let Engine { local, counters, settings, .. } = engine;
    counters.cmd_meta += 1;
    let Some(item) = local.get(key, hash) else { return out.text(b"EN\r\n") };
    out.text(b"ME ");
    let mut w = out.room(2 * key.len() + REPLY);
    if item.binary_key() {
        base64::encode(key, |group| {
            w.bytes(group);
        });
    } else {
        w.bytes(key);
    }
    let now = local.store().now();
    w.bytes(b" exp=");
    match item.exptime() {
        0 => w.bytes(b"-1"),
        exptime => w.number(exptime.wrapping_sub(now).into()),
    };
    let size = limits::size(settings, key.len(), item.value().len() as u64, item.flags());
    w.bytes(b" la=").number(now.saturating_sub(item.time()).into());
    w.bytes(b" cas=").number(item.cas());
    w.bytes(b" fetch=").bytes(if item.fetched() { b"yes" } else { b"no" });
    w.bytes(b" cls=").number(ops::slab_class(size)).bytes(b" size=").number(size);
    w.bytes(b"\r\n").finish();
}
