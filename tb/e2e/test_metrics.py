"""`--metrics`: names, values and format of the figures, and Debian's Prometheus and redis_exporter, which read them."""

import json
import re
import struct
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import pytest

from harness import reference, watch
from harness.filelist import ROOT

TOOLS = ROOT / "build" / "prometheus"

# What memcached_exporter tells of memcached 1.6.38 as it is started by default, without slabs' other classes. Of its series
# it leaves out those of extstore and of memcached's proxy, which are not in use there.
EXPORTER = set(
    """
accepting_connections commands_total connections_listener_disabled_total connections_rejected_total connections_total
connections_yielded_total current_bytes current_connections current_items direct_reclaims_total item_no_memory_total
item_too_large_total items_evicted_total items_reclaimed_total items_total limit_bytes lru_crawler_enabled
lru_crawler_hot_max_factor lru_crawler_hot_percent lru_crawler_items_checked_total lru_crawler_maintainer_thread
lru_crawler_moves_to_cold_total lru_crawler_moves_to_warm_total lru_crawler_moves_within_lru_total
lru_crawler_reclaimed_total lru_crawler_sleep lru_crawler_starts_total lru_crawler_to_crawl lru_crawler_warm_max_factor
lru_crawler_warm_percent malloced_bytes max_connections process_system_cpu_seconds_total process_user_cpu_seconds_total
read_bytes_total time_seconds up uptime_seconds version written_bytes_total
slab_chunk_size_bytes slab_chunks_free slab_chunks_free_end slab_chunks_per_page slab_chunks_used slab_cold_items
slab_commands_total slab_current_chunks slab_current_items slab_current_pages slab_hot_age_seconds slab_hot_items
slab_items_age_seconds slab_items_crawler_reclaimed_total slab_items_evicted_nonzero_total
slab_items_evicted_time_seconds slab_items_evicted_total slab_items_evicted_unfetched_total
slab_items_expired_unfetched_total slab_items_moves_to_cold slab_items_moves_to_warm slab_items_moves_within_lru
slab_items_outofmemory_total slab_items_reclaimed_total slab_items_tailrepairs_total slab_lru_hits_total
slab_mem_requested_bytes slab_warm_age_seconds slab_warm_items
    """.split()
)
#: What is not there, with the reason in docs/METRICS.md.
MISSING = {
    "soft": r"(slab_)?(items_)?(lru|moves|hot|warm|cold|temporary|direct|tailrepairs|crawler)_?.*"
            r"|slab_items_(age_seconds|evicted_(nonzero_total|time_seconds))",
    "sim": r"(slab_)?(items_)?(lru|moves|hot|warm|cold|temporary|direct|tailrepairs|crawler)_?.*"
           r"|slab_items_(age_seconds|evicted_(nonzero_total|time_seconds))"
           r"|slab_chunks_(used|free|free_end)|slab_mem_requested_bytes|current_bytes"
           r"|slab_items_(evicted|expired)_unfetched_total|(slab_)?items_reclaimed_total|connections_yielded_total",
}  # fmt: skip
#: What grafana's memcached-mixin asks for in its dashboard and its alert.
MIXIN = [
    'sum(rate(memcached_commands_total{command="get", status="hit"}[1m]))'
    ' / sum(rate(memcached_commands_total{command="get"}[1m]))',
    "sum without (job, instance) (rate(memcached_commands_total[1m]))",
    "sum without (job) (rate(memcached_items_evicted_total[1m]))",
    "sum without (job) (rate(memcached_items_total[1m]))",
    "sum without (job) (memcached_current_bytes)",
    "sum without (job) (memcached_current_items)",
    "sum without (job) (rate(memcached_connections_total[1m]))",
    "sum without (job) (rate(memcached_read_bytes_total[1m]))",
    "sum without (job) (rate(memcached_written_bytes_total[1m]))",
    "count by (job, instance, version) (memcached_version)",
    "max by (job, instance) (memcached_uptime_seconds)",
    "memcached_up == 1",
]


def fetch(url, method="GET"):
    """Status and text."""
    request = urllib.request.Request(url, method=method)
    try:
        with urllib.request.urlopen(request, timeout=reference.SECONDS) as reply:
            return reply.status, reply.read().decode(), reply.headers
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode(), e.headers


class Metered:
    """A server with `--metrics`, and its figures."""

    def __init__(self, body, *options):
        self.body, self.metrics, self.redis = body, reference.free_port(), reference.free_port()
        more = ["--metrics", f"127.0.0.1:{self.metrics}", "--redis-port", self.redis, *options]
        self.server = reference.wirekv(*more, body=body, megabytes=64)

    def url(self, path="/metrics"):
        return f"http://127.0.0.1:{self.metrics}{path}"

    def text(self):
        status, text, headers = fetch(self.url())
        assert status == 200 and headers["Content-Type"].startswith("text/plain; version=0.0.4")
        return text

    def figures(self):
        """Values by sample, and the kinds of the families."""
        kinds, values = {}, {}
        for line in self.text().splitlines():
            if m := re.fullmatch(r"# TYPE (\w+) (counter|gauge|histogram)", line):
                kinds[m[1]] = m[2]
            elif not line.startswith("# HELP "):
                sample, value = line.rsplit(" ", 1)
                assert sample not in values, sample
                values[sample] = float(value)
        return values, kinds

    def work(self):
        """A few requests of each protocol, with each outcome."""
        with self.server.connect() as s:
            reference.ask(s, b"set a 0 0 5\r\nhello\r\n", b"STORED\r\n")
            reference.ask(s, b"add a 0 0 1\r\nx\r\n", b"NOT_STORED\r\n")
            for _ in range(3):
                reference.ask(s, b"get a\r\n", b"END\r\n")
            reference.ask(s, b"get none\r\n", b"END\r\n")
            reference.ask(s, b"incr a 1\r\n", b"non-numeric value\r\n")
            reference.ask(s, b"cas a 0 0 1 1\r\ny\r\n", b"EXISTS\r\n")
            reference.ask(s, b"mg a v\r\n", b"hello\r\n")
            reference.ask(s, b"mg none v\r\n", b"EN\r\n")
        with self.server.connect() as s:
            s.sendall(struct.pack(">BBHBBHIIQ", 0x80, 0, 4, 0, 0, 0, 4, 0, 0) + b"none")
            assert s.recv(100)[6:8] == b"\0\1"
        with self.resp() as s:
            reference.ask(s, b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n", b"hello\r\n")
            reference.ask(s, b"*2\r\n$3\r\nGET\r\n$4\r\nnone\r\n", b"$-1\r\n")
            reference.ask(s, b"*1\r\n$7\r\nNOTHING\r\n", b"\r\n")

    def resp(self):
        return reference.socket.create_connection(("127.0.0.1", self.redis), timeout=reference.SECONDS)


@pytest.fixture(scope="module", params=["soft", "sim"])
def metered(request):
    metered = Metered(request.param)
    try:
        metered.work()
        # A thread tells its counters when it is through with its work.
        hits = 'memcached_commands_total{command="get",status="hit"}'
        watch.settle(lambda: metered.figures()[0][hits] >= 5, True)
        yield metered
    finally:
        code = metered.server.stop()
    assert code == 0, metered.server.tail()


def tool(name, *args, **more):
    if not (TOOLS / name).exists():
        raise FileNotFoundError(f"{TOOLS / name} is missing: run `make setup`")
    return [str(a) for a in (TOOLS / name, *args)]


def test_promtool_has_nothing_to_say(metered):
    text = metered.text()
    said = subprocess.run(tool("promtool", "check", "metrics"), input=text, text=True, capture_output=True)
    assert (said.returncode, said.stdout + said.stderr) == (0, "")
    # It would have.
    bad = text + "# TYPE memcached_bad counter\nmemcached_bad 1\n"
    said = subprocess.run(tool("promtool", "check", "metrics"), input=bad, text=True, capture_output=True)
    assert said.returncode != 0 and "memcached_bad" in said.stdout + said.stderr


def test_names_are_memcached_exporters(metered):
    found = {name[len("memcached_") :] for name in metered.figures()[1] if name.startswith("memcached_")}
    assert found <= EXPORTER
    missing = EXPORTER - found
    assert missing == {name for name in EXPORTER if re.fullmatch(MISSING[metered.body], name)}


def test_values_are_those_of_stats(metered):
    stats = reference.stats(metered.server)
    samples = {
        "memcached_limit_bytes": "limit_maxbytes",
        "memcached_max_connections": "max_connections",
        "memcached_current_items": "curr_items",
        "memcached_items_total": "total_items",
        'memcached_commands_total{command="get",status="hit"}': "get_hits",
        'memcached_commands_total{command="get",status="miss"}': "get_misses",
        'memcached_commands_total{command="cas",status="badval"}': "cas_badval",
    }
    wanted = {sample: float(stats[name]) for sample, name in samples.items()}
    wanted['memcached_commands_total{command="set",status="hit"}'] = float(stats["cmd_set"]) - 1
    read = lambda: {sample: metered.figures()[0][sample] for sample in wanted}  # noqa: E731
    assert watch.settle(read, wanted) == wanted
    assert metered.figures()[0][f'memcached_version{{version="{stats["version"]}"}}'] == 1


def test_counters_do_not_notice_a_reset(metered):
    metered.work()
    before, kinds = metered.figures()
    with metered.server.connect() as s:
        reference.ask(s, b"stats reset\r\n", b"RESET\r\n")
    assert reference.stats(metered.server)["get_hits"] == "0"
    with metered.resp() as s:
        reference.ask(s, b"*2\r\n$6\r\nCONFIG\r\n$9\r\nRESETSTAT\r\n", b"+OK\r\n")
    with metered.server.connect() as s:
        reference.ask(s, b"get a\r\n", b"END\r\n")
    hits = 'memcached_commands_total{command="get",status="hit"}'
    assert watch.settle(lambda: metered.figures()[0][hits] > before[hits], True)
    after, _ = metered.figures()
    family = lambda sample: re.sub(r"(_bucket|_sum|_count)?(\{.*)?$", "", sample)  # noqa: E731
    counts = [s for s in before if kinds.get(s.split("{")[0]) == "counter" or kinds.get(family(s)) == "histogram"]
    assert len(counts) > 50
    assert not [s for s in counts if after[s] < before[s]]


def test_http(metered):
    assert fetch(metered.url("/healthz"))[:2] == (200, "ok\n")
    for path in ("/bogus", "/page.html", "/metrics/", "/metrics.html", "//metrics"):
        assert fetch(metered.url(path))[0] == 404, path
    assert fetch(metered.url("/metrics?x=1"))[0] == 200
    status, text, headers = fetch(metered.url(), "HEAD")
    assert (status, text) == (200, "") and int(headers["Content-Length"]) > 1000
    for method in ("POST", "PUT", "DELETE"):
        status, _, headers = fetch(metered.url(), method)
        assert status == 405 and headers["Allow"] == "GET, HEAD"
    with reference.socket.create_connection(("127.0.0.1", metered.metrics), timeout=reference.SECONDS) as s:
        s.sendall(b"nonsense\r\n\r\n")
        assert s.recv(100).startswith(b"HTTP/1.1 400 ")
    # Figures are asked for from other threads; meanwhile a client may have shut down its sending half.
    for _ in range(20):
        with reference.socket.create_connection(("127.0.0.1", metered.metrics), timeout=reference.SECONDS) as s:
            s.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            s.shutdown(reference.socket.SHUT_WR)
            assert s.recv(100).startswith(b"HTTP/1.0 200 ")


def test_process_and_build(metered):
    values, _ = metered.figures()
    build = [sample for sample in values if sample.startswith("wirekv_build_info{")]
    assert len(build) == 1 and f'body="{metered.body}"' in build[0] and 'version="' in build[0]
    pid = metered.server.process.pid
    with open(f"/proc/{pid}/statm") as f:
        pages = int(f.read().split()[1])
    assert values["process_resident_memory_bytes"] == pytest.approx(4096 * pages, rel=0.2)
    assert values["process_start_time_seconds"] == pytest.approx(values["memcached_time_seconds"], abs=600)
    assert values["process_cpu_seconds_total"] > 0 and values["process_max_fds"] > 0


def test_latencies():
    """Few requests are all timed: the counts are exact."""
    metered = Metered("soft")
    try:
        metered.work()
        name = "wirekv_request_duration_seconds"
        wanted = {
            ("text", "set", "ok"): 1,
            ("text", "add", "not_stored"): 1,
            ("text", "get", "hit"): 3,
            ("text", "get", "miss"): 1,
            ("text", "incr", "error"): 1,
            ("text", "cas", "badval"): 1,
            ("meta", "mg", "hit"): 1,
            ("meta", "mg", "miss"): 1,
            ("binary", "get", "miss"): 1,
            ("resp", "get", "hit"): 1,
            ("resp", "get", "miss"): 1,
            ("resp", "other", "error"): 1,
        }
        labels = 'protocol="{}",command="{}",status="{}"'
        wanted = {labels.format(*label): count for label, count in wanted.items()}

        def counts():
            values, _ = metered.figures()
            return {s[len(name) + 7 : -1]: n for s, n in values.items() if s.startswith(f"{name}_count{{")}

        assert watch.settle(counts, wanted) == wanted
        values, _ = metered.figures()
        for label, count in wanted.items():
            buckets = [n for s, n in values.items() if s.startswith(f"{name}_bucket{{{label},")]
            assert buckets == sorted(buckets) and buckets[-1] == count and buckets[0] == 0
            assert 0 < values[f"{name}_sum{{{label}}}"] < 10
    finally:
        metered.server.stop()


def test_card_counters(metered):
    """Each of docs/COUNTERS.md, once."""
    if metered.body != "sim":
        pytest.skip("the software body is no card")
    values, _ = metered.figures()
    table = re.findall(r"^\| 0x\w+ \| `(\w+)` \| (.*) \|$", (ROOT / "docs" / "COUNTERS.md").read_text(), re.M)
    names = set()
    for name, what in table:
        if what.startswith("dropped"):
            names.add(f'wirekv_card_dropped_total{{cause="{name}"}}')
        elif what.startswith("clocks in which"):
            names.add(f'wirekv_card_wait_clocks_total{{stage="{name}"}}')
        else:
            names.add("wirekv_card" + re.sub("[A-Z]", lambda m: "_" + m[0].lower(), name) + "_total")
    more = {"wirekv_card_clocks_total", "wirekv_card_busy_seconds_total"}
    assert {s for s in values if s.startswith("wirekv_card_")} == names | more
    card = reference.stats(metered.server, "card")
    assert values["wirekv_card_store_get_hits_total"] == float(card["StoreGetHits"]) > 0
    assert values['wirekv_card_wait_clocks_total{stage="IngressWaitBytes"}'] > 0
    ways, items = values["wirekv_index_ways"], values["wirekv_index_entries"]
    assert 0 < items < ways and values["wirekv_log_bytes"] + values["wirekv_index_bytes"] <= 64 << 20


def test_prometheus_scrapes(metered, tmp_path):
    port = reference.free_port()
    config = {
        "global": {"scrape_interval": "1s"},
        "scrape_configs": [{"job_name": "wirekv", "static_configs": [{"targets": [f"127.0.0.1:{metered.metrics}"]}]}],
    }
    (tmp_path / "prometheus.yml").write_text(json.dumps(config))  # JSON is YAML
    argv = tool("prometheus", f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/data",
                f"--web.listen-address=127.0.0.1:{port}")  # fmt: skip

    def query(text):
        url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": text})
        return json.loads(fetch(url)[1])["data"]["result"]

    prometheus = reference.Server("prometheus", argv)
    try:
        prometheus.wait_until(lambda: reference.accepts(port))
        prometheus.wait_until(lambda: fetch(f"http://127.0.0.1:{port}/-/ready")[0] == 200)
        watch.settle(lambda: bool(query("count_over_time(up[1m]) >= 3")), True)
        assert query("up")[0]["value"][1] == "1"
        metered.work()
        missing = re.compile(f"memcached_({MISSING[metered.body]})")
        for text in MIXIN:
            names = re.findall(r"memcached_\w+", text)
            wanted = not any(missing.fullmatch(name) for name in names)
            assert watch.settle(lambda text=text: bool(query(text)), wanted) == wanted, text
        if metered.body == "soft":
            quantile = "histogram_quantile(0.99, sum by (le) (wirekv_request_duration_seconds_bucket))"
            assert 0 < float(query(quantile)[0]["value"][1]) < 10
    finally:
        prometheus.stop()


def test_redis_exporter_scrapes(metered):
    port = reference.free_port()
    argv = tool("prometheus-redis-exporter", "-redis.addr", f"redis://127.0.0.1:{metered.redis}",
                "-web.listen-address", f"127.0.0.1:{port}")  # fmt: skip
    exporter = reference.Server("exporter", argv)
    try:
        exporter.wait_until(lambda: reference.accepts(port))
        text = fetch(f"http://127.0.0.1:{port}/metrics")[1]
        for line in ("redis_up 1", r"redis_connected_clients \d+", r'redis_instance_info{.*redis_version="7\.0\..*} 1',
                     r"redis_memory_max_bytes .*", r"redis_uptime_in_seconds \d+"):  # fmt: skip
            assert re.search(f"^{line}$", text, re.M), line
        assert len(re.findall("^# TYPE redis_", text, re.M)) > 60
    finally:
        exporter.stop()
