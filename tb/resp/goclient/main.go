// Ordinary use of go-redis, each answer checked. Arguments: address, protocol (2 or 3).
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	ctx    = context.Background()
	checks int
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// same fails unless a call gave what it should, without an error.
func same[T any](what string, want T, got T, err error) {
	checks++
	if err != nil || !reflect.DeepEqual(want, got) {
		panic(fmt.Sprintf("%s: %v (error %v), should be %v", what, got, err, want))
	}
}

func isNil(what string, err error) {
	checks++
	if !errors.Is(err, redis.Nil) {
		panic(fmt.Sprintf("%s: %v, should be redis.Nil", what, err))
	}
}

func stringsOf(c *redis.Client) {
	same("Set", "OK", c.Set(ctx, "a", "1", 0).Val(), nil)
	v, err := c.Get(ctx, "a").Result()
	same("Get", "1", v, err)
	isNil("Get", c.Get(ctx, "nothing").Err())
	b, err := c.SetNX(ctx, "a", "2", time.Minute).Result()
	same("SetNX", false, b, err)
	b, err = c.SetXX(ctx, "a", "3", time.Hour).Result()
	same("SetXX", true, b, err)
	old, err := c.SetArgs(ctx, "a", "4", redis.SetArgs{Get: true, KeepTTL: true}).Result()
	same("SetArgs", "3", old, err)
	d, err := c.TTL(ctx, "a").Result()
	same("TTL", true, d > 59*time.Minute && d <= time.Hour, err)
	old, err = c.GetEx(ctx, "a", 2*time.Hour).Result()
	same("GetEx", "4", old, err)
	old, err = c.GetDel(ctx, "a").Result()
	same("GetDel", "4", old, err)
	n, err := c.Append(ctx, "text", "hello").Result()
	same("Append", 5, n, err)
	n, err = c.SetRange(ctx, "text", 5, " world").Result()
	same("SetRange", 11, n, err)
	v, err = c.GetRange(ctx, "text", -5, -1).Result()
	same("GetRange", "world", v, err)
	f, err := c.IncrByFloat(ctx, "float", 10.5).Result()
	same("IncrByFloat", 10.5, f, err)
	n, err = c.IncrBy(ctx, "number", 40).Result()
	same("IncrBy", 40, n, err)
	n, err = c.Decr(ctx, "number").Result()
	same("Decr", 39, n, err)
	checks++
	if err := c.Incr(ctx, "text").Err(); err == nil || err.Error() != "ERR value is not an integer or out of range" {
		panic(err)
	}
	must(c.MSet(ctx, "m1", "x", "m2", "y").Err())
	many, err := c.MGet(ctx, "m1", "nothing", "m2").Result()
	same("MGet", []interface{}{"x", nil, "y"}, many, err)
	b, err = c.MSetNX(ctx, "m3", "z", "m1", "z").Result()
	same("MSetNX", false, b, err)
	large := make([]byte, 500_000)
	for i := range large {
		large[i] = byte(i * 7)
	}
	must(c.Set(ctx, "large", large, 0).Err())
	back, err := c.Get(ctx, "large").Bytes()
	same("large", large, back, err)
	must(c.SetBit(ctx, "bits", 7, 1).Err())
	n, err = c.BitCount(ctx, "bits", &redis.BitCount{Start: 0, End: -1}).Result()
	same("BitCount", 1, n, err)
	fields, err := c.BitField(ctx, "bits", "INCRBY", "u8", 0, 5, "GET", "u4", 4).Result()
	same("BitField", []int64{6, 6}, fields, err)
}

func keys(c *redis.Client) {
	must(c.FlushAll(ctx).Err())
	want := []string{}
	for i := 0; i < 1000; i++ {
		key := "key" + strconv.Itoa(i)
		want = append(want, key)
		must(c.Set(ctx, key, i, 0).Err())
	}
	sort.Strings(want)
	found := map[string]bool{}
	for it := c.Scan(ctx, 0, "key*", 50).Iterator(); it.Next(ctx); {
		found[it.Val()] = true
	}
	got := []string{}
	for key := range found {
		got = append(got, key)
	}
	sort.Strings(got)
	same("Scan", want, got, nil)
	n, err := c.DBSize(ctx).Result()
	same("DBSize", 1000, n, err)
	n, err = c.Exists(ctx, "key1", "key2", "nothing").Result()
	same("Exists", 2, n, err)
	must(c.Rename(ctx, "key1", "renamed").Err())
	v, err := c.Get(ctx, "renamed").Result()
	same("Rename", "1", v, err)
	b, err := c.ExpireAt(ctx, "renamed", time.Unix(4102444800, 0)).Result()
	same("ExpireAt", true, b, err)
	d, err := c.ExpireTime(ctx, "renamed").Result()
	same("ExpireTime", 4102444800*time.Second, d, err)
	b, err = c.Persist(ctx, "renamed").Result()
	same("Persist", true, b, err)
	kind, err := c.Type(ctx, "renamed").Result()
	same("Type", "string", kind, err)
	n, err = c.Copy(ctx, "renamed", "copy", 3, false).Result()
	same("Copy", 1, n, err)
	n, err = c.Del(ctx, "renamed", "copy", "nothing").Result()
	same("Del", 2, n, err)
	must(c.Set(ctx, "short", "x", 20*time.Millisecond).Err())
	time.Sleep(40 * time.Millisecond)
	isNil("expired", c.Get(ctx, "short").Err())
}

func transactions(c *redis.Client) {
	commands, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, "t", 1, 0)
		p.Incr(ctx, "t")
		return nil
	})
	same("TxPipelined", "2", strconv.FormatInt(commands[1].(*redis.IntCmd).Val(), 10), err)
	commands, err = c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := 0; i < 200; i++ {
			p.Incr(ctx, "pipe")
		}
		return nil
	})
	same("Pipelined", 200, commands[199].(*redis.IntCmd).Val(), err)
	// Optimistic locking: each of many adds one by WATCH, MULTI, EXEC.
	must(c.Set(ctx, "locked", 0, 0).Err())
	var wait sync.WaitGroup
	for i := 0; i < 8; i++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for done := 0; done < 10; {
				err := c.Watch(ctx, func(tx *redis.Tx) error {
					n, err := tx.Get(ctx, "locked").Int()
					if err != nil {
						return err
					}
					_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
						p.Set(ctx, "locked", n+1, 0)
						return nil
					})
					return err
				}, "locked")
				if err == nil {
					done++
				} else if err != redis.TxFailedErr {
					panic(err)
				}
			}
		}()
	}
	wait.Wait()
	n, err := c.Get(ctx, "locked").Int()
	same("Watch", 80, n, err)
}

func main() {
	protocol, err := strconv.Atoi(os.Args[2])
	must(err)
	options := redis.Options{Addr: os.Args[1], Protocol: protocol, ClientName: "go", DB: 3}
	c := redis.NewClient(&options)
	defer c.Close()
	pong, err := c.Ping(ctx).Result()
	same("Ping", "PONG", pong, err)
	must(c.FlushDB(ctx).Err())
	name, err := c.ClientGetName(ctx).Result()
	same("ClientGetName", "go", name, err)
	stringsOf(c)
	transactions(c)
	keys(c)
	info, err := c.Info(ctx, "server").Result()
	same("Info", true, len(info) > 100, err)
	fmt.Println(checks, "checks")
}
