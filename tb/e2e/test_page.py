"""The page of `--metrics` in a headless Chromium, as an operator sees it, of both bodies under load."""

import re
import threading
import urllib.request
from pathlib import Path

import pytest

from harness import reference

webdriver = pytest.importorskip("selenium.webdriver", reason="no Selenium: make test-page")
from selenium.common.exceptions import TimeoutException  # noqa: E402
from selenium.webdriver.support.wait import WebDriverWait  # noqa: E402

DRIVER = "/usr/bin/chromedriver"
SHOTS = Path(__file__).resolve().parents[2] / "build" / "e2e" / "page"
#: Tiles that tell what the load does, on either body.
RATES = ("requests a second", "of GETs are hits")


class Load:
    """A client that goes on until it is told: of four GETs three hit."""

    def __init__(self, server):
        self.client, self.over = server.connect(), threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        n = 0
        while not self.over.is_set():
            n += 1
            reference.ask(self.client, b"set key%d 0 0 5\r\nvalue\r\n" % (n % 100), b"STORED\r\n")
            for key in (b"key%d" % (n % 100), b"key%d" % (n % 7), b"key1", b"absent"):
                reference.ask(self.client, b"get %s\r\n" % key, b"END\r\n")

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        self.client.close()


@pytest.fixture(params=["soft", "sim"])
def page(request):
    """A server under load: its body, and where its page is."""
    port = reference.free_port()
    with reference.wirekv("--metrics", f"127.0.0.1:{port}", body=request.param, megabytes=64, connections=64) as server:
        with Load(server):
            yield request.param, f"http://127.0.0.1:{port}/"


@pytest.fixture
def browser():
    """Makes a browser with a window of a width, light or dark."""
    if not Path(DRIVER).exists():
        pytest.skip("no Chromium: make test-page")
    running = []

    def make(width, scheme):
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        running.append(chromium := webdriver.Chrome(options, webdriver.ChromeService(DRIVER)))
        resize(chromium, width, 1400)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        return chromium

    yield make
    for chromium in running:
        chromium.quit()


def resize(chromium, width, height):
    """A screen that is emulated, since a window has a least width."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 800}
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def tiles(chromium):
    """What the page tells, by the names of the tiles."""
    return chromium.execute_script("""
        return Object.fromEntries([...document.querySelectorAll(".tile:not([hidden])")].map(
            tile => [tile.querySelector(".key").textContent, tile.querySelector("b").textContent]))""")


def text(chromium, selector):
    return chromium.execute_script("return document.querySelector(arguments[0]).textContent", selector)


def paths(chromium):
    """How many points each line of a chart has."""
    drawn = chromium.execute_script(
        "return [...document.querySelectorAll('#charts .panel:not([hidden]) path')].map(p => p.getAttribute('d') ?? '')")
    return [d.count("L") for d in drawn]


def number(told):
    """`1.23 k` as 1230."""
    value, unit = re.fullmatch(r"([\d.e+-]+) ?([kMG%]?)B?", told).groups()
    return float(value) * {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "%": .01}[unit]


@pytest.mark.parametrize("width, scheme", [(400, "light"), (400, "dark"), (1600, "light"), (1600, "dark")])
def test_page(page, browser, width, scheme):
    body, address = page
    chromium = browser(width, scheme)
    chromium.get(address)
    wait = WebDriverWait(chromium, 60)
    wait.until(lambda c: all(tiles(c).get(name, "–") != "–" for name in RATES))
    wait.until(lambda c: number(tiles(c)["requests a second"]) > 0)
    # All keys are stored from some turn on: then three of four GETs hit.
    wait.until(lambda c: 90 <= number(tiles(c)["items"]) <= 110)
    wait.until(lambda c: .7 < number(tiles(c)["of GETs are hits"]) < .8)
    assert text(chromium, "#state") == "live" and body in text(chromium, "#about")
    is_card = body == "sim"
    assert chromium.execute_script("return document.getElementById('card').hidden") != is_card
    if is_card:
        stages = chromium.execute_script("return [...document.querySelectorAll('#pipe li b')].map(l => l.textContent)")
        assert stages == ["net", "tcp", "conn", "parse", "store", "reply", "tcp", "net"]
        store = "#pipe li:nth-child(5)"
        wait.until(lambda c: float(re.search(r"([\d.]+) operations a clock", text(c, store))[1]) > 0)
    else:
        wait.until(lambda c: tiles(c)["median latency"] != "–")
        # Of each turn one request is for this key, and one of the seven others' on average a seventh more.
        wait.until(lambda c: text(c, "#keys tr:nth-child(2) th") in ("key1", "absent"))
    ground = chromium.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", ground)[:3])) < 200) == (scheme == "dark"), ground
    # Nothing sticks out, and nothing was asked of anybody else.
    assert chromium.execute_script("return document.documentElement.scrollWidth") <= width
    asked = chromium.execute_script("return performance.getEntriesByType('resource').map(e => e.name)")
    assert asked and all(url.startswith(address) for url in asked), asked
    assert [e for e in chromium.get_log("browser") if "favicon" not in e["message"]] == []
    # Charts are drawn; for the picture in the documents, some seconds of them.
    wait.until(lambda c: max(paths(c)) > 1)
    try:
        WebDriverWait(chromium, 20).until(lambda c: max(paths(c)) > 14)
    except TimeoutException:
        pass
    SHOTS.mkdir(parents=True, exist_ok=True)
    bottom = chromium.execute_script("return document.querySelector('main').getBoundingClientRect().bottom")
    resize(chromium, width, int(bottom) + 16)
    assert chromium.save_screenshot(str(SHOTS / f"{body}-{width}-{scheme}.png"))


def test_a_server_that_ends_is_told(browser):
    port = reference.free_port()
    chromium = browser(800, "light")
    wait = WebDriverWait(chromium, 60)
    with reference.soft("--metrics", f"127.0.0.1:{port}"):
        chromium.get(f"http://127.0.0.1:{port}/")
        wait.until(lambda c: text(c, "#state") == "live")
    wait.until(lambda c: text(c, "#state").startswith("no figures"))
    # Another one takes its place, and what it has counted is no difference to the one before.
    with reference.soft("--metrics", f"127.0.0.1:{port}"):
        wait.until(lambda c: text(c, "#state") == "live")


def test_only_this_server_may_use_it():
    """Who puts it into a frame or asks from another site gets nothing from a browser."""
    port = reference.free_port()
    with reference.soft("--metrics", f"127.0.0.1:{port}"):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=reference.SECONDS) as reply:
            policy = reply.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
            assert "Access-Control-Allow-Origin" not in reply.headers
            assert reply.headers["Content-Type"].startswith("text/html")
            page = reply.read().decode()
    # No address but its own figures'.
    assert re.findall(r"""(?:src|href)=|https?://(?!www\.w3\.org/)""", page) == []
