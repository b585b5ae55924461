package peers;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.networknt.schema.InputFormat;
import com.networknt.schema.JsonSchema;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.OutputFormat;
import com.networknt.schema.PathType;
import com.networknt.schema.SchemaValidatorsConfig;
import com.networknt.schema.SpecVersion;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.WindowStore;

/**
 * The work that Tollgate is compared on, with Kafka Streams: envelopes that match the schema, are signed, and whose id
 * was not seen within the window go to one topic, all others to another, unchanged.
 *
 * <p>Usage: Filter BROKERS INPUT ACCEPTED REJECTED SCHEMA KEYS GUARANTEE THREADS STATE_DIR
 */
public final class Filter {
  private static final String IDS = "ids";
  /** An id is remembered for one window at least, two at most; ids are filed under the start of their window. */
  private static final long WINDOW_MS = Duration.ofHours(1).toMillis();

  public static void main(String[] words) throws Exception {
    String input = words[1];
    JsonSchema schema = schema(Path.of(words[4]));
    Map<String, byte[]> keys = keys(Path.of(words[5]));
    // In memory, and in a changelog topic, so that a restart forgets nothing. Point look-ups by window are much cheaper
    // than the range look-ups of the usual example, and an in-memory store much cheaper than RocksDB.
    var store =
        Stores.windowStoreBuilder(
            Stores.inMemoryWindowStore(IDS, Duration.ofMillis(2 * WINDOW_MS), Duration.ofMillis(WINDOW_MS), false),
            Serdes.ByteArray(),
            Serdes.ByteArray());
    Topology topology = new Topology();
    topology
        .addSource("input", Serdes.ByteArray().deserializer(), Serdes.ByteArray().deserializer(), input)
        .addProcessor("judge", () -> new Judge(schema, keys), "input")
        .addStateStore(store, "judge")
        .addSink("accepted", words[2], Serdes.ByteArray().serializer(), Serdes.ByteArray().serializer(), "judge")
        .addSink("rejected", words[3], Serdes.ByteArray().serializer(), Serdes.ByteArray().serializer(), "judge");
    KafkaStreams streams = new KafkaStreams(topology, settings(words));
    CountDownLatch ended = new CountDownLatch(1);
    streams.setStateListener((now, before) -> {
      if (now == KafkaStreams.State.ERROR || now == KafkaStreams.State.NOT_RUNNING) {
        ended.countDown();
      }
    });
    Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(20))));
    streams.start();
    ended.await();
  }

  private static Properties settings(String[] words) {
    Properties settings = new Properties();
    settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, words[0]);
    settings.put(StreamsConfig.APPLICATION_ID_CONFIG, "streams-" + words[2]);
    settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, words[6]);
    settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, words[7]);
    settings.put(StreamsConfig.STATE_DIR_CONFIG, words[8]);
    // As for Tollgate: a commit each second, or a transaction each 200 ms.
    settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, words[6].startsWith("exactly") ? 200 : 1000);
    // Larger batches and requests, as the guides to throughput advise; Streams waits 100 ms for company by default.
    settings.put(StreamsConfig.producerPrefix(ProducerConfig.BATCH_SIZE_CONFIG), 131_072);
    settings.put(StreamsConfig.producerPrefix(ProducerConfig.LINGER_MS_CONFIG), 5);
    settings.put(StreamsConfig.producerPrefix(ProducerConfig.BUFFER_MEMORY_CONFIG), 67_108_864L);
    settings.put(StreamsConfig.consumerPrefix(ConsumerConfig.MAX_POLL_RECORDS_CONFIG), 5_000);
    settings.put(StreamsConfig.consumerPrefix(ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG), 4_194_304);
    settings.put(StreamsConfig.consumerPrefix(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG), "earliest");
    return settings;
  }

  private static JsonSchema schema(Path path) throws Exception {
    SchemaValidatorsConfig config =
        SchemaValidatorsConfig.builder()
            .failFast(true)
            .formatAssertionsEnabled(true)
            .pathType(PathType.JSON_POINTER)
            .preloadJsonSchema(true)
            .build();
    JsonSchema schema =
        JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012)
            .getSchema(Files.readString(path), InputFormat.JSON, config);
    schema.initializeValidators();
    return schema;
  }

  private static Map<String, byte[]> keys(Path path) throws Exception {
    Map<String, byte[]> keys = new HashMap<>();
    new ObjectMapper()
        .readTree(path.toFile())
        .properties()
        .forEach(entry -> keys.put(entry.getKey(), HexFormat.of().parseHex(entry.getValue().asText())));
    return keys;
  }

  /** One for each partition, used by one thread. */
  private static final class Judge implements Processor<byte[], byte[], byte[], byte[]> {
    private static final byte[] BEFORE = ",\"signature\":\"".getBytes(StandardCharsets.UTF_8);
    private static final byte[] SEEN = new byte[0];

    private final JsonSchema schema;
    private final Map<String, byte[]> keys;
    private final Map<String, Mac> macs = new HashMap<>();
    private final ObjectMapper mapper = new ObjectMapper();
    private ProcessorContext<byte[], byte[]> context;
    private WindowStore<byte[], byte[]> ids;

    Judge(JsonSchema schema, Map<String, byte[]> keys) {
      this.schema = schema;
      this.keys = keys;
    }

    @Override
    public void init(ProcessorContext<byte[], byte[]> context) {
      this.context = context;
      this.ids = context.getStateStore(IDS);
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
      context.forward(record, holds(record) ? "accepted" : "rejected");
    }

    private boolean holds(Record<byte[], byte[]> record) {
      byte[] bytes = record.value();
      if (bytes == null) {
        return false;
      }
      try {
        JsonNode envelope = mapper.readTree(bytes);
        return schema.validate(envelope, OutputFormat.BOOLEAN)
            && isSigned(envelope, bytes)
            && isNew(envelope.get("envelope").get("message_id").textValue(), record.timestamp());
      } catch (java.io.IOException | java.security.GeneralSecurityException problem) {
        return false;
      }
    }

    /**
     * The signature is over the canonical form (RFC 8785) without it. What the load sends is canonical, so cutting the
     * signature out of the bytes is enough: that spares the peer the canonical form.
     */
    private boolean isSigned(JsonNode envelope, byte[] bytes) throws java.security.GeneralSecurityException {
      JsonNode authentication = envelope.get("authentication");
      JsonNode signature = authentication == null ? null : authentication.get("signature");
      if (signature == null || !signature.textValue().startsWith("v2:")) {
        return false;
      }
      int from = find(bytes, BEFORE);
      int behind = from + BEFORE.length + signature.textValue().length() + 1;
      if (from < 0 || behind > bytes.length) {
        return false;
      }
      Mac mac = mac(authentication.get("session_id").textValue() + '/' + authentication.get("sender_persona").textValue());
      if (mac == null) {
        return false;
      }
      mac.update(bytes, 0, from);
      mac.update(bytes, behind, bytes.length - behind);
      byte[] given = HexFormat.of().parseHex(signature.textValue().substring(3));
      return MessageDigest.isEqual(mac.doFinal(), given);
    }

    private Mac mac(String name) throws java.security.GeneralSecurityException {
      Mac mac = macs.get(name);
      byte[] key = keys.get(name);
      if (mac == null && key != null) {
        mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
        macs.put(name, mac);
      }
      return mac;
    }

    private boolean isNew(String id, long timestamp) {
      byte[] key = id.getBytes(StandardCharsets.UTF_8);
      long window = timestamp - timestamp % WINDOW_MS;
      if (ids.fetch(key, window) != null || ids.fetch(key, window - WINDOW_MS) != null) {
        return false;
      }
      ids.put(key, SEEN, window);
      return true;
    }

    /** The first place of some bytes. */
    private static int find(byte[] bytes, byte[] wanted) {
      next:
      for (int at = 0; at <= bytes.length - wanted.length; at++) {
        for (int place = 0; place < wanted.length; place++) {
          if (bytes[at + place] != wanted[place]) {
            continue next;
          }
        }
        return at;
      }
      return -1;
    }
  }
}
