"""Reads spec/commands.toml, and makes from it the lines that stand in other files."""

import re
import sys
import tomllib
from typing import NamedTuple

from blocks import COLUMNS, ROOT, made_by

sys.path.insert(0, str(ROOT / "tb"))
from harness.structs import Types  # noqa: E402

SPEC = "spec/commands.toml"
CODES = "rtl/parse/request_pkg.sv"
#: Where the names come from that a row uses: an enum's prefix, its file, its name.
ENUMS = {
    "Op": (CODES, "op_e"), "Rp": (CODES, "reply_e"), "Md": (CODES, "mode_e"), "Rf": (CODES, "resp_form_e"),
    "Cmd": ("rtl/parse/parse_pkg.sv", "cmd_e"), "Fm": ("rtl/parse/parse_pkg.sv", "form_e"),
    "Ra": ("rtl/parse/parse_pkg.sv", "resp_args_e"), "Ln": ("rtl/parse/slow/byte_header.sv", "lengths_e")}
UNITS = "InSeconds", "InMillis", "AtSecond", "AtMilli"
#: Redis' names of what a command is, in the order of their bits in `flag` of host/resp/src/table.rs.
FLAGS = ("write readonly denyoom admin noscript blocking loading stale skip_monitor skip_slowlog fast no_auth "
         "may_replicate no_mandatory_keys protected no_async_loading no_multi movablekeys allow_busy at_once").split()
#: Of this server alone.
UNTOLD = "protected", "at_once"

# What the gates' tables have room for.
WORD_MAX = 16            # letters: keyword.sv
FORM_MAX = 7             # decode_form.sv, a blank behind them
NAME_MAX = 11            # resp_command.sv
FAST_NAMES = range(3, 7)  # decode_resp.sv
COUNT_MAX = 7            # arguments, the name among them
OPCODES = 0x40           # byte_header.sv


class Text(NamedTuple):
    name: str
    cmd: str
    fast: str | None  # the fast path runs it: form of the line
    op: str | None


class Binary(NamedTuple):
    name: str
    opcode: int
    quiet: int | None
    cmd: str
    lengths: str
    extras: int
    key: bool  # the reply has it
    fast: bool
    op: str | None
    what: str

    @property
    def opcodes(self):
        return [self.opcode] if self.quiet is None else [self.opcode, self.quiet]


class Gates(NamedTuple):
    """With so many arguments gates run it."""
    count: int
    more: bool
    cmd: str
    form: str
    args: str
    unit: str | None
    array: bool
    many: bool
    one_db: bool
    reset: bool
    fast: list | str
    op: str | None


class Redis(NamedTuple):
    name: str
    arity: int
    flags: list
    keys: list
    gates: list

    @property
    def const(self):
        return re.sub(r"\W", "_", self.name).upper()

    @property
    def is_in_gates(self):
        return any(not gates.reset for gates in self.gates)


class Spec(NamedTuple):
    versions: dict
    text: list
    binary: list
    port: list    # opcodes of the request port alone
    redis: dict   # by heading
    enums: dict   # name and value of what each has

    @property
    def all_redis(self):
        return [command for commands in self.redis.values() for command in commands]


def enum(path, name):
    """Names and values of an enum in SystemVerilog."""
    return {label: value for value, label in getattr(Types("rtl/pkg.f", path), name).names.items()}


# ------------------------------------------------------------------ reading


class Row:
    """The fields of a row, each taken once."""

    def __init__(self, where, fields, enums):
        self.where, self.fields, self.enums = where, dict(fields), enums

    def fail(self, what):
        sys.exit(f"{SPEC}: {self.where}: {what}")

    def take(self, field, kind, default=...):
        value = self.fields.pop(field, default)
        if value is ...:
            self.fail(f"has no {field}")
        if value != default and type(value) is not kind:
            self.fail(f"{field} = {value!r} is no {kind.__name__}")
        return value

    def one(self, field, prefix, default=...):
        """A name of an enum, without its prefix there."""
        value = self.take(field, str, default)
        path, name = ENUMS[prefix]
        if value is not None and prefix + value not in self.enums[prefix]:
            self.fail(f'{field} = "{value}": there is no {prefix}{value} in {name} of {path}')
        return value

    def op(self, cmd, is_fast):
        """What the store does of a command in the fast path: that of the same name, if the row has none."""
        if not is_fast and "op" in self.fields:
            self.fail("has an op, which is the fast path's, and does not go there")
        return self.one("op", "Op", cmd) if is_fast else None

    def end(self):
        if self.fields:
            self.fail(f"{', '.join(self.fields)}: a row has no such field")

    def short(self, text, most, where):
        if len(text) > most:
            self.fail(f"its name has {len(text)} letters, and {where} has room for {most}")


def read(path):
    try:
        tables = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:  # a name twice, among others
        sys.exit(f"{SPEC}: {error}")
    enums = {prefix: enum(*place) for prefix, place in ENUMS.items()}
    rows = lambda table, make: [make(name, Row(f"{table}: {name}", fields, enums))  # noqa: E731
                                for name, fields in tables[table].items()]
    spec = Spec(tables["versions"], rows("text", text), rows("binary", binary), rows("request_port", binary), {}, enums)
    for heading, commands in tables["redis"].items():
        spec.redis[heading] = [redis(name, Row(f"redis: {name}", fields, enums)) for name, fields in commands.items()]
    check(spec)
    return spec


def text(name, row):
    cmd, fast = row.one("cmd", "Cmd"), row.one("fast", "Fm", None)
    row.short(name, WORD_MAX, "keyword.sv")
    if fast:
        row.short(name, FORM_MAX, "decode_form.sv")
    made = Text(name, cmd, fast, row.op(cmd, fast))
    row.end()
    return made


def binary(name, row):
    cmd, fast = row.one("cmd", "Cmd"), row.take("fast", bool, False)
    made = Binary(name, row.take("opcode", int), row.take("quiet", int, None), cmd, row.one("lengths", "Ln"),
                  row.take("extras", int, 0), row.take("key", bool, False), fast, row.op(cmd, fast),
                  row.take("what", str, ""))
    for opcode in made.opcodes:
        if not 0 <= opcode < OPCODES:
            row.fail(f"opcode 0x{opcode:02x}: byte_header.sv knows those below 0x{OPCODES:02x}")
    if fast and made.lengths not in ("None", "Key", "Value"):
        row.fail("decode_binary.sv has no row of such lengths")
    row.end()
    return made


def redis(name, row):
    flags = row.take("flags", str, "").split()
    for flag in flags:
        if flag not in FLAGS:
            row.fail(f'flags: there is no "{flag}"')
    if flags != sorted(flags, key=FLAGS.index):
        row.fail("flags: not in the order of their bits")
    made = Redis(name, row.take("arity", int), flags, row.take("keys", list, [0, 0, 0]),
                 [gates(name, Row(row.where, fields, row.enums)) for fields in row.take("gates", list, [])])
    if not made.arity or len(made.keys) != 3:
        row.fail("arity is 0, or keys are not three numbers")
    for with_ in made.gates:
        for count in [with_.count, *(with_.fast if with_.fast != "any" else [])]:
            if count < abs(made.arity) or count > made.arity > 0:
                row.fail(f"gates run it with {count} words, which its arity does not allow")
    row.end()
    return made


def gates(name, row):
    row.short(name, NAME_MAX, "resp_command.sv")
    count = str(row.fields.pop("count", ""))
    if not re.fullmatch(r"[1-9]\+?", count) or int(count[0]) > COUNT_MAX or count == str(COUNT_MAX):
        row.fail(f'count = {count}: up to {COUNT_MAX - 1}, or "{COUNT_MAX}+"')
    cmd, args = row.one("cmd", "Cmd"), row.one("args", "Ra", "None")
    unit = row.take("unit", str, None)
    if (unit in UNITS) != (args in ("Time", "TimeValue")) or (unit or UNITS[0]) not in UNITS:
        row.fail(f"a time has one of these units, and nothing else has: {', '.join(UNITS)}")
    fast = row.fields.pop("fast", [])
    if fast != "any" and (type(fast) is not list or not all(type(n) is int and 1 <= n <= COUNT_MAX for n in fast)):
        row.fail(f'fast = {fast}: counts of up to {COUNT_MAX} words, or "any"')
    made = Gates(int(count[0]), count.endswith("+"), cmd, row.one("form", "Rf"), args, unit,
                 *(row.take(field, bool, False) for field in ("array", "many", "one_db", "reset")),
                 fast, row.op(cmd, fast))
    if fast and len(name) not in FAST_NAMES:
        row.fail(f"its name has {len(name)} letters, and decode_resp.sv takes {FAST_NAMES[0]} to {FAST_NAMES[-1]}")
    if (fast == "any") != (made.array and bool(fast)):
        row.fail("any count of words in the fast path is an array's, and an array's is any")
    row.end()
    return made


def check(spec):
    """What no single row shows."""
    seen = {}
    for row in (*spec.binary, *spec.port):
        for opcode in row.opcodes:
            if opcode in seen:
                sys.exit(f"{SPEC}: binary: {row.name}: opcode 0x{opcode:02x} is that of {seen[opcode]}, too")
            seen[opcode] = row.name
    shapes = {}
    for row in (*spec.binary, *spec.port):
        shape = shapes.setdefault(row.cmd, row)
        if (shape.lengths, shape.extras) != (row.lengths, row.extras):
            sys.exit(f"{SPEC}: binary: {row.name}: byte_header.sv takes lengths and extras from the cmd, and "
                     f"{shape.name} has others")
    names = set()
    for command in spec.all_redis:
        if command.name in names:
            sys.exit(f"{SPEC}: redis: {command.name}: a row of this name is there already")
        names.add(command.name)
        if "|" in command.name and command.name.split("|")[0] not in names:
            sys.exit(f"{SPEC}: redis: {command.name}: the command that it is of does not stand before it")
        for i, way in enumerate(command.gates):
            for other in command.gates[:i]:
                low, high = sorted((way, other), key=lambda gates: gates.count)
                if low.more or low.count == high.count:
                    sys.exit(f"{SPEC}: redis: {command.name}: two of its gates take {high.count} words")


# ------------------------------------------------------------------ SystemVerilog


def array(size, of, name, rows):
    """A table, and how many rows it has."""
    return [f"  localparam int unsigned {size} = {len(rows)};", f"  localparam {of} [{size}-1:0] {name} = {{",
            *(f"    {row}," for row in rows[:-1]), f"    {rows[-1]}", "  };"]


def bit(value):
    return f"1'b{int(value)}"


def without_last(arguments, defaults):
    """Arguments but for the last ones that are as they are by default."""
    while arguments and arguments[-1] == defaults[len(arguments) - 1]:
        arguments = arguments[:-1]
    return arguments


def command_words(spec):
    return array("Commands", "command_t", "CommandWords",
                 [f'{{Cmd{row.cmd}, spelled("{row.name}")}}' for row in spec.text])


def forms(spec):
    rows = [f'row("{row.name} ", Fm{row.fast}, Op{row.op}{", " + bit(1) if row.cmd in ("Gets", "Gats") else ""})'
            for row in spec.text if row.fast]
    return array("RowsNum", "row_t", "Rows", [*rows, 'row("", FmKey, OpGet)  // a key of a line of keys'])


def redis_slow(spec):
    rows = []
    for command in spec.all_redis:
        for way in command.gates:
            more = without_last([f"Ra{way.args}", way.unit or UNITS[0], bit(way.more)], ["RaNone", UNITS[0], bit(0)])
            row = ", ".join([f'"{command.name.upper()}"', f"3'd{way.count}", f"Cmd{way.cmd}", f"Rf{way.form}", *more])
            row = f"row({row})"
            for wrap in ("array", "many", "one_db", "reset"):
                row = f"{wrap}({row})" if getattr(way, wrap) else row
            rows.append(row)
    return array("RowsNum", "row_t", "Rows", rows)


def redis_fast(spec):
    rows = []
    for command in spec.all_redis:
        for way in command.gates:
            store, number = way.args in ("Value", "TimeValue"), way.args in ("Increment", "TimeValue", "Time")
            seconds = way.args in ("TimeValue", "Time") and way.unit == UNITS[0]
            for count in [0] if way.fast == "any" else way.fast:
                options = count - way.count if way.args == "Value" else 0
                more = without_last([bit(store), bit(number), bit(seconds), f"2'd{options}"], [*[bit(0)] * 3, "2'd0"])
                form = "Array" if way.array else way.form
                row = ", ".join([f'"{command.name.upper()}"', f"3'd{count}", f"Op{way.op}", f"Rf{form}", *more])
                rows.append(f"row({row})")
    return array("RowsNum", "row_t", "Rows", rows)


def inside(opcodes, width):
    """A set of opcodes, those that follow each other as a range."""
    hexa, ranges = (lambda n: f"{width}'h{n:02x}"), []
    for opcode in sorted(opcodes):
        if ranges and ranges[-1][1] == opcode - 1:
            ranges[-1][1] = opcode
        else:
            ranges.append([opcode, opcode])
    parts = [f"[{hexa(a)} : {hexa(b)}]" if b > a + 1 else ", ".join(map(hexa, range(a, b + 1))) for a, b in ranges]
    return f"{{{', '.join(parts)}}}"


def grouped(rows, key):
    groups = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups.items()


def case_item(indent, labels, assigns):
    """An item of a case, as the formatter has it."""
    head = f"{indent}{', '.join(labels)}:"
    if len(assigns) == 1:
        return [f"{head} {assigns[0][0]} = {assigns[0][1]};"]
    width = max(len(name) for name, _ in assigns)
    return [f"{head} begin", *(f"{indent}  {name:{width}} = {value};" for name, value in assigns), f"{indent}end"]


def hexes(rows, width):
    return [f"{width}'h{opcode:02x}" for row in rows for opcode in row.opcodes]


def binary_commands(spec):
    """byte_header: what an opcode means."""
    lines = ["      unique case (opcode)"]
    for cmd, rows in grouped(spec.binary, lambda row: row.cmd):
        lines += case_item(" " * 8, hexes(rows, 6), [("cmd", f"Cmd{cmd}")])
    quiet = inside([row.quiet for row in spec.binary if row.quiet is not None], 6)
    return [*lines, "        default: ;", "      endcase", f"      quiet = opcode inside {quiet};"]


def binary_lengths(spec):
    """byte_header: and what stands behind the header."""
    lines = ["    unique case (cmd)"]
    for (lengths, extras), rows in grouped([*spec.binary, *spec.port], lambda row: (row.lengths, row.extras)):
        assigns = [("lengths", f"Ln{lengths}")] + [("want", f"8'd{extras}")] * bool(extras)
        lines += case_item(" " * 6, dict.fromkeys(f"Cmd{row.cmd}" for row in rows), assigns)
    return [*lines, "      default: ;", "    endcase"]


def binary_fast(spec):
    """decode_binary: likewise."""
    lines = ["    case (opcode)"]
    fast = [row for row in spec.binary if row.fast]
    for (op, cmd, lengths, extras), rows in grouped(fast, lambda row: (row.op, row.cmd, row.lengths, row.extras)):
        assigns = [("row.op", f"Op{op}"), ("row.store", bit(1) if lengths == "Value" else ""),
                   ("row.touch", bit(1) if cmd == "Gats" else ""), ("row.extras", f"8'd{extras}" if extras else ""),
                   ("row.none", bit(1) if lengths == "None" else "")]
        lines += case_item(" " * 6, hexes(rows, 8), [(name, value) for name, value in assigns if value])
    quiet = inside([row.quiet for row in fast if row.quiet is not None], 8)
    return [*lines, "      default: row.found = 1'b0;", "    endcase", f"    row.quiet = opcode inside {quiet};"]


def binary_sets(spec):
    """request_pkg: opcodes by what hangs on them."""
    sets = {"key": ("The reply to these has the key.", [row for row in spec.binary if row.key]),
            "set": ("These store whatever there is.", [row for row in spec.binary if row.cmd == "Set"])}
    lines = []
    for name, (what, rows) in sets.items():
        opcodes = inside([opcode for row in rows for opcode in row.opcodes], 8)
        lines += [f"  /// {what}", f"  function automatic logic binary_{name}(input logic [7:0] opcode);",
                  f"    return opcode inside {opcodes};", "  endfunction"]
    return lines


def port_opcodes(spec):
    return [line for row in spec.port for line in (
        f"  /// The request port alone: tells {row.what}.",
        f"  localparam logic [7:0] Binary{row.name.capitalize()} = 8'h{row.opcode:02x};")]


def version(spec):
    text = spec.versions["memcached"]
    return ["  /// The memcached whose replies these are.",
            f'  localparam logic [{8 * len(text) - 1}:0] Version = "{text}";']


# ------------------------------------------------------------------ Rust, C++, Python, Markdown


def codes(spec, prefix):
    """Names of an enum as constants have them, and values."""
    return [(re.sub(r"(?<!^)(?=[A-Z])", "_", name.removeprefix(prefix)).upper(), value)
            for name, value in spec.enums[prefix].items()]


def lines_rs(spec):
    lines = []
    for module, prefix in (("op", "Op"), ("reply", "Rp"), ("mode", "Md")):
        lines += ["#[allow(dead_code)]", f"mod {module} {{"]
        lines += [f"    pub const {name}: u8 = {value};" for name, value in codes(spec, prefix)] + ["}"]
    return lines


def parser_sim(spec):
    lines, line = [], "enum {"
    for name, value in spec.enums["Op"].items():
        part = f" {name} = {value},"
        if len(line + part) > COLUMNS:
            lines.append(line)
            line = "     "
        line += part
    return [*lines, f"{line} }};".replace(", };", " };")]


def version_rs(spec):
    """The crate's lib.rs."""
    return ["/// The memcached whose protocols these are.",
            f'pub const MEMCACHED_VERSION: &str = "{spec.versions["memcached"]}";']


def opcodes_rs(spec):
    commands = [(row, "".join(map(str.capitalize, row.name.split("_")))) for row in spec.binary]
    lines = [f"// {made_by(SPEC)}", "", "/// What a request is, quiet or not.",
             "#[derive(Clone, Copy, Debug, PartialEq, Eq)]", "pub enum Command {",
             *(f"    {name}," for _, name in commands), "}", "",
             "/// What stands behind the header.", "#[derive(Clone, Copy, Debug, PartialEq, Eq)]", "pub enum Lengths {"]
    what = {"None": "Nothing.", "Key": "So many bytes of extras, and a key.",
            "Value": "So many bytes of extras, a key, and perhaps a value.",
            "Flush": "4 bytes of extras, or none.", "Stat": "Perhaps a key, and a value."}
    for lengths in dict.fromkeys(row.lengths for row in spec.binary):
        payload = "(usize)" if lengths in ("Key", "Value") else ""
        lines += [f"    /// {what[lengths]}", f"    {lengths}{payload},"]
    lines += ["}", ""]
    for row, _ in commands:
        for suffix, opcode in zip(("", "_QUIET"), row.opcodes):
            lines += [f"pub const {row.name.upper()}{suffix}: u8 = 0x{opcode:02x};"]
    lines += ["", "/// What an opcode means, what stands behind the header, and whether it is quiet. None: not known.",
              "#[inline]", "pub const fn find(opcode: u8) -> Option<(Command, Lengths, bool)> {",
              "    Some(match opcode {"]
    for row, name in commands:
        payload = f"({row.extras})" if row.lengths in ("Key", "Value") else ""
        for suffix, quiet in (("", "false"), ("_QUIET", "true"))[:len(row.opcodes)]:
            lines += [f"        {row.name.upper()}{suffix} => "
                      f"(Command::{name}, Lengths::{row.lengths}{payload}, {quiet}),"]
    lines += ["        _ => return None,", "    })", "}", "",
              "/// Of the request port of a card alone.", "pub mod port {"]
    for row in spec.port:
        lines += [f"    /// Tells {row.what}.", f"    pub const {row.name.upper()}: u8 = 0x{row.opcode:02x};"]
    return [*lines, "}"]


def redis_rs(spec):
    lines = [f"// {made_by(SPEC)}", "", "use super::table::{flag::*, Keys, Row};", "",
             "/// What COMMAND tells, in its order.", "pub const FLAGS: &[(u32, &str)] = &["]
    lines += [f'    ({flag.upper()}, "{flag}"),' for flag in FLAGS if flag not in UNTOLD] + ["];"]
    for heading, commands in spec.redis.items():
        lines += ["", f"// {heading.capitalize()}."]
        for row in commands:
            first, last, step = row.keys
            flags = " | ".join(map(str.upper, row.flags)) or "0"
            lines += [f"pub const {row.const}: Row = Row {{", f'    name: "{row.name.split("|")[-1]}",',
                      f"    arity: {row.arity},", f"    flags: {flags},",
                      f"    keys: Keys {{ first: {first}, last: {last}, step: {step} }},", "};"]
    return lines


def quoted(prefix, name):
    return f'"{prefix}{name}"' if name else None


def command_map(spec):
    """For tests: names are those of the RTL's enums."""
    lines = [f'"""{made_by(SPEC)}"""', "",
             "#: Words of memcached's text protocol: command, the form of its line in the fast path.", "TEXT = {"]
    lines += [f'    b"{row.name}": ("Cmd{row.cmd}", {quoted("Fm", row.fast)}),' for row in spec.text]
    lines += ["}", "#: Opcodes of the binary protocol: command, whether it is quiet.", "BINARY = {"]
    lines += [f'    0x{opcode:02X}: ("Cmd{row.cmd}", {quiet}),'
              for row in spec.binary for quiet, opcode in zip((False, True), row.opcodes)]
    lines += ["}", "#: Those of the request port alone.", "PORT = {"]
    lines += [f'    "{row.name}": 0x{row.opcode:02X},' for row in spec.port]
    lines += ["}", "#: Redis' commands that gates run: with how many words they go by the fast path; None: any.",
              "REDIS = {"]
    for row in spec.all_redis:
        if row.is_in_gates:
            counts = [count for way in row.gates if way.fast != "any" for count in way.fast]
            is_any = any(way.fast == "any" for way in row.gates)
            lines += [f'    b"{row.name.upper()}": {None if is_any else counts},']
    return [*lines, "}"]


def redis_table(spec):
    rows = {"hardware and software body": sorted(row.name for row in spec.all_redis if row.is_in_gates)}
    for heading, commands in spec.redis.items():
        rows[heading] = sorted(row.name for row in commands if not row.is_in_gates and "|" not in row.name)
    return ["| | commands |", "|---|---|",
            *(f"| {heading} | {' '.join(f'`{name.upper()}`' for name in names)} |" for heading, names in rows.items())]


# ------------------------------------------------------------------ where it stands

#: Parts of files: file, name of the part, what makes it, of what.
PARTS = (
    ("rtl/parse/slow/keyword.sv", "command words", command_words, SPEC),
    ("rtl/parse/fast/decode_form.sv", "rows", forms, SPEC),
    ("rtl/parse/slow/resp_command.sv", "rows", redis_slow, SPEC),
    ("rtl/parse/fast/decode_resp.sv", "rows", redis_fast, SPEC),
    ("rtl/parse/slow/byte_header.sv", "commands", binary_commands, SPEC),
    ("rtl/parse/slow/byte_header.sv", "lengths", binary_lengths, SPEC),
    ("rtl/parse/fast/decode_binary.sv", "rows", binary_fast, SPEC),
    ("rtl/parse/request_pkg.sv", "opcodes", binary_sets, SPEC),
    ("rtl/host/host_pkg.sv", "opcodes", port_opcodes, SPEC),
    ("rtl/reply/reply_pkg.sv", "version", version, SPEC),
    ("host/proto/src/lib.rs", "version", version_rs, SPEC),
    ("docs/COMPATIBILITY.md", "redis commands", redis_table, SPEC),
    ("host/memcache/examples/lines.rs", "codes", lines_rs, CODES),
    ("tb/parse/parser_sim.cpp", "op_e", parser_sim, CODES),
)
#: Whole files.
FILES = (
    ("host/memcache/src/binary/opcode.rs", opcodes_rs),
    ("host/resp/src/rows.rs", redis_rs),
    ("tb/harness/command_map.py", command_map),
)
