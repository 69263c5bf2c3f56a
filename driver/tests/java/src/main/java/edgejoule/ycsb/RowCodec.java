package edgejoule.ycsb;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Set;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;

/** A row as one value: per field 32-bit big-endian length and name, then length and value. */
final class RowCodec {
  private RowCodec() {}

  static byte[] encode(Map<String, ByteIterator> fields) {
    int bytes = 0;
    for (Map.Entry<String, ByteIterator> field : fields.entrySet()) {
      bytes += 8 + field.getKey().length() + (int) field.getValue().bytesLeft();
    }
    final ByteBuffer row = ByteBuffer.allocate(bytes);
    fields.forEach((name, value) -> {
      put(row, name.getBytes(StandardCharsets.UTF_8));
      put(row, value.toArray());
    });
    return row.array();
  }

  /** Adds the named fields, all when names is null. */
  static void decode(byte[] bytes, Set<String> names, Map<String, ByteIterator> fields) {
    final ByteBuffer row = ByteBuffer.wrap(bytes);
    while (row.hasRemaining()) {
      final String name = new String(take(row), StandardCharsets.UTF_8);
      final byte[] value = take(row);
      if (names == null || names.contains(name)) fields.put(name, new ByteArrayByteIterator(value));
    }
  }

  private static void put(ByteBuffer row, byte[] part) {
    row.putInt(part.length).put(part);
  }

  private static byte[] take(ByteBuffer row) {
    final byte[] part = new byte[row.getInt()];
    row.get(part);
    return part;
  }
}
