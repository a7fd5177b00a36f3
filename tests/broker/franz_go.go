// Produces, consumes by assignment and administers with franz-go; prints what it found as JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const count = 2000

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	servers := kgo.SeedBrokers(os.Args[1])
	client := must(kgo.NewClient(servers))
	defer client.Close()
	admin := kadm.NewClient(client)
	found := map[string]any{}

	must(admin.CreateTopic(ctx, 3, 1, map[string]*string{"retention.ms": kadm.StringPtr("100000")}, "go"))
	for number, codec := range []kgo.CompressionCodec{
		kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression(),
	} {
		produce(ctx, servers, codec, number)
	}
	found["consumed"] = consume(ctx, servers)
	found["ends"] = total(must(admin.ListEndOffsets(ctx, "go")))
	configs := must(admin.DescribeTopicConfigs(ctx, "go"))
	for _, config := range configs[0].Configs {
		if config.Key == "retention.ms" {
			found["retention.ms"] = *config.Value
		}
	}
	must(admin.CreatePartitions(ctx, 1, "go"))
	before := kadm.Offsets{}
	before.AddOffset("go", 0, 10, -1)
	must(admin.DeleteRecords(ctx, before))
	found["starts"] = total(must(admin.ListStartOffsets(ctx, "go")))
	found["partitions"] = len(must(admin.ListTopics(ctx, "go"))["go"].Partitions)
	must(admin.DeleteTopics(ctx, "go"))
	found["topics"] = must(admin.ListTopics(ctx)).Names()
	must(0, json.NewEncoder(os.Stdout).Encode(found))
}

func produce(ctx context.Context, servers kgo.Opt, codec kgo.CompressionCodec, round int) {
	client := must(kgo.NewClient(servers, kgo.ProducerBatchCompression(codec), kgo.DefaultProduceTopic("go")))
	defer client.Close()
	for number := range count {
		client.Produce(ctx, kgo.StringRecord(fmt.Sprintf("%d-%d", round, number)), func(_ *kgo.Record, err error) { must(0, err) })
	}
	must(0, client.Flush(ctx))
}

// consume reads every partition from its beginning, and counts the distinct values.
func consume(ctx context.Context, servers kgo.Opt) int {
	start := kgo.NewOffset().AtStart()
	client := must(kgo.NewClient(servers, kgo.ConsumePartitions(
		map[string]map[int32]kgo.Offset{"go": {0: start, 1: start, 2: start}},
	)))
	defer client.Close()
	values := map[string]bool{}
	for len(values) < 5*count {
		fetches := client.PollFetches(ctx)
		for _, err := range fetches.Errors() {
			must(0, err.Err)
		}
		fetches.EachRecord(func(record *kgo.Record) { values[string(record.Value)] = true })
	}
	return len(values)
}

func total(offsets kadm.ListedOffsets) (sum int64) {
	offsets.Each(func(offset kadm.ListedOffset) { must(0, offset.Err); sum += offset.Offset })
	return sum
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
