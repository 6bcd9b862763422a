"""Requests of the binary protocol as bytes, right and wrong ones."""


def packet(op, key=b"", extras=b"", value=b"", opaque=b"\0\0\0\0", cas=b"\0" * 8, **wrong):
    """A request's parts; `cas` may be a `stream.Cas`. `wrong`: fields of the header that say something else."""
    n = {"magic": 0x80, "key_len": len(key), "extras_len": len(extras),
         "body": len(key) + len(extras) + len(value), "type": 0, "reserved": 0} | wrong  # fmt: skip
    head = bytes([n["magic"], op]) + n["key_len"].to_bytes(2, "big")
    head += bytes([n["extras_len"], n["type"]]) + n["reserved"].to_bytes(2, "big")
    head += n["body"].to_bytes(4, "big") + opaque
    return [head, cas, extras + key + value]


def whole(*fields, **more):
    """A request's bytes."""
    return b"".join(packet(*fields, **more))


def closes(packet, key):
    """What ends a connection, each made by `packet`; memcached waits for no more bytes of any."""
    return [
        packet(0x00), packet(0x00, key, b"1234"), packet(0x00, key, b"", b"x"), packet(0x01, key, b"1234"),
        packet(0x01, b"", bytes(8), b"x"), packet(0x00, b"l" * 251), packet(0x01, b"l" * 251, bytes(8), b"x"),
        packet(0x00, b"abc", body=1), packet(0x01, key, bytes(8), body=4), packet(0x04, key, b"1234"),
        packet(0x05, key, bytes(16)), packet(0x05, key, bytes(20), b"x"), packet(0x08, b"k"), packet(0x08, b"", bytes(3)),
        packet(0x0A, b"k"), packet(0x0B, b"k"), packet(0x0E, key, b"1234", b"x"), packet(0x1C, key),
        packet(0x1C, b"", bytes(4)), packet(0x1D, key, bytes(5)), packet(0x07), packet(0x17), packet(0x07, b"k"),
        packet(0x20, b"k"), packet(0x21), packet(0x21, b"k", b"x")]  # fmt: skip


def closes_after_all(packet, key):
    """The same of what memcached, wrong or not, wants more bytes of: as many as the header has extras and key."""
    return [packet(0x00, key, key_len=256 + len(key)), packet(0x55, b"l" * 251), packet(0x55, body=0, extras_len=1),
            packet(0x0A, magic=0x81), packet(0x0A, magic=0)]  # fmt: skip


#: What closes it, behind packets, is text.
TEXT = [b"get a\r\n" + bytes(24), b"set a 0 0 1\r\nx\r\n" + bytes(24)]
