"""spec/gen.py: what it has written is what it would write, and it takes no map and no commands that the card cannot
have."""

import functools
import re

import pytest

import commands
import gen
from harness.filelist import ROOT

TEXT = (ROOT / gen.SPEC).read_text()
COMMANDS = (ROOT / commands.SPEC).read_text()
COUNTER = '    count #(.what("one more")) OneMore;\n'


@functools.cache
def card():
    return gen.read(ROOT / gen.SPEC)


def protocols(folder, rows):
    (folder / "commands.toml").write_text(rows)
    return commands.read(folder / "commands.toml")


def made(folder, text):
    (folder / "card.rdl").write_text(text)
    return gen.made(gen.read(folder / "card.rdl"), protocols(folder, COMMANDS))


def with_last(group, count=1):
    """The text with more counters behind the last of a group."""
    end = f"  }} {group} @"
    assert TEXT.count(end) == 1
    return TEXT.replace(end, "".join(
        COUNTER.replace("OneMore", f"OneMore{n}") for n in range(count)) + end)


def changed(texts):
    return {str(path.relative_to(ROOT)): text for path, text in texts.items() if path.read_text() != text}


def test_as_committed(tmp_path):
    assert changed(made(tmp_path, TEXT)) == {}


def test_one_more_counter(tmp_path):
    """It is the last of its group, everywhere, and no other one has changed."""
    last, had = max(counter.addr for counter in card().counters["store"]), len(card().counters["store"])
    texts = made(tmp_path, with_last("store"))
    changed = {path.name: text for path, text in texts.items() if path.read_text() != text}
    assert set(changed) == {"store_pkg.sv", "csr_map.py", "map.rs", "COUNTERS.md"}
    places = {}
    exec(changed["csr_map.py"], places)
    assert places["COUNTERS"]["store"]["StoreCountOneMore0"] == last + 4
    assert f"StoreCounts = {had + 1};" in changed["store_pkg.sv"]


def test_no_room(tmp_path):
    with pytest.raises(SystemExit, match="tcp_more has room for 8 counters, not for 9"):
        made(tmp_path, with_last("tcp_more", 5))


def test_apart_for_nothing(tmp_path):
    """Counters stand apart while there is a place with the others: their bits would not be those of the enum."""
    first = TEXT.index("    count #(", TEXT.index("regfile {"))
    with pytest.raises(SystemExit, match="net_more has counters, and net has room"):
        made(tmp_path, TEXT[:first] + TEXT[TEXT.index("\n", first) + 1:])


@pytest.mark.parametrize("old, new, message", (
    ("} MTU @ 0x02C;", "} MTU @ 0x500;", "MTU can be written"),
    ("id[11:0] = 0;", "id[11:0] = 1;", "VLAN is neither"),
    ("guard[0:0] = 0;", "guard[0:0] = 0; field { sw = r; hw = w; } state[2:2];", "REDIS_CLIENTS is neither"),
    ("field {} key[31:0] = 0;\n  } HASH_NH", "field {} key[15:0] = 0;\n  } HASH_NH", "HASH_NH is an array")))
def test_not_the_card_s(tmp_path, old, new, message):
    """Registers that csr.sv is not made for."""
    assert TEXT.count(old) == 1
    with pytest.raises(SystemExit, match=message):
        made(tmp_path, TEXT.replace(old, new))


@pytest.mark.parametrize("text", (
    TEXT.replace("} MTU @ 0x02C;", "} MTU @ 0x028;"),
    with_last("ingress", 2)), ids=("registers", "groups"))
def test_two_at_one_address(tmp_path, capfd, text):
    assert text != TEXT
    with pytest.raises(SystemExit):
        made(tmp_path, text)
    assert "overlaps" in capfd.readouterr().err


# ---------------------------------------------------------------- commands


def replaced(old, new):
    assert COMMANDS.count(old) == 1, old
    return COMMANDS.replace(old, new)


def with_rows(folder, rows):
    return gen.made(card(), protocols(folder, rows))


def test_one_more_redis_command(tmp_path):
    """A command that the program answers, which gates are to run, too: by the slow path, then by the fast one."""
    getbit = 'getbit = { arity = 3, flags = "readonly fast", keys = [1, 1, 1] }'
    slow = '{ count = 3, cmd = "Get", form = "Length", args = "Increment"'
    row = getbit.replace(" }", f", gates = [{slow} }}] }}")
    texts = changed(with_rows(tmp_path, replaced(getbit, row)))
    assert set(texts) == {"rtl/parse/slow/resp_command.sv", "docs/COMPATIBILITY.md", "tb/harness/command_map.py"}
    assert 'row("GETBIT", 3\'d3, CmdGet, RfLength, RaIncrement)' in texts["rtl/parse/slow/resp_command.sv"]
    had = int(re.search(r"RowsNum = (\d+);", (ROOT / "rtl/parse/slow/resp_command.sv").read_text())[1])
    assert f"RowsNum = {had + 1};" in texts["rtl/parse/slow/resp_command.sv"]
    assert "`GET` `GETBIT` `GETDEL`" in texts["docs/COMPATIBILITY.md"]
    texts = changed(with_rows(tmp_path, replaced(getbit, row.replace(slow, slow + ", fast = [3]"))))
    assert 'row("GETBIT", 3\'d3, OpGet, RfLength, 1\'b0, 1\'b1)' in texts["rtl/parse/fast/decode_resp.sv"]


def test_one_more_word(tmp_path):
    """One that host software answers; and one whose line the fast path reads."""
    me = 'me = { cmd = "Host" }\n'
    texts = changed(with_rows(tmp_path, replaced(me, me + 'proxy = { cmd = "Host" }\n')))
    assert set(texts) == {"rtl/parse/slow/keyword.sv", "tb/harness/command_map.py"}
    texts = changed(with_rows(tmp_path, replaced(me, me + 'take = { cmd = "Delete", fast = "Delete" }\n')))
    assert 'row("take ", FmDelete, OpDelete),' in texts["rtl/parse/fast/decode_form.sv"]


def test_one_more_opcode(tmp_path):
    noop = "noop = {"
    texts = changed(with_rows(tmp_path, replaced(
        noop, 'gone = { opcode = 0x25, quiet = 0x26, cmd = "Delete", lengths = "Key", fast = true }\n' + noop)))
    assert set(texts) == {"rtl/parse/slow/byte_header.sv", "rtl/parse/fast/decode_binary.sv", "tb/harness/command_map.py",
                          "host/memcache/src/binary/opcode.rs"}
    assert "6'h04, 6'h14, 6'h25, 6'h26: cmd = CmdDelete;" in texts["rtl/parse/slow/byte_header.sv"]
    assert "GONE_QUIET => (Command::Gone, Lengths::Key(0), true)," in texts["host/memcache/src/binary/opcode.rs"]


@pytest.mark.parametrize("old, new, message", (
    ('bget = { cmd = "Get" }', 'bget = { cmd = "Got" }', 'text: bget: cmd = "Got": there is no CmdGot in cmd_e'),
    ('fast = "Key", op = "Get" }\ngat ', 'fast = "Key", op = "Fetch" }\ngat ', "text: gets: op = .*no OpFetch in op_e"),
    ('fast = "Key", op = "Get" }\ngat ', 'fast = "Key" }\ngat ', "text: gets: op = .*no OpGets in op_e"),
    ('bget = { cmd = "Get" }', 'bget = { cmd = "Get", op = "Get" }', "text: bget: has an op"),
    ('bget = { cmd = "Get" }', 'bget = { cmd = "Get", slow = true }', "text: bget: slow: a row has no such field"),
    ("bget = { cmd", "get = { cmd", "commands.toml: Cannot overwrite a value"),
    ("refresh_certs = {", "refresh_certificates = {", "refresh_certificates: its name has 20 letters, and keyword.sv"),
    ("prepend = { cmd", "prependix = { cmd", "prependix: its name has 9 letters, and decode_form.sv"),
    ("opcode = 0x01, quiet = 0x11", "opcode = 0x01, quiet = 0x0a", "noop: opcode 0x0a is that of set, too"),
    ("opcode = 0x3f", "opcode = 0x10", "walk: opcode 0x10 is that of stat, too"),
    ("opcode = 0x10,", "opcode = 0x50,", "stat: opcode 0x50: byte_header.sv knows those below 0x40"),
    ('0x24, cmd = "Gats", lengths = "Key", extras = 4', '0x24, cmd = "Gats", lengths = "Key", extras = 8',
     "gatk: byte_header.sv takes lengths and extras from the cmd, and gat has others"),
    ('lengths = "Stat"', 'lengths = "Some"', "there is no LnSome in lengths_e"),
    ("echo = {", "get = {", "redis: get: a row of this name is there already"),
    ('"object|freq"', '"objects|freq"', "the command that it is of does not stand before it"),
    ("pexpiretime = {", "pexpire_at_time = {", "its name has 15 letters, and resp_command.sv has room for 11"),
    ('form = "Type" }', 'form = "Type", fast = [3] }', "type: gates run it with 3 words, which its arity"),
    ("expireat = { arity = -3, flags = \"write fast\", keys = [1, 1, 1], gates = [\n  { count = \"3+\", cmd = \"Touch\", "
     "form = \"Integer\", args = \"Time\", unit = \"AtSecond\"", None,
     "expireat: its name has 8 letters, and decode_resp.sv"),
    ('unit = "AtMilli"', 'unit = "AtMicro"', "a time has one of these units"),
    ('form = "Type" }', 'form = "Kind" }', "type: form = .*no RfKind in resp_form_e"),
    ('{ count = 3, cmd = "Set", form = "Status"', '{ count = "3+", cmd = "Set", form = "Status"',
     "mset: two of its gates take 5 words"),
    ('wait = { arity = 3, flags = "noscript" }', 'wait = { arity = 3, flags = "no_script" }',
     'wait: flags: there is no "no_script"'),
    ('wait = { arity = 3, flags = "noscript" }', 'wait = { flags = "noscript" }', "wait: has no arity")))
def test_no_such_command(tmp_path, old, new, message):
    with pytest.raises(SystemExit, match=message):
        protocols(tmp_path, replaced(old, old + ", fast = [3]" if new is None else new))


def test_words_are_in_the_document():
    """docs/COMPATIBILITY.md has every word of the text protocol, and says `hardware` of those that gates run."""
    page = (ROOT / "docs/COMPATIBILITY.md").read_text()
    table = page[page.index("## memcached's commands"):page.index("## memcached: the card")]
    told = {}
    for names, card in re.findall(r"^\| (`.*?) \| (.*?) \|", table, re.M):
        told |= {name: card for name in re.findall(r"`(\w+)[` ]", names)}
    rows = {row.name: row.cmd for row in commands.read(ROOT / commands.SPEC).text}
    assert set(rows) == set(told) - {"extstore"}
    assert {name for name, cmd in rows.items() if cmd != "Host"} == {
        name for name, card in told.items() if card == "hardware"}
