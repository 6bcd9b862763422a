"""Draws the pictures of the documents: an SVG for each TOML file beside this one, and the plots of plots.py.

    make figures                        draws them
    python docs/pictures/draw.py --check    fails when a picture is not what its text says

A text has these entries; places are pixels from the upper left corner.

    title = "What is shown"             for those who hear the page
    size = [880, 400]                   at most 900 wide
    box = [[NAME, X, Y, WIDTH, HEIGHT, TEXT, KIND], ...]
    arrow = [[PATH, LABEL, STYLE, X, Y], ...]
    text = [[X, Y, TEXT, ANCHOR], ...]

A line of a box's TEXT that begins with "*" is bold; in a box of KIND "room" text stands at the top. A PATH is
"NAME.SIDE > ... > NAME.SIDE" with sides l, r, t, b, a number behind the side for so many pixels from its upper or left
end, and "X,Y" for a corner in between. "x" and "y" stand for the place of the point before. LABEL, STYLE ("solid",
"dashed", "both" for two heads, "plain" for none) and the label's place may be left out.
"""

import sys
import tomllib
from html import escape
from pathlib import Path

HERE = Path(__file__).resolve().parent
LINE = 16  # from one line of text to the next
SIZE = 13
LABEL_SIZE = 12
WIDE = 0.57  # of the size, a character of a wide font

#: Fill and border of each kind of box, for a light page and for a dark one.
KINDS = {
    "room": (("#eef4fb", "#6b8fb8"), ("#182636", "#5b7fa8")),
    "cell": (("#ffffff", "#57606a"), ("#22272e", "#8b949e")),
    "state": (("#e6f4ea", "#4f8a5b"), ("#16301f", "#5fa06c")),
    "host": (("#fdf0dc", "#b07d2b"), ("#3a2c14", "#c0924a")),
    "memory": (("#f1e9fa", "#8160ad"), ("#2b2140", "#9a7bc6")),
    "bad": (("#fbe6e6", "#b65454"), ("#3d1c1c", "#cf7272")),
}
INK = (("#1f2328", "#57606a"), ("#e6edf3", "#a5aeb8"))  # text; arrows and labels


def style(dark):
    """The rules of one colour scheme."""
    ink, line = INK[dark]
    rules = [f"text {{ fill: {ink} }}", f".label {{ fill: {line} }}",
             f".arrow {{ stroke: {line} }}", f".head {{ fill: {line} }}"]
    rules += [f".{kind} {{ fill: {colors[dark][0]}; stroke: {colors[dark][1]} }}"
              for kind, colors in KINDS.items()]
    return "\n".join(f"  {rule}" for rule in rules)


class Picture:
    def __init__(self, path):
        self.path, self.faults = path, []
        text = tomllib.loads(path.read_text())
        self.title, (self.width, self.height) = text["title"], text["size"]
        self.boxes = {name: box for name, *box in text.get("box", [])}
        self.arrows, self.texts = text.get("arrow", []), text.get("text", [])
        if self.width > 900:
            self.wrong("is wider than 900")
        if len(self.boxes) != len(text.get("box", [])):
            self.wrong("has two boxes with one name")
        for name, (x, y, width, height, _, _) in self.boxes.items():
            self.inside(name, x, y)
            self.inside(name, x + width, y + height)
        self.apart()

    def wrong(self, what):
        self.faults.append(f"{self.path.name} {what}")

    def inside(self, what, x, y):
        if not (0 <= x <= self.width and 0 <= y <= self.height):
            self.wrong(f"has {what!r} outside of the picture")

    def apart(self):
        """A box is within another one or beside it."""
        boxes = list(self.boxes.items())
        for n, (name, (x, y, width, height, _, _)) in enumerate(boxes):
            for other, (ox, oy, owidth, oheight, _, _) in boxes[n + 1:]:
                if x < ox + owidth and ox < x + width and y < oy + oheight and oy < y + height:
                    within = ox >= x and oy >= y and ox + owidth <= x + width and oy + oheight <= y + height
                    if not within:
                        self.wrong(f"has {other!r} across the border of {name!r}")

    def point(self, place, before):
        place = place.strip()
        if "," in place:
            return [before[n] if part.strip() in ("x", "y") else float(part)
                    for n, part in enumerate(place.split(","))]
        name, side = place.rsplit(".", 1)
        x, y, width, height = self.boxes[name][:4]
        along = float(side[1:]) if side[1:] else (width if side[0] in "tb" else height) / 2
        return {"l": [x, y + along], "r": [x + width, y + along],
                "t": [x + along, y], "b": [x + along, y + height]}[side[0]]

    def draw_text(self, x, y, text, anchor="start", label=False):
        size = LABEL_SIZE if label else SIZE
        bold, text = text.startswith("*"), text.removeprefix("*")
        wide = len(text) * size * WIDE
        left = x - {"start": 0, "middle": wide / 2, "end": wide}[anchor]
        if left < 0 or left + wide > self.width:
            self.wrong(f"has no room for {text!r}: it ends at {left:.0f} and {left + wide:.0f}")
        kind = ' class="label"' if label else ""
        weight = ' font-weight="600"' if bold else ""
        return (f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}"{weight}{kind}>'
                f"{escape(text)}</text>")

    def draw_box(self, name):
        x, y, width, height, text, kind = self.boxes[name]
        lines = text.split("\n") if text else []
        yield f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="4"/>'
        for line in lines:
            if len(line.removeprefix("*")) * SIZE * WIDE > width - 4:
                self.wrong(f"has no room for {line!r} in {name!r}")
        if len(lines) * LINE > height:
            self.wrong(f"has too many lines in {name!r}")
        top = y + 17 if kind == "room" else y + (height - len(lines) * LINE) / 2 + 12
        for n, line in enumerate(lines):
            yield self.draw_text(x + width / 2, top + n * LINE, line, "middle")

    def draw_arrow(self, path, label="", look="solid", *at):
        points = []
        for place in path.split(">"):
            points.append(self.point(place, points[-1] if points else None))
            self.inside(path, *points[-1])
        dashes = ' stroke-dasharray="5 4"' if look == "dashed" else ""
        drawn = " ".join(f"{x:g},{y:g}" for x, y in points)
        yield f'<polyline class="arrow" points="{drawn}"{dashes}/>'
        heads = {"solid": [points[-2:]], "dashed": [points[-2:]], "plain": [],
                 "both": [points[-2:], points[1::-1]]}[look]
        for (x0, y0), (x, y) in heads:
            length = ((x - x0) ** 2 + (y - y0) ** 2) ** 0.5
            dx, dy = (x - x0) / length, (y - y0) / length
            corners = [(x, y), (x - 8 * dx + 4 * dy, y - 8 * dy - 4 * dx),
                       (x - 8 * dx - 4 * dy, y - 8 * dy + 4 * dx)]
            yield f'<polygon class="head" points="{" ".join(f"{a:.4g},{b:.4g}" for a, b in corners)}"/>'
        if not label:
            return
        (x0, y0), (x1, y1) = max(zip(points, points[1:]), key=lambda s: abs(s[0][0] - s[1][0]) + abs(s[0][1] - s[1][1]))
        lines = label.split("\n")
        if at:
            place, anchor = list(at), "start"
        elif abs(x1 - x0) >= abs(y1 - y0):
            place, anchor = [(x0 + x1) / 2, (y0 + y1) / 2 - 5 - 14 * (len(lines) - 1)], "middle"
        else:
            place, anchor = [(x0 + x1) / 2 + 6, (y0 + y1) / 2 + 4 - 7 * (len(lines) - 1)], "start"
        for n, line in enumerate(lines):
            yield self.draw_text(place[0], place[1] + 14 * n, line, anchor, label=True)

    def svg(self):
        parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
                 f'width="{self.width}" height="{self.height}" role="img" '
                 'font-family="Helvetica, Arial, \'DejaVu Sans\', sans-serif">',
                 f"<!-- Made by docs/pictures/draw.py from {self.path.name}: `make figures`. -->",
                 f"<title>{escape(self.title)}</title>", "<style>",
                 "  .arrow { fill: none; stroke-width: 1.3 }", "  rect { stroke-width: 1.3 }",
                 style(False), "@media (prefers-color-scheme: dark) {", style(True), "}", "</style>"]
        for name in self.boxes:
            parts += self.draw_box(name)
        for arrow in self.arrows:
            parts += self.draw_arrow(*arrow)
        for x, y, text, *anchor in self.texts:
            for n, line in enumerate(text.split("\n")):
                parts.append(self.draw_text(x, y + LINE * n, line, *anchor))
        return "\n".join([*parts, "</svg>", ""])


def main():
    import plots

    is_check = "--check" in sys.argv
    pictures = [Picture(path) for path in sorted(HERE.glob("*.toml"))]
    made = {picture.path.with_suffix(".svg"): picture.svg() for picture in pictures}
    made.update({HERE / name: svg for name, svg in plots.made().items()})
    faults = [fault for picture in pictures for fault in picture.faults]
    if faults:
        sys.exit("\n".join(faults))
    stale = [path for path, svg in made.items() if not path.is_file() or path.read_text() != svg]
    left = [path for path in HERE.glob("*.svg") if path not in made]
    if is_check and (stale or left):
        sys.exit("\n".join(f"{path.name} is not what it is made from: run `make figures`" for path in stale + left))
    for path in left:
        path.unlink()
    for path in stale:
        path.write_text(made[path])
        print(path.name)


if __name__ == "__main__":
    main()
