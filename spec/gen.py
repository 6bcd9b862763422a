"""Writes what the RTL, the host's program, the tests and the documents have of spec/card.rdl, spec/commands.toml and
spec/items.toml.

    make spec                       writes it
    python spec/gen.py --check      fails when a file has not what would be written

A file is made as a whole, or between two lines that say so.
"""

import argparse
import re
import sys
import textwrap
from typing import NamedTuple

import commands
import items
from blocks import COLUMNS, ROOT, between, made_by
from systemrdl import RDLCompileError, RDLCompiler
from systemrdl.node import RegfileNode

SPEC = "spec/card.rdl"
MADE = made_by(SPEC)

#: The package in which each group of counters has its enum.
PACKAGES = {
    "net": "rtl/net/net_pkg.sv", "tcp": "rtl/tcp/tcp_pkg.sv", "ingress": "rtl/conn/conn_pkg.sv",
    "egress": "rtl/reply/reply_pkg.sv", "store": "rtl/store/store_pkg.sv"}
REGISTERS = "docs/HOST_INTERFACE.md"


class Field(NamedTuple):
    name: str
    low: int
    width: int
    sw: str
    hw: str
    reset: int | None
    is_told: bool  # hardware is told of each write
    desc: str
    unit: str | None
    max: int | None

    @property
    def bits(self):
        high = self.low + self.width - 1
        return f"{high}:{self.low}" if self.width > 1 else f"{self.low}"


def camel(name):
    return "".join(word.capitalize() for word in name.split("_"))


class Register(NamedTuple):
    name: str
    addr: int
    words: int
    desc: str
    fields: list

    @property
    def is_setting(self):
        return self.fields[0].sw == "rw"

    @property
    def is_constant(self):
        return self.fields[0].sw == "r" and self.fields[0].hw == "na"

    @property
    def camel(self):
        return "Csr" + camel(self.name)


class Counter(NamedTuple):
    group: str
    name: str
    addr: int
    desc: str


class Spec(NamedTuple):
    registers: list
    rooms: dict     # where each group of counters stands, and its continuation (`net_more`): address, room
    counters: dict  # those of each group, in the order of its bits

    @property
    def counters_at(self):
        return min(addr for addr, _ in self.rooms.values())


def read(path):
    compiler = RDLCompiler()
    try:
        compiler.compile_file(str(path))
        card = compiler.elaborate().top
    except RDLCompileError:
        sys.exit(1)  # it has said what is wrong
    spec = Spec([], {}, {})
    for node in card.children():
        if not isinstance(node, RegfileNode):
            spec.registers.append(register(node))
            continue
        name, room, counts = node.inst_name, node.get_property("room"), list(node.registers())
        group = name.removesuffix("_more")
        if len(counts) > room:
            sys.exit(f"{SPEC}: {name} has room for {room} counters, not for {len(counts)}")
        if name != group and len(spec.counters[group]) < spec.rooms[group][1]:
            sys.exit(f"{SPEC}: {name} has counters, and {group} has room")
        spec.rooms[name] = node.absolute_address, room
        spec.counters.setdefault(group, []).extend(
            Counter(group, count.inst_name, count.absolute_address, text(count)) for count in counts)
    for reg in spec.registers:
        if reg.is_setting and reg.addr >= spec.counters_at:
            sys.exit(f"{SPEC}: {reg.name} can be written, so it has to stand below the counters")
    return spec


def text(node):
    return node.get_property("desc", default="")


def register(node):
    fields = [
        Field(f.inst_name, f.low, f.width, f.get_property("sw").name, f.get_property("hw").name,
              f.get_property("reset"), f.get_property("swmod"), text(f), f.get_property("unit"),
              f.get_property("max"))
        for f in node.fields()]
    # What csr.sv can be.
    if not all(f.sw == "r" or (f.sw, f.reset) == ("rw", 0) for f in fields) or len({f.sw for f in fields}) > 1:
        sys.exit(f"{SPEC}: {node.inst_name} is neither only read, nor written and 0 after a reset")
    if node.is_array and [f.width for f in fields] != [32]:
        sys.exit(f"{SPEC}: {node.inst_name} is an array of what is no whole word")
    words = node.array_dimensions[0] if node.is_array else 1
    return Register(node.inst_name, node.raw_address_offset, words, text(node), fields)


def plain(description):
    """Without the links of a document."""
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", description)


def number(field):
    """What is to be known of its number."""
    parts = [f"in {field.unit}" if field.unit else "", f"at most {field.max:,}" if field.max else ""]
    sentence = ", ".join(filter(None, parts))
    return f"{sentence[0].upper()}{sentence[1:]}." if sentence else ""


def comment(prefix, *sentences):
    """Lines of a comment."""
    words = plain(" ".join(sentence for sentence in sentences if sentence))
    return textwrap.wrap(words, COLUMNS, initial_indent=prefix, subsequent_indent=prefix)


# ------------------------------------------------------------------ SystemVerilog


def logic(width):
    return "logic" if width == 1 else f"logic [{width - 1}:0]"


def csr_pkg(spec):
    """What csr.sv needs of the map."""
    lines = [f"// {MADE}", "// Addresses are those of bytes; csr.sv counts words.", "package csr_pkg;", ""]
    for reg in spec.registers:
        if not reg.is_setting or any(f.is_told for f in reg.fields):
            lines += comment("  /// ", reg.desc)
            lines += [f"  localparam logic [9:0] {reg.camel} = 10'('h{reg.addr:03X} / 4);"]
        if reg.is_constant:
            lines += [f"  localparam logic [31:0] {reg.camel}Value = 32'h{reg.fields[0].reset:08X};"]
    for reg in spec.registers:
        if len(reg.fields) > 1:
            # What is read has all its bits; of a setting hardware takes the fields.
            members = reg.fields if reg.is_setting else padded(reg.fields)
            lines += ["", *comment("  /// ", reg.desc), "  typedef struct packed {"]
            lines += [f"    {logic(f.width)} {f.name};" for f in reversed(members)]
            lines += [f"  }} csr_{reg.name.lower()}_t;"]

    settings = [reg for reg in spec.registers if reg.is_setting]
    lines += ["", "  /// Words below the counters: settings stand there.",
              f"  localparam int unsigned CsrWords = {spec.counters_at // 4};"]
    lines += ["", "  /// Whether a word is a setting.",
              "  function automatic logic csr_is_setting(input int unsigned word);",
              "    return word inside {", *(f"      {run}" for run in runs(settings)), "    };",
              "  endfunction"]

    lines += ["", "  /// All settings that hardware reads.", "  typedef struct packed {"]
    assigns = []
    for reg in settings:
        fields = [f for f in reg.fields if f.hw == "r"]
        name, at = reg.name.lower(), f"'h{reg.addr:03X} / 4"
        if reg.words > 1:
            lines += [f"    logic [{reg.words - 1}:0][31:0] {name};"]
            assigns += [f"for (int w = 0; w < {reg.words}; w++) csr_settings.{name}[w] = "
                        f"words['h{reg.addr:03X}/4+w];"]
        elif len(reg.fields) > 1:
            lines += [f"    csr_{name}_t {name};"]
            assigns += [f"csr_settings.{name}.{f.name} = words[{at}]{part(f)};" for f in fields]
        elif fields:
            lines += [f"    {logic(fields[0].width)} {name};"]
            assigns += [f"csr_settings.{name} = words[{at}]{part(fields[0])};"]
    lines += ["  } csr_settings_t;", "", "  /// Them, where they stand.",
              "  function automatic csr_settings_t csr_settings(input logic [31:0] words[CsrWords]);",
              *(f"    {assign}" for assign in assigns), "  endfunction"]

    lines += ["", "  /// Counters that there can be in each group."]
    for name, (_, room) in spec.rooms.items():
        lines += [f"  localparam int unsigned Csr{camel(name)}Room = {room};"]
    return lines + ["", "endpackage"]


def part(field):
    return "" if field.width == 32 else f"[{field.bits}]"


def padded(fields):
    """The fields, and what is between them, from the lowest bit."""
    members, at = [], 0
    for f in fields:
        if f.low > at:
            members.append(f._replace(name=f"zero_{at}", width=f.low - at))
        members.append(f)
        at = f.low + f.width
    return members if at == 32 else [*members, fields[0]._replace(name=f"zero_{at}", width=32 - at)]


def runs(settings):
    """Ranges of words without a gap."""
    ranges = []
    for reg in settings:
        last = reg.addr + 4 * reg.words - 4
        if ranges and ranges[-1][1] + 4 == reg.addr:
            ranges[-1][1] = last
        else:
            ranges.append([reg.addr, last])
    texts = [f"['h{first:03X} / 4 : 'h{last:03X} / 4]" if first != last else f"'h{first:03X} / 4"
             for first, last in ranges]
    return [f"{run}," for run in texts[:-1]] + texts[-1:]


def enum(counters):
    """A group's counters, for its package."""
    group = counters[0].group
    prefix = f"{group.capitalize()}Count"
    names = [f"{prefix}{c.name}{',' if c is not counters[-1] else ''}" for c in counters]
    width = max(map(len, names))
    bits = (len(counters) - 1).bit_length()
    lines = []
    for name, c in zip(names, counters):
        line = f"    {name:{width}}  // {c.desc}" if c.desc else f"    {name}"
        lines += [line if len(line) <= COLUMNS else f"    {name}  // {c.desc}"]
    return [f"  typedef enum {logic(bits)} {{", *lines,
            f"  }} {group}_count_e;",
            f"  localparam int unsigned {group.capitalize()}Counts = {len(counters)};"]


def model_enum(counters):
    """The same for a model in C++, which has one group."""
    names = ", ".join(c.name for c in counters)
    return ["enum Count {", *textwrap.wrap(f"{names}, Counts", COLUMNS, initial_indent="  ", subsequent_indent="  "), "};"]


# ------------------------------------------------------------------ Rust, Python, Markdown


def csr_map_rs(spec):
    lines = [f"// {MADE}", "", "use super::Counter;"]
    for reg in spec.registers:
        one = len(reg.fields) == 1
        lines += ["", *comment("/// ", reg.desc, number(reg.fields[0]) if one else "",
                               f"{reg.words} words." if reg.words > 1 else "")]
        lines += [f"pub const {reg.name}: u32 = {reg.addr:#05X};".replace("0X", "0x")]
        for f in reg.fields:
            if f.max is not None:
                of = reg.name if one else f"{reg.name}_{f.name.upper()}"
                lines += [f"pub const {of}_MAX: u32 = {f.max};"]
            if reg.is_constant:
                value = f"{f.reset:08X}"
                lines += [f"pub const {reg.name}_VALUE: u32 = 0x{value[:4]}_{value[4:]};"]
            if not one:
                ones = "1" if f.width == 1 else f"{(1 << f.width) - 1:#x}"
                value = f"{ones} << {f.low}" if f.low or f.width == 1 else ones
                lines += [*comment("/// ", f.desc[:1].upper() + f.desc[1:] + "."),
                          f"pub const {reg.name}_{f.name.upper()}: u32 = {value};"]
    lines += ["", "/// All counters, in the order of their addresses.", "#[rustfmt::skip]",
              "pub static COUNTERS: &[Counter] = &["]
    for c in sorted((c for group in spec.counters.values() for c in group), key=lambda c: c.addr):
        what = c.desc.replace("\\", "\\\\").replace('"', '\\"')
        lines += [f'    Counter {{ name: "{c.group.capitalize()}{c.name}", addr: {c.addr:#05x}, '
                  f'what: "{what}" }},']
    return [*lines, "];"]


def csr_map_py(spec):
    lines = [f'"""{MADE}"""', "", "from typing import NamedTuple", "", "",
             "class Field(NamedTuple):", "    low: int", "    width: int",
             "    sw: str  # what software can do, hardware", "    hw: str",
             "    reset: int | None", "", "",
             "class Register(NamedTuple):", "    addr: int", "    words: int", "    fields: dict", "", "",
             "REGISTERS = {"]
    for reg in spec.registers:
        fields = ", ".join(f'"{f.name}": Field({f.low}, {f.width}, "{f.sw}", "{f.hw}", {f.reset})'
                           for f in reg.fields)
        lines += [f'    "{reg.name}": Register({reg.addr:#05x}, {reg.words}, {{{fields}}}),']
    lines += ["}", "#: Addresses of each group's counters, in the order of the bits of its `count_o`.", "COUNTERS = {"]
    for group, counters in spec.counters.items():
        lines += [f'    "{group}": {{']
        lines += [f'        "{group.capitalize()}Count{c.name}": {c.addr:#05x},' for c in counters]
        lines += ["    },"]
    return [*lines, "}"]


def register_table(spec):
    lines = ["| address | register | bits | |", "|---|---|---|---|"]
    for reg in spec.registers:
        last = f"-0x{reg.addr + 4 * reg.words - 4:03X}" if reg.words > 1 else ""
        read_only = "" if reg.is_setting else " R"
        at = f"| 0x{reg.addr:03X}{last}{read_only} | `{reg.name}` |"
        first = reg.fields[0]
        if reg.is_constant:
            lines += [f"{at} {first.bits} | `0x{first.reset:08X}`. {reg.desc} |"]
        elif len(reg.fields) == 1:
            lines += [f"{at} {first.bits} | {' '.join(filter(None, (reg.desc, number(first))))} |"]
        else:
            lines += [f"{at} | {reg.desc} |"]
            lines += [f"| | | {f.bits} `{f.name}` | {f.desc} |" for f in reg.fields]
    for name, (addr, room) in spec.rooms.items():
        group, more = name.removesuffix("_more"), " that have no room there" * name.endswith("_more")
        lines += [f"| 0x{addr:03X}-0x{addr + 4 * room - 4:03X} R | `{group.capitalize()}...` | 31:0 | "
                  f"[Event counters](COUNTERS.md) of {group}{more}. |"]
    return lines


def counter_page(spec):
    lines = [f"<!-- {MADE} -->", "# Event counters", "",
             "What `stats card` shows. Where they stand: [registers](HOST_INTERFACE.md#registers).", "",
             "| address | counter | |", "|---|---|---|"]
    for counters in spec.counters.values():
        lines += [f"| 0x{c.addr:03X} | `{c.group.capitalize()}{c.name}` | {c.desc} |" for c in counters]
    return lines


# ------------------------------------------------------------------ files


def made(card, protocols):
    """Every file that has something of the two: its path and text."""
    texts = {}

    def part(path, what, source, lines):
        text = texts.get(path) or (ROOT / path).read_text()
        texts[path] = between(text, what, source, lines)

    for group, counters in card.counters.items():
        part(PACKAGES[group], f"{group}_count_e", SPEC, enum(counters))
    part("tb/tcp/tcb_model.h", "Count", SPEC, model_enum(card.counters["tcp"]))
    part(REGISTERS, "registers", SPEC, register_table(card))
    for path, what, make, source in commands.PARTS:
        part(path, what, source, make(protocols))
    files = [("rtl/host/csr_pkg.sv", csr_pkg(card)), ("tb/harness/csr_map.py", csr_map_py(card)),
             ("host/card/src/csr/map.rs", csr_map_rs(card)), (items.PATH, items.rust()), ("docs/COUNTERS.md", counter_page(card))]
    for path, lines in (*files, *((path, make(protocols)) for path, make in commands.FILES)):
        texts[path] = "\n".join([*lines, ""])
    return {ROOT / path: text for path, text in texts.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--check", action="store_true")
    is_check = parser.parse_args().check
    texts = made(read(ROOT / SPEC), commands.read(ROOT / commands.SPEC))
    stale = [(path, text) for path, text in texts.items() if not path.is_file() or path.read_text() != text]
    if is_check and stale:
        sys.exit("\n".join(f"{path.relative_to(ROOT)} is not what {SPEC}, {commands.SPEC} and {items.SPEC} say: run `make spec`"
                           for path, _ in stale))
    for path, text in stale:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
