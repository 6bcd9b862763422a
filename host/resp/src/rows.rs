// Made by spec/gen.py from spec/commands.toml: `make spec`.

use super::table::{flag::*, Keys, Row};

/// What COMMAND tells, in its order.
pub const FLAGS: &[(u32, &str)] = &[
    (WRITE, "write"),
    (READONLY, "readonly"),
    (DENYOOM, "denyoom"),
    (ADMIN, "admin"),
    (NOSCRIPT, "noscript"),
    (BLOCKING, "blocking"),
    (LOADING, "loading"),
    (STALE, "stale"),
    (SKIP_MONITOR, "skip_monitor"),
    (SKIP_SLOWLOG, "skip_slowlog"),
    (FAST, "fast"),
    (NO_AUTH, "no_auth"),
    (MAY_REPLICATE, "may_replicate"),
    (NO_MANDATORY_KEYS, "no_mandatory_keys"),
    (NO_ASYNC_LOADING, "no_async_loading"),
    (NO_MULTI, "no_multi"),
    (MOVABLEKEYS, "movablekeys"),
    (ALLOW_BUSY, "allow_busy"),
];

// Strings and bits.
pub const GET: Row = Row {
    name: "get",
    arity: 2,
    flags: READONLY | FAST,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const MGET: Row = Row {
    name: "mget",
    arity: -2,
    flags: READONLY | FAST,
    keys: Keys { first: 1, last: -1, step: 1 },
};
pub const STRLEN: Row = Row {
    name: "strlen",
    arity: 2,
    flags: READONLY | FAST,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const GETEX: Row = Row {
    name: "getex",
    arity: -2,
    flags: WRITE | FAST,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const SET: Row = Row {
    name: "set",
    arity: -3,
    flags: WRITE | DENYOOM,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const MSET: Row = Row {
    name: "mset",
    arity: -3,
    flags: WRITE | DENYOOM,
    keys: Keys { first: 1, last: -1, step: 2 },
};
pub const SETEX: Row = Row {
    name: "setex",
    arity: 4,
    flags: WRITE | DENYOOM,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const PSETEX: Row = Row {
    name: "psetex",
    arity: 4,
    flags: WRITE | DENYOOM,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const GETSET: Row = Row {
    name: "getset",
    arity: 3,
    flags: WRITE | DENYOOM | FAST,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const SETNX: Row = Row {
    name: "setnx",
    arity: 3,
    flags: WRITE | DENYOOM | FAST,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const MSETNX: Row = Row {
    name: "msetnx",
    arity: -3,
    flags: WRITE | DENYOOM,
    keys: Keys { first: 1, last: -1, step: 2 },
};
pub const APPEND: Row = Row {
    name: "append",
    arity: 3,
    flags: WRITE | DENYOOM | FAST,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const GETDEL: Row = Row {
    name: "getdel",
    arity: 2,
    flags: WRITE | FAST,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const INCR: Row = Row {
    name: "incr",
    arity: 2,
    flags: WRITE | DENYOOM | FAST,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const DECR: Row = Row {
    name: "decr",
    arity: 2,
    flags: WRITE | DENYOOM | FAST,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const INCRBY: Row = Row {
    name: "incrby",
    arity: 3,
    flags: WRITE | DENYOOM | FAST,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const DECRBY: Row = Row {
    name: "decrby",
    arity: 3,
    flags: WRITE | DENYOOM | FAST,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const BITCOUNT: Row = Row {
    name: "bitcount",
    arity: -2,
    flags: READONLY,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const BITFIELD: Row = Row {
    name: "bitfield",
    arity: -2,
    flags: WRITE | DENYOOM,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const BITFIELD_RO: Row = Row {
    name: "bitfield_ro",
    arity: -2,
    flags: READONLY | FAST,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const BITOP: Row = Row {
    name: "bitop",
    arity: -4,
    flags: WRITE | DENYOOM,
    keys: Keys { first: 2, last: -1, step: 1 },
};
pub const BITPOS: Row = Row {
    name: "bitpos",
    arity: -3,
    flags: READONLY,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const GETBIT: Row = Row {
    name: "getbit",
    arity: 3,
    flags: READONLY | FAST,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const GETRANGE: Row = Row {
    name: "getrange",
    arity: 4,
    flags: READONLY,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const INCRBYFLOAT: Row = Row {
    name: "incrbyfloat",
    arity: 3,
    flags: WRITE | DENYOOM | FAST,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const LCS: Row = Row {
    name: "lcs",
    arity: -3,
    flags: READONLY,
    keys: Keys { first: 1, last: 2, step: 1 },
};
pub const SETBIT: Row = Row {
    name: "setbit",
    arity: 4,
    flags: WRITE | DENYOOM,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const SETRANGE: Row = Row {
    name: "setrange",
    arity: 4,
    flags: WRITE | DENYOOM,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const SUBSTR: Row = Row {
    name: "substr",
    arity: 4,
    flags: READONLY,
    keys: Keys { first: 1, last: 1, step: 1 },
};

// Keys.
pub const EXISTS: Row = Row {
    name: "exists",
    arity: -2,
    flags: READONLY | FAST,
    keys: Keys { first: 1, last: -1, step: 1 },
};
pub const TOUCH: Row = Row {
    name: "touch",
    arity: -2,
    flags: READONLY | FAST,
    keys: Keys { first: 1, last: -1, step: 1 },
};
pub const TYPE: Row = Row {
    name: "type",
    arity: 2,
    flags: READONLY | FAST,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const TTL: Row = Row {
    name: "ttl",
    arity: 2,
    flags: READONLY | FAST,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const PTTL: Row = Row {
    name: "pttl",
    arity: 2,
    flags: READONLY | FAST,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const EXPIRETIME: Row = Row {
    name: "expiretime",
    arity: 2,
    flags: READONLY | FAST,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const PEXPIRETIME: Row = Row {
    name: "pexpiretime",
    arity: 2,
    flags: READONLY | FAST,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const DEL: Row = Row {
    name: "del",
    arity: -2,
    flags: WRITE,
    keys: Keys { first: 1, last: -1, step: 1 },
};
pub const UNLINK: Row = Row {
    name: "unlink",
    arity: -2,
    flags: WRITE | FAST,
    keys: Keys { first: 1, last: -1, step: 1 },
};
pub const EXPIRE: Row = Row {
    name: "expire",
    arity: -3,
    flags: WRITE | FAST,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const PEXPIRE: Row = Row {
    name: "pexpire",
    arity: -3,
    flags: WRITE | FAST,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const EXPIREAT: Row = Row {
    name: "expireat",
    arity: -3,
    flags: WRITE | FAST,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const PEXPIREAT: Row = Row {
    name: "pexpireat",
    arity: -3,
    flags: WRITE | FAST,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const PERSIST: Row = Row {
    name: "persist",
    arity: 2,
    flags: WRITE | FAST,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const FLUSHALL: Row = Row {
    name: "flushall",
    arity: -1,
    flags: WRITE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const FLUSHDB: Row = Row {
    name: "flushdb",
    arity: -1,
    flags: WRITE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const COPY: Row = Row {
    name: "copy",
    arity: -3,
    flags: WRITE | DENYOOM,
    keys: Keys { first: 1, last: 2, step: 1 },
};
pub const DBSIZE: Row = Row {
    name: "dbsize",
    arity: 1,
    flags: READONLY | FAST,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const KEYS: Row = Row {
    name: "keys",
    arity: 2,
    flags: READONLY,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const MOVE: Row = Row {
    name: "move",
    arity: 3,
    flags: WRITE | FAST,
    keys: Keys { first: 1, last: 1, step: 1 },
};
pub const OBJECT: Row = Row {
    name: "object",
    arity: -2,
    flags: 0,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const OBJECT_ENCODING: Row = Row {
    name: "encoding",
    arity: 3,
    flags: READONLY,
    keys: Keys { first: 2, last: 2, step: 1 },
};
pub const OBJECT_FREQ: Row = Row {
    name: "freq",
    arity: 3,
    flags: READONLY,
    keys: Keys { first: 2, last: 2, step: 1 },
};
pub const OBJECT_HELP: Row = Row {
    name: "help",
    arity: 2,
    flags: LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const OBJECT_IDLETIME: Row = Row {
    name: "idletime",
    arity: 3,
    flags: READONLY,
    keys: Keys { first: 2, last: 2, step: 1 },
};
pub const OBJECT_REFCOUNT: Row = Row {
    name: "refcount",
    arity: 3,
    flags: READONLY,
    keys: Keys { first: 2, last: 2, step: 1 },
};
pub const RANDOMKEY: Row = Row {
    name: "randomkey",
    arity: 1,
    flags: READONLY,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const RENAME: Row = Row {
    name: "rename",
    arity: 3,
    flags: WRITE,
    keys: Keys { first: 1, last: 2, step: 1 },
};
pub const RENAMENX: Row = Row {
    name: "renamenx",
    arity: 3,
    flags: WRITE | FAST,
    keys: Keys { first: 1, last: 2, step: 1 },
};
pub const SCAN: Row = Row {
    name: "scan",
    arity: -2,
    flags: READONLY,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const SWAPDB: Row = Row {
    name: "swapdb",
    arity: 3,
    flags: WRITE | FAST,
    keys: Keys { first: 0, last: 0, step: 0 },
};

// Transactions.
pub const DISCARD: Row = Row {
    name: "discard",
    arity: 1,
    flags: NOSCRIPT | LOADING | STALE | FAST | ALLOW_BUSY | AT_ONCE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const EXEC: Row = Row {
    name: "exec",
    arity: 1,
    flags: NOSCRIPT | LOADING | STALE | SKIP_SLOWLOG | AT_ONCE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const MULTI: Row = Row {
    name: "multi",
    arity: 1,
    flags: NOSCRIPT | LOADING | STALE | FAST | ALLOW_BUSY | AT_ONCE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const UNWATCH: Row = Row {
    name: "unwatch",
    arity: 1,
    flags: NOSCRIPT | LOADING | STALE | FAST | ALLOW_BUSY,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const WATCH: Row = Row {
    name: "watch",
    arity: -2,
    flags: NOSCRIPT | LOADING | STALE | FAST | ALLOW_BUSY | AT_ONCE,
    keys: Keys { first: 1, last: -1, step: 1 },
};

// Connection.
pub const SELECT: Row = Row {
    name: "select",
    arity: 2,
    flags: LOADING | STALE | FAST,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const PING: Row = Row {
    name: "ping",
    arity: -1,
    flags: FAST,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const RESET: Row = Row {
    name: "reset",
    arity: 1,
    flags: NOSCRIPT | LOADING | STALE | FAST | NO_AUTH | ALLOW_BUSY | AT_ONCE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const AUTH: Row = Row {
    name: "auth",
    arity: -2,
    flags: NOSCRIPT | LOADING | STALE | FAST | NO_AUTH | ALLOW_BUSY,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const CLIENT: Row = Row {
    name: "client",
    arity: -2,
    flags: 0,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const CLIENT_GETNAME: Row = Row {
    name: "getname",
    arity: 2,
    flags: NOSCRIPT | LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const CLIENT_HELP: Row = Row {
    name: "help",
    arity: 2,
    flags: LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const CLIENT_ID: Row = Row {
    name: "id",
    arity: 2,
    flags: NOSCRIPT | LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const CLIENT_INFO: Row = Row {
    name: "info",
    arity: 2,
    flags: NOSCRIPT | LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const CLIENT_KILL: Row = Row {
    name: "kill",
    arity: -3,
    flags: ADMIN | NOSCRIPT | LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const CLIENT_LIST: Row = Row {
    name: "list",
    arity: -2,
    flags: ADMIN | NOSCRIPT | LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const CLIENT_NO_EVICT: Row = Row {
    name: "no-evict",
    arity: 3,
    flags: ADMIN | NOSCRIPT | LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const CLIENT_NO_TOUCH: Row = Row {
    name: "no-touch",
    arity: 3,
    flags: NOSCRIPT | LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const CLIENT_PAUSE: Row = Row {
    name: "pause",
    arity: -3,
    flags: ADMIN | NOSCRIPT | LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const CLIENT_REPLY: Row = Row {
    name: "reply",
    arity: 3,
    flags: NOSCRIPT | LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const CLIENT_SETINFO: Row = Row {
    name: "setinfo",
    arity: 4,
    flags: NOSCRIPT | LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const CLIENT_SETNAME: Row = Row {
    name: "setname",
    arity: 3,
    flags: NOSCRIPT | LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const CLIENT_UNPAUSE: Row = Row {
    name: "unpause",
    arity: 2,
    flags: ADMIN | NOSCRIPT | LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const ECHO: Row = Row {
    name: "echo",
    arity: 2,
    flags: LOADING | STALE | FAST,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const HELLO: Row = Row {
    name: "hello",
    arity: -1,
    flags: NOSCRIPT | LOADING | STALE | FAST | NO_AUTH | ALLOW_BUSY,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const QUIT: Row = Row {
    name: "quit",
    arity: -1,
    flags: NOSCRIPT | LOADING | STALE | FAST | NO_AUTH | ALLOW_BUSY | AT_ONCE,
    keys: Keys { first: 0, last: 0, step: 0 },
};

// Server.
pub const COMMAND: Row = Row {
    name: "command",
    arity: -1,
    flags: LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const COMMAND_COUNT: Row = Row {
    name: "count",
    arity: 2,
    flags: LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const COMMAND_DOCS: Row = Row {
    name: "docs",
    arity: -2,
    flags: LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const COMMAND_GETKEYS: Row = Row {
    name: "getkeys",
    arity: -4,
    flags: LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const COMMAND_GETKEYSANDFLAGS: Row = Row {
    name: "getkeysandflags",
    arity: -4,
    flags: LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const COMMAND_HELP: Row = Row {
    name: "help",
    arity: 2,
    flags: LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const COMMAND_INFO: Row = Row {
    name: "info",
    arity: -2,
    flags: LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const COMMAND_LIST: Row = Row {
    name: "list",
    arity: -2,
    flags: LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const CONFIG: Row = Row {
    name: "config",
    arity: -2,
    flags: 0,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const CONFIG_GET: Row = Row {
    name: "get",
    arity: -3,
    flags: ADMIN | NOSCRIPT | LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const CONFIG_HELP: Row = Row {
    name: "help",
    arity: 2,
    flags: LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const CONFIG_RESETSTAT: Row = Row {
    name: "resetstat",
    arity: 2,
    flags: ADMIN | NOSCRIPT | LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const CONFIG_REWRITE: Row = Row {
    name: "rewrite",
    arity: 2,
    flags: ADMIN | NOSCRIPT | LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const CONFIG_SET: Row = Row {
    name: "set",
    arity: -4,
    flags: ADMIN | NOSCRIPT | LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const DEBUG: Row = Row {
    name: "debug",
    arity: -2,
    flags: ADMIN | NOSCRIPT | LOADING | STALE | PROTECTED,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const INFO: Row = Row {
    name: "info",
    arity: -1,
    flags: LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const LATENCY: Row = Row {
    name: "latency",
    arity: -2,
    flags: 0,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const LATENCY_DOCTOR: Row = Row {
    name: "doctor",
    arity: 2,
    flags: ADMIN | NOSCRIPT | LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const LATENCY_GRAPH: Row = Row {
    name: "graph",
    arity: 3,
    flags: ADMIN | NOSCRIPT | LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const LATENCY_HELP: Row = Row {
    name: "help",
    arity: 2,
    flags: LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const LATENCY_HISTOGRAM: Row = Row {
    name: "histogram",
    arity: -2,
    flags: ADMIN | NOSCRIPT | LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const LATENCY_HISTORY: Row = Row {
    name: "history",
    arity: 3,
    flags: ADMIN | NOSCRIPT | LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const LATENCY_LATEST: Row = Row {
    name: "latest",
    arity: 2,
    flags: ADMIN | NOSCRIPT | LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const LATENCY_RESET: Row = Row {
    name: "reset",
    arity: -2,
    flags: ADMIN | NOSCRIPT | LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const LOLWUT: Row = Row {
    name: "lolwut",
    arity: -1,
    flags: READONLY | FAST,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const MEMORY: Row = Row {
    name: "memory",
    arity: -2,
    flags: 0,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const MEMORY_DOCTOR: Row = Row {
    name: "doctor",
    arity: 2,
    flags: 0,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const MEMORY_HELP: Row = Row {
    name: "help",
    arity: 2,
    flags: LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const MEMORY_MALLOC_STATS: Row = Row {
    name: "malloc-stats",
    arity: 2,
    flags: 0,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const MEMORY_PURGE: Row = Row {
    name: "purge",
    arity: 2,
    flags: 0,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const MEMORY_STATS: Row = Row {
    name: "stats",
    arity: 2,
    flags: 0,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const MEMORY_USAGE: Row = Row {
    name: "usage",
    arity: -3,
    flags: READONLY,
    keys: Keys { first: 2, last: 2, step: 1 },
};
pub const MONITOR: Row = Row {
    name: "monitor",
    arity: 1,
    flags: ADMIN | NOSCRIPT | LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const SHUTDOWN: Row = Row {
    name: "shutdown",
    arity: -1,
    flags: ADMIN | NOSCRIPT | LOADING | STALE | NO_MULTI | ALLOW_BUSY,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const SLOWLOG: Row = Row {
    name: "slowlog",
    arity: -2,
    flags: 0,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const SLOWLOG_GET: Row = Row {
    name: "get",
    arity: -2,
    flags: ADMIN | LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const SLOWLOG_HELP: Row = Row {
    name: "help",
    arity: 2,
    flags: LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const SLOWLOG_LEN: Row = Row {
    name: "len",
    arity: 2,
    flags: ADMIN | LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const SLOWLOG_RESET: Row = Row {
    name: "reset",
    arity: 2,
    flags: ADMIN | LOADING | STALE,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const TIME: Row = Row {
    name: "time",
    arity: 1,
    flags: LOADING | STALE | FAST,
    keys: Keys { first: 0, last: 0, step: 0 },
};
pub const WAIT: Row = Row {
    name: "wait",
    arity: 3,
    flags: NOSCRIPT,
    keys: Keys { first: 0, last: 0, step: 0 },
};
