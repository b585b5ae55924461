package peers;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * What scripts/bench-peers needs to measure any filter between topics; none of Tollgate's own code counts here.
 *
 * <pre>
 * Tool topics  BROKERS PARTITIONS TOPIC…           makes topics
 * Tool forget  BROKERS PATTERN                     deletes the topics whose names match as a whole
 * Tool watch   BROKERS PID RECORDS WARM_UP TOPIC…  CPU and wall time of a process between the moments when its outputs
 *                                                  held so many records; marks of transactions count as records there
 * Tool account BROKERS TRUTH ACCEPTED REJECTED     reads both outputs and compares every record with the verdict that
 *                                                  it must get, by the lines that `tollgate generate --truth` wrote
 * </pre>
 */
public final class Tool {
  private static final String HEADER = "tollgate.load";
  /** How long nothing more must come once everything is there; how long something missing is waited for. */
  private static final Duration QUIET = Duration.ofSeconds(2);
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final long STILL_MAX_NS = Duration.ofSeconds(90).toNanos();

  public static void main(String[] words) throws Exception {
    List<String> rest = Arrays.asList(words).subList(2, words.length);
    Map<String, Object> settings = new HashMap<>(Map.of("bootstrap.servers", words[1]));
    try (Admin admin = Admin.create(settings)) {
      switch (words[0]) {
        case "topics" -> {
          List<NewTopic> topics = new ArrayList<>();
          for (String name : rest.subList(1, rest.size())) {
            topics.add(new NewTopic(name, Integer.parseInt(rest.get(0)), (short) 1));
          }
          admin.createTopics(topics).all().get();
        }
        case "forget" -> {
          Pattern pattern = Pattern.compile(rest.get(0));
          admin.deleteTopics(admin.listTopics().names().get().stream().filter(name -> pattern.matcher(name).matches()).toList()).all().get();
        }
        case "watch" -> watch(admin, rest.get(0), Long.parseLong(rest.get(1)), Long.parseLong(rest.get(2)), rest.subList(3, rest.size()));
        case "account" -> account(admin, settings, Path.of(rest.get(0)), rest.get(1), rest.get(2));
        default -> throw new IllegalArgumentException(words[0]);
      }
    }
  }

  private static List<TopicPartition> partitions(Admin admin, List<String> topics) throws Exception {
    List<TopicPartition> partitions = new ArrayList<>();
    for (var topic : admin.describeTopics(topics).allTopicNames().get().values()) {
      topic.partitions().forEach(partition -> partitions.add(new TopicPartition(topic.name(), partition.partition())));
    }
    return partitions;
  }

  /** CPU time of a process so far, in seconds. */
  private static double cpu(String pid) throws IOException {
    String stat = Files.readString(Path.of("/proc", pid, "stat"));
    String[] fields = stat.substring(stat.lastIndexOf(") ") + 2).split(" ");
    return (Double.parseDouble(fields[11]) + Double.parseDouble(fields[12])) / 100.0;
  }

  private static void watch(Admin admin, String pid, long records, long warmUp, List<String> topics) throws Exception {
    Map<TopicPartition, OffsetSpec> wanted = new HashMap<>();
    partitions(admin, topics).forEach(partition -> wanted.put(partition, OffsetSpec.latest()));
    long before = -1, since = 0, last = 0, moved = System.nanoTime();
    double cpuBefore = 0;
    while (true) {
      long out = admin.listOffsets(wanted).all().get().values().stream().mapToLong(end -> end.offset()).sum();
      long now = System.nanoTime();
      double cpu = cpu(pid);
      if (out > last) {
        last = out;
        moved = now;
      }
      if (before < 0 && out >= warmUp) {
        before = out;
        since = now;
        cpuBefore = cpu;
      }
      if (out >= records) {
        double done = out - before;
        System.out.printf("{\"cpu_s_per_million\":%.4f,\"records_per_s\":%.0f,\"cpu_s_with_start\":%.2f}%n", (cpu - cpuBefore) / done * 1e6, done / ((now - since) / 1e9), cpu);
        return;
      }
      if (now - moved > STILL_MAX_NS) {
        throw new IllegalStateException("nothing comes any more after " + out + " of " + records + " records");
      }
      Thread.sleep(20);
    }
  }

  private static void account(Admin admin, Map<String, Object> settings, Path truth, String accepted, String rejected) throws Exception {
    List<Boolean> holds = new ArrayList<>();
    List<String> keys = new ArrayList<>();
    ObjectMapper mapper = new ObjectMapper();
    try (BufferedReader lines = Files.newBufferedReader(truth)) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        JsonNode record = mapper.readTree(line);
        holds.add(record.get("verdict").textValue().equals("accept"));
        keys.add(record.get("key").textValue().intern());
      }
    }
    int[] seen = new int[holds.size()];
    Map<String, Integer> latest = new HashMap<>();
    long[] sides = new long[2];
    long doubled = 0, misrouted = 0, reordered = 0, strangers = 0;
    settings.put("isolation.level", "read_committed");
    settings.put("max.poll.records", 5000);
    try (var consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
      List<TopicPartition> partitions = partitions(admin, List.of(accepted, rejected));
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      long moved = System.nanoTime();
      while (System.nanoTime() - moved < (sides[0] + sides[1] < seen.length ? PATIENCE : QUIET).toNanos()) {
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
          moved = System.nanoTime();
          boolean isAccepted = record.topic().equals(accepted);
          sides[isAccepted ? 0 : 1]++;
          Header header = record.headers().lastHeader(HEADER);
          String mark = header == null ? "" : new String(header.value(), StandardCharsets.UTF_8);
          int number = mark.contains("-") ? Integer.parseInt(mark.substring(mark.indexOf('-') + 1)) : -1;
          if (number < 0 || number >= seen.length) {
            strangers++;
          } else if (seen[number]++ > 0) {
            doubled++;
          } else {
            misrouted += holds.get(number) == isAccepted ? 0 : 1;
            String lane = (isAccepted ? "+" : "-") + keys.get(number);
            Integer before = latest.put(lane, number);
            if (before != null && before > number) {
              reordered++;
              latest.put(lane, before);
            }
          }
        }
      }
    }
    long lost = Arrays.stream(seen).filter(times -> times == 0).count();
    long wanted = holds.stream().filter(hold -> hold).count();
    System.out.printf(
        "{\"accepted\":%d,\"rejected\":%d,\"must_accept\":%d,\"must_reject\":%d,\"lost\":%d,\"doubled\":%d,\"misrouted\":%d,\"reordered\":%d,\"strangers\":%d}%n",
        sides[0], sides[1], wanted, holds.size() - wanted, lost, doubled, misrouted, reordered, strangers);
  }
}
