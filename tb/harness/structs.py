"""Packed structs and enums of the RTL's packages, as dicts and numbers."""

import re
from types import SimpleNamespace

from harness.filelist import VARIANT, expand


class Struct:
    """A packed struct: dict <-> integer, first field highest. Nested structs are dicts, packed
    arrays of structs lists (element 0 lowest); fields left out are 0.

    pack and unpack are made for the struct as Python's text: they are most of what a test does."""

    def __init__(self, name, fields):
        self.name, self.fields = name, fields  # [(name, width, Struct or None, count or None)]
        self.width = low = sum(width for _, width, _, _ in fields)
        used, packs, unpacks = {}, [], []
        for field, width, struct, count in fields:
            low -= width
            ones, part = (1 << width) - 1, f"(word >> {low} & {(1 << width) - 1})"
            packed = f"int(get({field!r}, 0))"
            if struct:
                used[struct.name] = struct
                packed = f"({struct.name}.pack(v) if (v := get({field!r})) else 0)"
                one = f"{struct.name}.unpack({part} >> {{}} & {(1 << struct.width) - 1})"
                part = one.format(0)
            if struct and count:
                packed = f"sum({struct.name}.pack(v) << i * {struct.width} for i, v in enumerate(get({field!r}, ())))"
                part = f"[{', '.join(one.format(i * struct.width) for i in range(count))}]"
            packs.append(f"({packed} & {ones}) << {low}")
            unpacks.append(f"{field!r}: {part}")
        scope = {**used, "known": {field for field, *_ in fields}, "self": self}
        exec(f"""
def pack(values):
    if not values.keys() <= known:
        raise AssertionError(f"{{self.name}} has no {{values.keys() - known}}")
    get = values.get
    return {" | ".join(packs)}

def unpack(word):
    return {{{", ".join(unpacks)}}}
""", scope)
        self.pack, self.unpack = scope["pack"], scope["unpack"]


class Types:
    """Packed structs and enums of SystemVerilog packages, read from the files themselves:

    t = Types("rtl/pkg.f")
    t.peer_t.pack({"ip": 0x0A000001}); t.OpGet; t.op_e.names[0]
    """

    _TYPEDEF = re.compile(
        r"typedef\s+(?:struct\s+packed\s*\{(?P<struct>[^}]*)\}|"
        r"enum\s+(?:logic|int\s+unsigned)\s*(?P<ewidth>\[[^]]*\])?\s*\{(?P<enum>[^}]*)\}|"
        r"logic\s*(?P<range>(?:\[[^]]*\]\s*)*))\s*(?P<name>\w+)\s*;|"
        r"localparam\s+int\s+unsigned\s+(?P<param>\w+)\s*=\s*(?P<value>[^;]+);")

    def __init__(self, *files):
        self.params, self.widths = {}, {"logic": 1}
        text = "".join(f.read_text() for f in expand(*files)[0])
        text = re.sub(r"//.*", "", text)
        if variant := re.search(rf"localparam config_t {VARIANT or 'Default'} = '\{{([^}}]*)\}}", text):
            self.Config = self.params["Config"] = SimpleNamespace(
                **{name: int(value) for name, value in re.findall(r"(\w+): (?:1'b)?(\d+)", variant[1])})
        for m in self._TYPEDEF.finditer(text):
            if m["param"]:
                self.params[m["param"]] = self._number(m["value"])
                setattr(self, m["param"], self.params[m["param"]])
            elif m["struct"] is not None:
                struct = Struct(m["name"], list(self._fields(m["struct"])))
                self.widths[m["name"]] = struct.width
                setattr(self, m["name"], struct)
            elif m["enum"] is not None:
                self._enum(m["name"], m["enum"])
                self.widths[m["name"]] = self._size(m["ewidth"] or "")
            else:
                self.widths[m["name"]] = self._size(m["range"])

    def _number(self, text):
        text = re.sub(r"\d*'[hdb]|config_pkg::", lambda m: {"h": "0x", "b": "0b"}.get(m[0][-1], ""), text)
        return int(eval(text.replace("/", "//").replace("$clog2", "clog2"),
                        {"clog2": lambda n: (n - 1).bit_length()}, dict(self.params)))

    def _size(self, ranges):
        size = 1
        for high, low in re.findall(r"\[([^]:]*):([^]:]*)\]", ranges):
            size *= self._number(high) - self._number(low) + 1
        return size

    def _fields(self, body):
        for item in filter(None, (s.strip() for s in body.split(";"))):
            base, ranges, names = re.fullmatch(r"(\w+)\s*((?:\[[^]]*\]\s*)*)\s*(.*)", item, re.S).groups()
            struct = getattr(self, base, None)
            struct = struct if isinstance(struct, Struct) else None
            count = self._size(ranges) if ranges.strip() else None
            for name in names.split(","):
                width = self.widths[base] * (count or 1)
                yield name.strip(), width, struct, count if struct else None

    def _enum(self, name, body):
        value, names = 0, {}
        for item in filter(None, (s.strip() for s in body.split(","))):
            label, _, number = (s.strip() for s in item.partition("="))
            value = self._number(number) if number else value
            names[value] = label
            self.params[label] = value
            setattr(self, label, value)
            value += 1
        setattr(self, name, type(name, (), {"names": names}))


#: What rooms of rtl/ hand to each other.
T = Types("rtl/pkg.f")


def stand_of(ctx):
    """What the scheduler is told of a context, as conn_pkg's function of that name."""
    resp = ctx.get("resp", {})
    return {"again": ctx.get("again", 0), "rx_ptr": ctx["rx_ptr"], "mode": ctx["mode"], "rem": ctx.get("rem", 0),
            "vain": int(ctx["mode"] == T.MdLine and bool(ctx.get("noreply"))), "cont": ctx.get("cont", 0),
            "copies": ctx.get("copies", 0), "binary": ctx.get("binary", {}).get("is", 0),
            "redis": resp.get("is", 0), "all": resp.get("all", 0), "met": resp.get("met", 0)}
