//! Commands about values as arrays of bits.

use std::cell::RefCell;

use wirekv_proto::limits;
use wirekv_store::Item;

use super::bitfield::Fields;
use super::bits::{self, Operation};
use super::call::Call;
use super::items::{self, Change};
use super::rows;
use super::table::Command;
use super::{Error, LONG_VALUE};

pub const COMMANDS: &[Command] = &[
    Command::new(rows::BITCOUNT, bitcount),
    Command::new(rows::BITFIELD, bitfield),
    Command::new(rows::BITFIELD_RO, bitfield_ro),
    Command::new(rows::BITOP, bitop),
    Command::new(rows::BITPOS, bitpos),
    Command::new(rows::GETBIT, getbit),
    Command::new(rows::SETBIT, setbit),
];

/// `SETBIT key offset value`
fn setbit(call: &mut Call<'_>) -> Result<(), Error> {
    let (offset, on) = (bits::offset(call.arg(2))?, bits::bit(call.arg(3))?);
    let (key, hash) = (call.arg(1), call.hash_of(1));
    let needed = bits::bytes_for(offset);
    if needed > call.engine.settings.item_max {
        return Err(bits::OFFSET);
    }
    let mut was = false;
    let plan = |old: Option<&Item<'_>>| {
        let value = old.map_or(&b""[..], |item| item.value());
        was = bits::get(value, offset);
        Ok(match was == on && needed <= value.len() {
            true => Change::None,
            false => Change::Value { len: needed.max(value.len()) },
        })
    };
    items::update(call.engine, key, hash, plan, |old, new| {
        extend(old, new);
        bits::set(new, offset, on);
    })?;
    call.reply.integer(was.into());
    Ok(())
}

/// The old value, with zeros behind.
fn extend(old: Option<&Item<'_>>, new: &mut [u8]) {
    let value = old.map_or(&b""[..], |item| item.value());
    let (here, behind) = new.split_at_mut(value.len());
    here.copy_from_slice(value);
    behind.fill(0);
}

/// `GETBIT key offset`
fn getbit(call: &mut Call<'_>) -> Result<(), Error> {
    let offset = bits::offset(call.arg(2))?;
    if bits::bytes_for(offset) > call.engine.settings.item_max {
        return Err(bits::OFFSET);
    }
    let bit = call.get(1).is_some_and(|item| bits::get(item.value(), offset));
    call.reply.integer(bit.into());
    Ok(())
}

/// `BITCOUNT key [start end [BYTE|BIT]]`
fn bitcount(call: &mut Call<'_>) -> Result<(), Error> {
    let args = call.args.vec(2);
    let count = call.get(1).map_or(Ok(0), |item| bits::count(item.value(), &args))?;
    call.reply.integer(count);
    Ok(())
}

/// `BITPOS key bit [start [end [BYTE|BIT]]]`
fn bitpos(call: &mut Call<'_>) -> Result<(), Error> {
    let args = call.args.vec(2);
    let item = call.get(1);
    let position = bits::position(item.map(|item| item.value()), &args)?;
    call.reply.integer(position);
    Ok(())
}

/// `BITOP AND|OR|XOR|NOT destkey key [key ...]`
fn bitop(call: &mut Call<'_>) -> Result<(), Error> {
    let operation = Operation::parse(call.arg(1), call.args.len() - 3)?;
    let db = call.client.db;
    let (to, sources) = (call.arg(2), call.args.vec(3));
    let local = &call.engine.local;
    let hashes: Vec<_> = call.args.from(2).map(|key| local.hash_in(db, key)).collect();
    let from = &hashes[1..];
    let len_of = |engine: &crate::Engine| {
        let values = sources
            .iter()
            .zip(from)
            .filter_map(|(key, hash)| items::find(&engine.local, key, *hash));
        values.map(|item| item.value().len()).max().unwrap_or(0)
    };
    let sizes = |engine: &crate::Engine| vec![items::footprint(to, len_of(engine))];
    let len = items::together(call.engine, &hashes, sizes, |engine| {
        let len = len_of(engine);
        if len == 0 {
            items::remove(engine, db, to);
            return Ok(0);
        }
        if limits::too_large(&engine.settings, to.len(), len as u64, 0) {
            return Err(LONG_VALUE);
        }
        let mut result = vec![0; len];
        for (i, (key, hash)) in sources.iter().zip(from).enumerate() {
            let item = items::find(&engine.local, key, *hash);
            operation.take(&mut result, item.map_or(b"", |item| item.value()), i == 0);
        }
        items::set(engine, db, to, &result, 0)?;
        Ok(len)
    })??;
    call.reply.integer(len as i64);
    Ok(())
}

/// `BITFIELD key [GET|SET|INCRBY|OVERFLOW ...]`
fn bitfield(call: &mut Call<'_>) -> Result<(), Error> {
    let fields = fields_of(call, false)?;
    if fields.room() == 0 {
        return read_fields(call, &fields);
    }
    let (key, hash) = (call.arg(1), call.hash_of(1));
    let Call { reply, engine, .. } = call;
    let mark = reply.mark();
    // What it comes to is known before there is a new item.
    let value = RefCell::new(Vec::new());
    let plan = |old: Option<&Item<'_>>| {
        let old = old.map_or(&b""[..], |item| item.value());
        let len = fields.room().max(old.len());
        let mut value = value.borrow_mut();
        value.clear();
        value.extend_from_slice(old);
        value.resize(len, 0);
        reply.rewind(mark);
        reply.array(fields.len());
        let changed = fields.write(&mut value, |answer| match answer {
            Some(number) => reply.integer(number),
            None => reply.null(),
        });
        Ok(if changed || len > old.len() { Change::Value { len } } else { Change::None })
    };
    items::update(engine, key, hash, plan, |_, new| new.copy_from_slice(&value.borrow()))
}

/// `BITFIELD_RO key [GET ...]`
fn bitfield_ro(call: &mut Call<'_>) -> Result<(), Error> {
    let fields = fields_of(call, true)?;
    read_fields(call, &fields)
}

fn fields_of(call: &Call<'_>, read_only: bool) -> Result<Fields, Error> {
    let most = call.engine.settings.item_max;
    let fields = Fields::parse(&call.args.vec(2), read_only, most)?;
    match fields.room() <= most {
        true => Ok(fields),
        // The last one ends beyond.
        false => Err(bits::OFFSET),
    }
}

fn read_fields(call: &mut Call<'_>, fields: &Fields) -> Result<(), Error> {
    let (key, hash) = (call.arg(1), call.hash_of(1));
    let Call { reply, engine, .. } = call;
    let item = items::get(engine, key, hash);
    reply.array(fields.len());
    fields.read(item.map_or(b"", |item| item.value()), |number| reply.integer(number));
    Ok(())
}
