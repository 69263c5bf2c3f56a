package edgejoule.ycsb;

import java.io.PrintStream;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import site.ycsb.ByteIterator;

/**
 * Counts what a database is asked for, by one thread. The dimensions and their cells are those of the driver's own
 * recorder, operation_tally.h; a line of the result is dimension,cell,count.
 */
final class Tally {
  private static final int GROUP = 6;
  /** Bits that two neighbours take from the same bit of the word: place, bit of that byte, bit of the next one. */
  private static final int[][] SHARED = {{1, 5, 0}, {2, 6, 1}, {4, 5, 0}};

  private final Set<String> dimensions;
  private final Map<String, Map<String, long[]>> counts = new TreeMap<>();
  private final long[][] bytes = new long[GROUP][256];
  private final long[][] shared = new long[SHARED.length][4];
  private long newest;
  private long inserted;

  Tally(Set<String> dimensions, long records) {
    this.dimensions = dimensions;
    newest = records - 1;
  }

  void read(String key, Set<String> fields) {
    add("operation", "READ");
    asked(key, fields);
  }

  void scan(String key, int length, Set<String> fields) {
    add("operation", "SCAN");
    add("scan_length", Integer.toString(length));
    asked(key, fields);
  }

  void update(String key, Map<String, ByteIterator> values) {
    add("operation", "UPDATE");
    requested(key);
    written(values);
  }

  void insert(String key, Map<String, ByteIterator> values) {
    add("operation", "INSERT");
    if (dimensions.contains("order")) add("order", inserted + ":" + key);
    ++inserted;
    ++newest;
    written(values);
  }

  void add(Tally other) {
    other.counts.forEach(
        (dimension, cells) -> cells.forEach((cell, count) -> counter(dimension, cell)[0] += count[0]));
    for (int place = 0; place < GROUP; ++place) {
      for (int value = 0; value < 256; ++value) bytes[place][value] += other.bytes[place][value];
    }
    for (int i = 0; i < shared.length; ++i) {
      for (int bits = 0; bits < 4; ++bits) shared[i][bits] += other.shared[i][bits];
    }
  }

  void print(PrintStream out) {
    counts.forEach((dimension, cells) -> cells.forEach((cell, count) -> line(out, dimension, cell, count[0])));
    for (int place = 0; place < GROUP; ++place) {
      for (int value = 0; value < 256; ++value) line(out, "byte", place + ":" + value, bytes[place][value]);
    }
    for (int i = 0; i < shared.length; ++i) {
      for (int bits = 0; bits < 4; ++bits) line(out, "shared", SHARED[i][0] + ":" + bits, shared[i][bits]);
    }
  }

  private static void line(PrintStream out, String dimension, String cell, long count) {
    if (count > 0) out.println(dimension + "," + cell + "," + count);
  }

  private void asked(String key, Set<String> fields) {
    requested(key);
    add("fields_asked", fields == null ? "all" : Integer.toString(fields.size()));
    if (fields != null && fields.size() == 1) add("field_read", fields.iterator().next());
  }

  private void requested(String key) {
    add("key", key);
    if (dimensions.contains("age")) add("age", Long.toString(newest - Long.parseLong(key.substring(4))));
  }

  private void written(Map<String, ByteIterator> values) {
    add("fields_written", Integer.toString(values.size()));
    if (values.size() == 1) add("field_written", values.keySet().iterator().next());
    if (!dimensions.contains("field_length") && !dimensions.contains("byte")) return;
    for (ByteIterator value : values.values()) {
      add("field_length", Long.toString(value.bytesLeft()));
      if (dimensions.contains("byte")) bytesOf(value.toArray());
    }
  }

  private void bytesOf(byte[] value) {
    for (int i = 0; i < value.length; ++i) ++bytes[i % GROUP][value[i] & 0xFF];
    for (int begin = 0; begin + GROUP <= value.length; begin += GROUP) {
      for (int i = 0; i < SHARED.length; ++i) {
        final int place = begin + SHARED[i][0];
        final int first = (value[place] - ' ') >> SHARED[i][1] & 1;
        final int second = (value[place + 1] - ' ') >> SHARED[i][2] & 1;
        ++shared[i][first << 1 | second];
      }
    }
  }

  private void add(String dimension, String cell) {
    if (dimensions.contains(dimension)) ++counter(dimension, cell)[0];
  }

  private long[] counter(String dimension, String cell) {
    return counts.computeIfAbsent(dimension, unused -> new HashMap<>()).computeIfAbsent(cell, unused -> new long[1]);
  }
}
