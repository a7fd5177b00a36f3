"""The main job from end to end, without a broker: orders are produced, aggregated by Spark, compacted and inspected.

1. Producers write the topic `orders`: keys, headers, several codecs, transactions, some of which are aborted.
2. A Structured Streaming query reads the committed orders, sums them up by product and minute, and writes the sums to
   the topic `totals`, each exactly once.
3. The cleaner keeps the latest sum of each product, and commands inspect the result: counts, a lookup by time, a dump,
   verify.

The directory is left in the folder given as the argument (default: build/pipeline). Exit code 1 if anything is not
as it should be.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import octavo

ORDERS_OF_A_PRODUCER = 30_000
TRANSACTION = 500
CODECS = ("none", "lz4", "zstd")
PRODUCTS = [f"product-{number:03}" for number in range(200)]
MINUTES = 20
BEGIN_MS = int(time.time() * 1000) - 60_000 * 2 * MINUTES

Sums = Counter[str]


def produce(logs: octavo.LogDir, codec: str) -> Sums:
    """Send orders in transactions, every eighth of which is aborted; returns the committed amounts by product."""
    chooser, committed = random.Random(codec), Sums()
    configs = {"transactional.id": f"shop-{codec}", "compression.type": codec}
    with logs.producer(configs) as producer:
        for first in range(0, ORDERS_OF_A_PRODUCER, TRANSACTION):
            sums = Sums()
            producer.begin_transaction()
            for number in range(first, first + TRANSACTION):
                product, amount = chooser.choice(PRODUCTS), chooser.randrange(1, 100)
                order = {"product": product, "amount": amount}
                moment = BEGIN_MS + number * 60_000 * MINUTES // ORDERS_OF_A_PRODUCER
                headers = [("shop", codec.encode())]
                producer.send("orders", json.dumps(order), key=product, headers=headers, timestamp=moment)
                sums[product] += amount
            if first // TRANSACTION % 8 == 7:
                producer.abort_transaction()
            else:
                producer.commit_transaction()
                committed += sums
        # A last order in each partition, long after the others, closes their minutes for the query.
        with producer.transaction():
            for partition in producer.partitions_for("orders"):
                closing = json.dumps({"product": "closing", "amount": 0})
                producer.send("orders", closing, partition=partition, timestamp=BEGIN_MS + 60_000 * (MINUTES + 5))
    return committed


def write_orders(root: Path) -> Sums:
    say("1. Three producers write the topic orders, in transactions; every eighth transaction is aborted.")
    with octavo.LogDir(root) as logs:
        logs.create_topic("orders", partitions=3, configs={"segment.bytes": 1 << 20, "retention.ms": -1})
        compaction = {"cleanup.policy": "compact", "segment.bytes": 64 << 10, "min.cleanable.dirty.ratio": 0.01}
        logs.create_topic("totals", partitions=2, configs=compaction)
        began = time.perf_counter()
        with ThreadPoolExecutor(len(CODECS)) as threads:
            sums = sum(threads.map(lambda codec: produce(logs, codec), CODECS), Sums())
        seconds = time.perf_counter() - began
    sent = len(CODECS) * ORDERS_OF_A_PRODUCER
    say(f"   {sent} orders in {seconds:.1f} s: {sent / seconds:,.0f} records/s")
    return sums


def aggregate(root: Path, checkpoint: Path) -> None:
    """Run the streaming query: committed orders to sums by product and minute."""
    say("2. A Spark stream sums the committed orders by product and minute, into the topic totals, exactly once.")
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").appName("orders").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.ui.showConsoleProgress", "false")
    spark = builder.config("spark.log.level", "ERROR").config("spark.sql.session.timeZone", "UTC").getOrCreate()
    began = time.perf_counter()
    orders = (
        spark.readStream.format("octavo")
        .option("subscribe", "orders")
        .option("startingOffsets", "earliest")
        .option("isolationLevel", "read_committed")
        .option("maxOffsetsPerTrigger", 40_000)
        .load(str(root))
        .select("timestamp", F.from_json(F.col("value").cast("string"), "product string, amount long").alias("order"))
    )
    minutes = orders.withWatermark("timestamp", "1 minute").groupBy(
        F.window("timestamp", "1 minute").alias("minute"), F.col("order.product").alias("product")
    )
    sums = minutes.agg(F.sum("order.amount").alias("amount"), F.count("*").alias("orders"))
    value = F.to_json(F.struct(F.col("minute.start").alias("minute"), "amount", "orders"))
    rows = sums.select(F.col("product").alias("key"), value.alias("value"))
    query = (
        rows.writeStream.format("octavo")
        .option("topic", "totals")
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start(str(root))
    )
    query.awaitTermination()
    seconds = time.perf_counter() - began
    batches = [progress for progress in query.recentProgress if progress["numInputRows"]]
    rows_read = sum(progress["numInputRows"] for progress in batches)
    took = f"{seconds:.1f} s with Spark's warm-up: {rows_read / seconds:,.0f} records/s"
    say(f"   {rows_read} committed orders in {len(batches)} micro-batches, {took}")
    # The first micro-batch compiles Spark's plans; each one reads, aggregates, stages its sums and commits them.
    warm = batches[1:] or batches
    busy = sum(progress["durationMs"]["triggerExecution"] for progress in warm) / 1000
    rate = sum(progress["numInputRows"] for progress in warm) / busy
    say(f"   one warm micro-batch, from its plan to the sink's commit: {busy / len(warm):.2f} s, {rate:,.0f} records/s")
    spark.stop()


def check_totals(root: Path, expected: Sums) -> None:
    """Check that, before compaction, the topic holds every sum once, and that the sums add up to what was committed."""
    found = Sums()
    for record in octavo.scan(str(root), ["totals"], isolation_level="read_committed"):
        found[(record.key or b"").decode()] += json.loads(record.value)["amount"]
    del found["closing"]
    if found != expected:
        raise SystemExit(f"the sums differ: {found.total()} in totals, {expected.total()} committed")
    say(f"   checked: the totals of {len(found)} products add up to what was committed, {found.total()}")


def show(*arguments: str, lines: int = 8) -> str:
    """Run a command and show the beginning of its output."""
    print(f"\n$ octavo {' '.join(arguments)}", flush=True)
    done = subprocess.run([sys.executable, "-m", "octavo", *arguments], stdout=subprocess.PIPE, text=True, check=True)
    printed = done.stdout.splitlines()
    print("\n".join(line[:160] for line in printed[:lines]), *(["..."] if len(printed) > lines else []), sep="\n")
    sys.stdout.flush()
    return done.stdout


def look(root: Path) -> None:
    logs = str(root)
    say("3. The cleaner keeps the latest total of each product; then commands inspect the result.")
    began = time.perf_counter()
    compacted = show("compact", logs, "--topic", "totals", "--force")
    seconds, read = time.perf_counter() - began, sum(map(int, re.findall(r"of (\d+) records stay", compacted)))
    say(f"   {read} records cleaned in {seconds:.1f} s including start-up: {read / seconds:,.0f} records/s")
    show("topics", logs, "--topic", "orders", "--topic", "totals")
    show("lookup", logs, "--topic", "orders", "--partition", "0", "--timestamp", str(BEGIN_MS + 5_000))
    show("cat", logs, "--topic", "totals", "--max-messages", "3")
    segment = min((root / "orders-0").glob("*.log"))
    show("dump-log", "--print-data-log", "--files", str(segment), lines=6)
    show("verify", logs)


def say(sentence: str) -> None:
    print(sentence, flush=True)


def main(folder: str = "build/pipeline") -> None:
    root, checkpoint = Path(folder, "logs"), Path(folder, "checkpoint")
    shutil.rmtree(folder, ignore_errors=True)
    root.mkdir(parents=True)
    began = time.perf_counter()
    expected = write_orders(root)
    aggregate(root, checkpoint)
    check_totals(root, expected)
    look(root)
    say(f"\nAll of it took {time.perf_counter() - began:.0f} s. The log directory is {root}: try the commands on it.")


if __name__ == "__main__":
    main(*sys.argv[1:])
