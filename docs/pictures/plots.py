"""Plots of figures that stand in tables of docs/PERFORMANCE.md and docs/SHARE.md, so that both say the same. Called by
draw.py."""

import io
import re
import textwrap
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

SOURCE = Path(__file__).resolve().parents[1] / "PERFORMANCE.md"
SHARE = SOURCE.with_name("SHARE.md")
WIDTH = 880  # pixels
INK = "#010203"  # becomes the page's own color of text
COLORS = ["#3f8f5b", "#4c78b0", "#c0605f", "#9a74c0", "#a8822e"]
TEXT_COLOR = ("svg { color: #1f2328 }\n"
              "@media (prefers-color-scheme: dark) { svg { color: #e6edf3 } }")

plt.rcParams.update({
    "svg.fonttype": "none", "svg.hashsalt": "wirekv", "font.size": 13, "axes.spines.top": False,
    "axes.spines.right": False, "figure.dpi": 72, "legend.frameon": False, "legend.fontsize": 12,
    **{f"{what}.color": INK for what in ("text", "xtick", "ytick")},
    "axes.labelcolor": INK, "axes.edgecolor": INK})


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def table(*columns, source=SOURCE):
    """Rows of the one table whose head begins so, as lists of cells."""
    tables = [part.splitlines() for part in source.read_text().split("\n\n") if part.startswith("|")]
    found = [lines for lines in tables if cells(lines[0])[:len(columns)] == list(columns)]
    if len(found) != 1:
        raise SystemExit(f"{source.name} has {len(found)} tables that begin with {columns}")
    return [cells(line) for line in found[0][2:]]


def number(cell):
    return float(re.match(r"[\d,.]+", cell)[0].rstrip(",").replace(",", ""))


def sizes():
    """M op/s by the size of the value, and the share of the wire."""
    rows = table("value, bytes", "GET, 10 Gb/s")
    columns = {"GET": [row[3] for row in rows], "GET:SET 1:1": [row[4] for row in rows]}
    figure, axes = plt.subplots(figsize=(WIDTH / 72, 320 / 72), layout="tight")
    width = 0.8 / len(columns)
    for n, (name, told) in enumerate(columns.items()):
        places = [i + (n - (len(columns) - 1) / 2) * width for i in range(len(rows))]
        drawn = axes.bar(places, [number(cell) for cell in told], width, label=name, color=COLORS[n])
        axes.bar_label(drawn, [cell.split(", ")[1].replace(" ", "") for cell in told], fontsize=12, padding=2)
    axes.set_xticks(range(len(rows)), [row[0] for row in rows])
    axes.set_ylabel("M op/s at 100 Gb/s")
    axes.margins(y=0.12)
    axes.set_xlabel("bytes of the value; above each bar the share of what the wire carries")
    axes.legend()
    return figure


def connections():
    """Operations a second and latency of TCP by the number of connections."""
    rows = table("connections", "op/clk", "M op/s")
    figure, grid = plt.subplots(1, 2, figsize=(WIDTH / 72, 320 / 72), layout="tight")
    at = [number(row[0]) for row in rows]
    grid[0].plot(at, [number(row[2]) for row in rows], marker="o", color=COLORS[0])
    grid[0].set_ylabel("M op/s at 100 Gb/s")
    grid[0].set_ylim(0)
    for n, name in enumerate(("median", "p99")):
        grid[1].plot(at, [number(row[4 + n]) * 0.004 for row in rows], marker="o", label=name, color=COLORS[n])
    grid[1].set_ylabel("us from request to reply")
    grid[1].set_yscale("log")
    grid[1].legend()
    for axes in grid:
        axes.set_xscale("log")
        axes.set_xticks([5, 50, 400, 1400, 10000], ["5", "50", "400", "1,400", "10,000"])
        axes.minorticks_off()
        axes.set_xlabel("connections")
    return figure


def cpu():
    """CPU time of a GET beside other servers."""
    text = {row[1]: row for row in table("protocol, mix, connections") if row[0] == "text, GET, 50"}
    resp = {row[1]: row for row in table("mix, connections", "pipelining", "soft", "Redis") if row[0] == "GET, 50"}
    figure, grid = plt.subplots(1, len(text), figsize=(WIDTH / 72, 320 / 72), layout="tight")
    for axes, pipelining in zip(grid, text):
        row = text[pipelining]
        heights = {"soft": row[2], "memcached": row[3], "Redis": row[4], "Valkey": resp[pipelining][4]}
        drawn = axes.bar(range(len(heights)), [number(cell) for cell in heights.values()], 0.7, color=COLORS)
        axes.bar_label(drawn, fmt="%.2f", fontsize=12, padding=2)
        axes.set_xticks(range(len(heights)), heights, fontsize=12, rotation=30)
        axes.set_title(f"pipelining {pipelining}", fontsize=13)
        axes.margins(y=0.12)
    grid[0].set_ylabel("server CPU, us a GET")
    return figure


def keys():
    """Operations a clock by the length of keys."""
    rows = table("", "32 B", "64 B")
    figure, grid = plt.subplots(1, 2, figsize=(WIDTH / 72, 320 / 72), layout="tight", sharey=True)
    lengths = ["32", "64", "128", "250"]
    protocols = {"TCP {}": "text", "TCP {}, binary protocol": "binary", "TCP {}, Redis' protocol": "Redis"}
    for axes, what in zip(grid, ("GET hit", "SET")):
        for color, (name, label) in zip(COLORS, protocols.items()):
            told = next(row for row in rows if row[0] == name.format(what))[1:]
            axes.plot(lengths, [number(cell) for cell in told], marker="o", label=label, color=color)
        axes.set_title(what, fontsize=13)
        axes.set_xlabel("bytes of the key, values of 100")
        axes.set_ylim(0)
    grid[0].set_ylabel("operations a clock")
    grid[0].legend()
    return figure


def bars(axes, labels, series):
    """Rows of horizontal bars, the first row on top: `series` are heights of all rows by what they are of."""
    thick = 0.8 / len(series)
    for n, (name, values) in enumerate(series.items()):
        places = [row + (n - (len(series) - 1) / 2) * thick for row in range(len(labels))]
        axes.barh(places, values, thick, label=name, color=COLORS[n])
    names = [textwrap.fill(text.replace(" %", "\u00a0%"), 30) for text in labels]
    axes.set_yticks(range(len(labels)), names, fontsize=12)
    axes.set_ylim(len(labels) - 0.5, -0.5)


def load():
    """Latency of UDP GETs over load."""
    rows = table("of what the closed loop reaches")
    figure, axes = plt.subplots(figsize=(WIDTH / 72, 320 / 72), layout="tight")
    for n, name in enumerate(("median", "p99", "max")):
        told = [number(row[2 + n]) for row in rows]
        axes.plot([number(row[0]) for row in rows], told, marker="o", label=name, color=COLORS[n])
    axes.set_xticks([number(row[0]) for row in rows], [row[0] for row in rows])
    axes.set_xlabel("offered load, of what the closed loop reaches")
    axes.set_ylabel("clocks from request to reply")
    axes.set_ylim(0)
    axes.legend()
    return figure


def fairness():
    """What eight good clients keep beside others, in % of what they have beside as many good ones."""
    rows = table("the others", "1")[1:]
    shares = [[number(re.search(r"(\d+) %", cell)[0]) for cell in row[1:]] for row in rows]
    series = {f"{count} of them": values for count, values in zip(("1", "8", "64"), zip(*shares))}
    figure, axes = plt.subplots(figsize=(WIDTH / 72, 440 / 72), layout="tight")
    bars(axes, [row[0].replace("`", "") for row in rows], series)
    for drawn in axes.containers:
        axes.bar_label(drawn, fmt="%d", fontsize=11, padding=-24, color="white")
    axes.axvline(50, color=INK, linewidth=1, linestyle="--")
    axes.text(51, -0.42, "the goal", fontsize=12, va="bottom")
    axes.set_xlabel("what eight good clients reach, in % of what they reach beside as many good ones")
    axes.legend(title="beside", loc="upper right")
    return figure


def area():
    """LUTs of the card by its instances."""
    rows = [row for row in table("", "LUT", "of these LUTRAM") if row[0] != "card"]
    names = [re.sub(r"`| \(.*", "", re.sub(r", the card's.*", ", the rest", row[0])) for row in rows]
    figure, axes = plt.subplots(figsize=(WIDTH / 72, 360 / 72), layout="tight")
    bars(axes, names, {"LUTs": [number(row[1]) / 1000 for row in rows]})
    axes.bar_label(axes.containers[0], [row[1] for row in rows], fontsize=12, padding=3)
    axes.set_xlabel("thousands of LUTs")
    axes.margins(x=0.1)
    return figure


def memory():
    """Bytes of an item that are neither key nor value."""
    rows = table("key, value", "soft")
    plain, kinds = [row for row in rows if "expiry" not in row[0]], ("soft", "memcached", "Redis", "Valkey")
    expiring = [row for row in rows if "expiry" in row[0]]
    data = [sum(int(n.replace(",", "")) for n in re.findall(r"[\d,]*\d", row[0])) for row in plain]
    figure, grid = plt.subplots(1, 2, figsize=(WIDTH / 72, 340 / 72), layout="tight", sharey=True)
    for axes, what, told in zip(grid, ("no expiry time", "with an expiry time"), (plain, expiring)):
        bars(axes, [row[0] for row in plain],
             {name: [number(row[1 + n]) - size for row, size in zip(told, data)] for n, name in enumerate(kinds)})
        for drawn in axes.containers:
            axes.bar_label(drawn, fmt="%.0f", fontsize=12, padding=3)
        axes.set_title(what, fontsize=13)
        axes.margins(x=0.1)
        axes.set_xlabel("bytes beyond key and value")
    grid[0].set_ylabel("key, value")
    grid[0].legend(loc="upper right")
    return figure


def misses():
    """Miss ratios of the software body and others at equal memory."""
    rows = table("workload", "soft")
    kinds = ("soft", "memcached", "Redis LRU", "Redis LFU", "S3-FIFO")
    figure, axes = plt.subplots(figsize=(WIDTH / 72, 560 / 72), layout="tight")
    bars(axes, [row[0] for row in rows],
         {name: [number(row[1 + n]) for row in rows] for n, name in enumerate(kinds)})
    axes.set_xlabel("misses in %: less is better")
    axes.legend(loc="upper right")
    return figure


def dollars():
    """Operations for a dollar by the packets that an instance carries, beside published ones."""
    rows, published = table("M packets/s"), table("published")
    head = next(line for line in SOURCE.read_text().splitlines() if line.startswith("| M packets/s |"))
    packets = [number(row[0]) for row in rows]
    figure, axes = plt.subplots(figsize=(WIDTH / 72, 340 / 72), layout="tight")
    for n, name in enumerate(cells(head)[1:]):
        axes.plot(packets, [number(row[1 + n]) for row in rows], marker="o", label=name.split(",")[0], color=COLORS[n])
    for n, row in enumerate(published):
        height = number(row[3])
        axes.axhline(height, color=COLORS[3 + n], linewidth=1, linestyle="--")
        axes.text(packets[0], height, row[0], fontsize=12, va="bottom")
    axes.set_xscale("log")
    axes.set_xticks(packets, [row[0] for row in rows])
    axes.minorticks_off()
    axes.set_ylim(0)
    axes.set_xlabel("million packets a second that the instance carries")
    axes.set_ylabel("M op/s for $1 an hour")
    axes.legend()
    return figure


def share():
    """Share of GETs that the cache in the NIC answers, by the size of its table."""
    rows = table("requests", "table", "policy.c", source=SHARE)
    etc = [row for row in rows if row[0] == "ETC"]
    kinds = {"ETC, by the table's size": ([row[1] for row in etc], [row[2:] for row in etc])}
    for name in ("web12", "orm-busy"):
        told = next(row for row in rows if row[0] == name)
        kinds[f"{name}, by entries"] = (["1,024", "4,096", "16,384"], list(zip(*(cell.split(", ") for cell in told[2:]))))
    figure, grid = plt.subplots(1, len(kinds), figsize=(WIDTH / 72, 320 / 72), layout="tight", sharey=True)
    for axes, (title, (sizes_, shares)) in zip(grid, kinds.items()):
        for n, name in enumerate(("policy.c", "LRU", "best")):
            axes.plot(sizes_, [number(row[n]) for row in shares], marker="o", label=name, color=COLORS[n])
        axes.set_title(title, fontsize=13)
    grid[0].axhline(40, color=INK, linewidth=1, linestyle="--")
    grid[0].text(2, 40.5, "published", fontsize=12, va="bottom", ha="right")
    grid[0].set_ylabel("answered GETs, %")
    grid[0].legend(loc="upper left")
    return figure


def made():
    """The text of each plot's SVG, by its name."""
    texts = {}
    for draw in (sizes, keys, connections, fairness, load, area, dollars, cpu, memory, misses, share):
        figure, out = draw(), io.StringIO()
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        plt.close(figure)
        svg = out.getvalue().replace(INK, "currentColor")
        svg = re.sub(r'(width|height)="([\d.]+)pt"', r'\1="\2"', svg, count=2)
        source = SHARE if draw is share else SOURCE
        svg = svg.replace("<defs>", f"<!-- Made by docs/pictures/plots.py from {source.name}: `make figures`. -->\n"
                          f" <style>\n{TEXT_COLOR}\n </style>\n <defs>", 1)
        texts[f"{draw.__name__}.svg"] = re.sub(r"[ \t]+$", "", svg, flags=re.M)
    return texts
