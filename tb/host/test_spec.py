"""spec/gen.py: what it has written is what it would write, and it takes no map that the card cannot have."""

import pytest

import gen
from harness.filelist import ROOT

TEXT = (ROOT / gen.SPEC).read_text()
COUNTER = '    count #(.what("one more")) OneMore;\n'


def made(folder, text):
    (folder / "card.rdl").write_text(text)
    return gen.made(gen.read(folder / "card.rdl"))


def with_last(group, count=1):
    """The text with more counters behind the last of a group."""
    end = f"  }} {group} @"
    assert TEXT.count(end) == 1
    return TEXT.replace(end, "".join(
        COUNTER.replace("OneMore", f"OneMore{n}") for n in range(count)) + end)


def test_as_committed(tmp_path):
    assert [path for path, text in made(tmp_path, TEXT).items() if path.read_text() != text] == []


def test_one_more_counter(tmp_path):
    """It is the last of its group, everywhere, and no other one has changed."""
    texts = made(tmp_path, with_last("ingress"))
    changed = {path.name: text for path, text in texts.items() if path.read_text() != text}
    assert set(changed) == {"conn_pkg.sv", "csr_map.py", "map.rs", "COUNTERS.md"}
    places = {}
    exec(changed["csr_map.py"], places)
    assert places["COUNTERS"]["ingress"]["IngressCountOneMore0"] == 0x334
    assert "IngressCounts = 14;" in changed["conn_pkg.sv"]


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
