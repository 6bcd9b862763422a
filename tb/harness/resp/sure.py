"""What a stream is to have met, whatever its seed: one command of each name that is done, not refused."""

from harness.resp import generate
from harness.resp.wire import request

# In this order, each is done in an empty database and in any other.
DONE = [line.split() for line in b"""
    SET sure 1
    GET sure
    SETNX sure 1
    SETEX sure 100000 1
    PSETEX sure 100000000 1
    GETSET sure 1
    GETEX sure PERSIST
    MGET sure sure:none
    MSET sure 1 sure:2 2
    MSETNX sure 1 sure:3 3
    STRLEN sure
    GETRANGE sure 0 -1
    SUBSTR sure 0 -1
    INCR sure
    DECR sure
    INCRBY sure 5
    DECRBY sure 5
    INCRBYFLOAT sure 1
    EXPIRE sure 100000
    PEXPIRE sure 100000000
    EXPIREAT sure 4000000000
    PEXPIREAT sure 4000000000000
    TTL sure
    PTTL sure
    EXPIRETIME sure
    PEXPIRETIME sure
    PERSIST sure
    TYPE sure
    TOUCH sure
    EXISTS sure
    OBJECT ENCODING sure
    MEMORY USAGE sure
    APPEND sure x
    SETRANGE sure 3 text
    SETBIT sure 9 1
    GETBIT sure 9
    BITCOUNT sure
    BITPOS sure 1
    BITOP NOT sure:not sure
    BITFIELD sure GET u8 0
    BITFIELD_RO sure GET u8 0
    LCS sure sure:not
    SET sure text
    RENAME sure sure:moved
    SET sure text
    RENAMENX sure sure:moved
    COPY sure sure:copy
    MOVE sure 1
    DEL sure
    SET sure text
    UNLINK sure
    GETDEL sure
    KEYS nothing*
    SCAN 0 COUNT 10
    RANDOMKEY
    DBSIZE
    WATCH sure
    UNWATCH
    MULTI
    EXEC
    MULTI
    DISCARD
    PING
    ECHO sure
    HELLO
    CLIENT ID
    COMMAND COUNT
    CONFIG GET no-such-thing
    INFO server
    LATENCY LATEST
    SLOWLOG LEN
    WAIT 0 0
    TIME
    LOLWUT
    SWAPDB 0 1
    SELECT 0
    FLUSHDB
    FLUSHALL
""".splitlines() if line.strip()]
# What these need before them.
NEEDS = {b"RENAME": [b"SET"], b"EXEC": [b"MULTI"], b"DISCARD": [b"MULTI"]}

# Each is refused, whatever is there.
REFUSED = [line.split() for line in b"""
    SET sure 1 EX 0
    SETEX sure 0 1
    GETEX sure EX 0
    EXPIRE sure x
    SELECT 16
    AUTH wrong
    GET
""".splitlines() if line.strip()]


def burst(connection, done, refused=()):
    """On a connection of its own, for what others have queued or chosen there is not known."""
    needed = {*done, *(need for name in done for need in NEEDS.get(name, ()))}
    lines = [words for words in DONE if words[0] in needed] + [words for words in REFUSED if words[0] in refused]
    missing = {*done, *refused} - {words[0] for words in lines}
    assert not missing, missing
    return generate.Burst(connection, [generate.Command(request(*words), loose=generate.loose(words), name=words[0]) for words in lines])
