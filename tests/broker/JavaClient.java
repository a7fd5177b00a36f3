// Produces with every codec, consumes by assignment and administers with Kafka's Java clients; prints what it found.

import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.*;

public class JavaClient {
    static final int COUNT = 2000;
    static final List<TopicPartition> PARTITIONS =
        List.of(new TopicPartition("java", 0), new TopicPartition("java", 1), new TopicPartition("java", 2));

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> servers = Map.of("bootstrap.servers", arguments[0]);
        List<String> codecs = List.of("none", "gzip", "snappy", "lz4", "zstd");
        try (Admin admin = Admin.create(servers)) {
            NewTopic topic = new NewTopic("java", 3, (short) 1).configs(Map.of("retention.ms", "100000"));
            admin.createTopics(List.of(topic)).all().get();
            for (String codec : codecs) produce(servers, codec);
            System.out.println("consumed " + consume(servers, codecs.size() * COUNT));
            ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, "java");
            Config config = admin.describeConfigs(List.of(resource)).all().get().get(resource);
            System.out.println("retention.ms " + config.get("retention.ms").value());
            admin.createPartitions(Map.of("java", NewPartitions.increaseTo(4))).all().get();
            admin.deleteRecords(Map.of(PARTITIONS.get(0), RecordsToDelete.beforeOffset(10))).all().get();
            Map<TopicPartition, OffsetSpec> asked = Map.of(PARTITIONS.get(0), OffsetSpec.earliest());
            System.out.println("starts " + admin.listOffsets(asked).all().get().get(PARTITIONS.get(0)).offset());
            int partitions = admin.describeTopics(List.of("java")).allTopicNames().get().get("java").partitions().size();
            System.out.println("partitions " + partitions);
            System.out.println("nodes " + admin.describeCluster().nodes().get().size());
            admin.deleteTopics(List.of("java")).all().get();
            System.out.println("topics " + admin.listTopics().names().get());
        }
    }

    static void produce(Map<String, Object> servers, String codec) throws Exception {
        Map<String, Object> configs = new HashMap<>(servers);
        configs.put("compression.type", codec);
        try (Producer<String, String> producer =
                new KafkaProducer<>(configs, new StringSerializer(), new StringSerializer())) {
            List<java.util.concurrent.Future<RecordMetadata>> sent = new ArrayList<>();
            for (int number = 0; number < COUNT; number++)
                sent.add(producer.send(new ProducerRecord<>("java", codec + number, codec + "-" + number)));
            for (var future : sent) future.get();
        }
    }

    static int consume(Map<String, Object> servers, int count) {
        Map<String, Object> configs = new HashMap<>(servers);
        configs.put("auto.offset.reset", "earliest");
        configs.put("enable.auto.commit", "false");
        Set<String> values = new HashSet<>();
        try (Consumer<String, String> consumer =
                new KafkaConsumer<>(configs, new StringDeserializer(), new StringDeserializer())) {
            consumer.assign(PARTITIONS);
            long end = System.nanoTime() + Duration.ofSeconds(60).toNanos();
            while (values.size() < count && System.nanoTime() < end)
                consumer.poll(Duration.ofSeconds(1)).forEach(record -> values.add(record.value()));
        }
        return values.size();
    }
}
