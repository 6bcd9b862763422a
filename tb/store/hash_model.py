"""The store's hash (rtl/store/index/hash.sv) in Python. Run as a program it prints hash_vectors.json."""

import json
import random

M64 = (1 << 64) - 1


def hash64(key, nh, mix):
    """Hash of `key` (bytes, up to 256) with 32 NH words and two odd 64-bit multipliers."""
    sums = [0, 0]
    for n in range(max(1, -(-len(key) // 64))):
        beat = key[64 * n : 64 * n + 64].ljust(64, b"\0")
        m = [int.from_bytes(beat[4 * i : 4 * i + 4], "little") for i in range(16)]
        k = nh[16:] if n % 2 else nh[:16]
        a = [(m[i] + k[i]) & 0xFFFFFFFF for i in range(16)]
        sums[n // 2] += sum(a[i] * a[i + 8] for i in range(8))
    h = (sums[0] + len(key)) & M64
    h ^= h >> 32
    h = (h * mix[0] + sums[1]) & M64
    h ^= h >> 29
    h = h * mix[1] & M64
    return h ^ h >> 32


def keys(rng):
    nh = [rng.getrandbits(32) for _ in range(32)]
    mix = [rng.getrandbits(64) | 1 for _ in range(2)]
    return nh, mix


if __name__ == "__main__":
    rng = random.Random(1)
    nh, mix = keys(rng)
    lengths = [1, 2, 3, 4, 5, 6, 8, 16, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 191, 192, 193,
               249, 250]
    vectors = [rng.randbytes(n) for n in lengths]
    print(json.dumps({
        "nh": [f"{k:08x}" for k in nh],
        "mix": [f"{k:016x}" for k in mix],
        "vectors": [{"key": v.hex(), "hash": f"{hash64(v, nh, mix):016x}"} for v in vectors],
    }, indent=1))
