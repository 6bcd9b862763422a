//! Commands of Redis for what this server does not have: values that are no strings. All others
//! that it does not have are unknown to it, and it says so.

/// What values a command is for, if it is one of these.
#[cold]
pub fn kind(name: &[u8]) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let is = |names: &str| names.split(' ').any(|n| n.as_bytes() == name);
    KINDS.iter().find(|(_, names)| is(names)).map(|(kind, _)| *kind)
}

const KINDS: &[(&str, &str)] = &[
    (
        "lists",
        "blmove blmpop blpop brpop brpoplpush lindex linsert llen lmove lmpop lpop lpos lpush \
         lpushx lrange lrem lset ltrim rpop rpoplpush rpush rpushx sort sort_ro",
    ),
    (
        "sets",
        "sadd scard sdiff sdiffstore sinter sintercard sinterstore sismember smembers smismember \
         smove spop srandmember srem sscan sunion sunionstore",
    ),
    (
        "hashes",
        "hdel hexists hget hgetall hincrby hincrbyfloat hkeys hlen hmget hmset hrandfield hscan \
         hset hsetnx hstrlen hvals",
    ),
    (
        "sorted sets",
        "bzmpop bzpopmax bzpopmin geoadd geodist geohash geopos georadius georadius_ro \
         georadiusbymember georadiusbymember_ro geosearch geosearchstore zadd zcard zcount zdiff \
         zdiffstore zincrby zinter zintercard zinterstore zlexcount zmpop zmscore zpopmax zpopmin \
         zrandmember zrange zrangebylex zrangebyscore zrangestore zrank zrem zremrangebylex \
         zremrangebyrank zremrangebyscore zrevrange zrevrangebylex zrevrangebyscore zrevrank zscan \
         zscore zunion zunionstore",
    ),
    (
        "streams",
        "xack xadd xautoclaim xclaim xdel xgroup xinfo xlen xpending xrange xread xreadgroup \
         xrevrange xsetid xtrim",
    ),
    ("HyperLogLogs", "pfadd pfcount pfdebug pfmerge pfselftest"),
];

#[cfg(test)]
mod tests {
    use super::super::table;
    use super::*;

    #[test]
    fn what_is_not_there() {
        assert_eq!(kind(b"LPUSH"), Some("lists"));
        assert_eq!(kind(b"zmscore"), Some("sorted sets"));
        assert_eq!(kind(b"publish"), None);
        for (_, names) in KINDS {
            for name in names.split_whitespace() {
                assert!(table::find(name.as_bytes()).is_none(), "{name}");
            }
        }
    }
}
