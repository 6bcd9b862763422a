"""The figures of `make bench-soft` as pictures."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

COLORS = {"memcached": "#4c72b0", "redis": "#c44e52", "redis-lfu": "#dd8452",
          "valkey": "#8172b3", "soft": "#55a868", "soft-resp": "#1f7a3d"}


def plot(report, peers, folder):
    """One picture a section; the paths."""
    drawn = []
    for section, draw in (("cpu", cpu), ("memory", memory), ("miss", miss)):
        if report.get(section):
            path = folder / f"soft-{section}.png"
            figure = draw(report[section], peers)
            figure.savefig(path, dpi=120, bbox_inches="tight")
            plt.close(figure)
            drawn.append(path)
    return drawn


def bars(axes, names, peers, value, label):
    """A group of bars for each name, a bar for each peer."""
    width = 0.8 / len(peers)
    for n, peer in enumerate(peers):
        heights = [value(name, peer) for name in names]
        places = [i + (n - (len(peers) - 1) / 2) * width for i in range(len(names))]
        shown = [(x, h) for x, h in zip(places, heights) if h is not None]
        drawn = axes.bar([x for x, _ in shown], [h for _, h in shown], width, label=peer,
                         color=COLORS[peer])
        axes.bar_label(drawn, fmt="%.3g", fontsize=6, padding=1)
    axes.set_xticks(range(len(names)), names)
    axes.set_ylabel(label)
    axes.margins(y=0.12)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def cpu(results, peers):
    found = {(r["protocol"], r["mix"], r["connections"], r["pipeline"], r["peer"]): r
             for r in results}
    setups = list(dict.fromkeys(key[:3] for key in found))
    pipelines = sorted({key[3] for key in found})
    metrics = [("CPU us an operation", lambda r: r["closed"]["server"]["us_per_op"]),
               ("million operations a second", lambda r: r["closed"]["all"]["per_second"] / 1e6),
               ("p99 us, equal offered rate", lambda r: r["open"]["windows"]["p99_us"])]
    figure, grid = plt.subplots(len(setups), len(metrics), squeeze=False,
                                figsize=(5 * len(metrics), 2.8 * len(setups)), layout="tight")
    for row, setup in zip(grid, setups):
        for axes, (label, metric) in zip(row, metrics):
            def value(pipeline, peer):
                r = found.get((*setup, pipeline, peer))
                return metric(r) if r else None
            bars(axes, pipelines, peers, value, label)
            axes.set_title(f"{setup[0]}, {setup[1]}, {setup[2]} connections", fontsize=9)
            axes.set_xlabel("pipelining")
    grid[0][0].legend(frameon=False)
    return figure


def memory(results, peers):
    found = {(f"{r['key_size']}/{r['value_size']}" + ("\nwith expiry" if r["expiry"] else ""),
              r["peer"]): r for r in results}
    names = list(dict.fromkeys(name for name, _ in found))
    # What servers add to an item, not the item itself, which is the same for all.
    figure, axes = plt.subplots(figsize=(10, 4))

    def value(name, peer):
        r = found.get((name, peer))
        return r and r["bytes_per_item"] - r["key_size"] - r["value_size"]

    bars(axes, names, peers, value, "resident bytes an item beyond key and value")
    axes.set_xlabel("bytes of key / value")
    axes.legend(frameon=False)
    return figure


def miss(results, _):
    found = {(r["workload"], r["peer"]): r for r in results}
    names = list(dict.fromkeys(name for name, _ in found))
    peers = [peer for peer in COLORS if any(p == peer for _, p in found)]
    figure, axes = plt.subplots(figsize=(max(8, 1.6 * len(names)), 4.5))

    def value(name, peer):
        r = found.get((name, peer))
        return r and 100 * r["miss_ratio"]

    bars(axes, names, peers, value, "miss ratio, %")
    # What exact policies miss with as many items as memcached holds.
    for policy, mark in (("lru", "_"), ("s3fifo", "x")):
        places = [(i, 100 * found[name, "memcached"]["exact"][policy])
                  for i, name in enumerate(names) if (name, "memcached") in found]
        if places:
            axes.plot(*zip(*places), mark, color="black", markersize=9,
                      label={"lru": "exact LRU", "s3fifo": "exact S3-FIFO"}[policy]
                      + ", memcached's number of items")
    axes.set_xticks(range(len(names)), [name.replace(", ", ",\n") for name in names], fontsize=8)
    axes.legend(frameon=False, fontsize=8)
    return figure
