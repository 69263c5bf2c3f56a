package edgejoule.ycsb;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Queue;
import java.util.Set;
import java.util.Vector;
import java.util.concurrent.ConcurrentLinkedQueue;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.Response;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.Status;

/**
 * Redis by Jedis, in the layout of the native adapter (driver/adapters/redis): a record is a hash under its key, and the
 * sorted set _indices has all keys with Java's hash of them as scores, in whose order a scan goes on.
 */
public final class Redis extends Binding {
  private static final byte[] INDEX = "_indices".getBytes(UTF_8);
  private static final Queue<Jedis> CONNECTIONS = new ConcurrentLinkedQueue<>();

  private Jedis redis;

  @Override
  void open(Properties p) {}

  @Override
  void openThread(Properties p) {
    redis = new Jedis(p.getProperty("redis-java.host", "127.0.0.1"),
        Integer.parseInt(p.getProperty("redis-java.port", "6379")),
        Integer.parseInt(p.getProperty("redis-java.request_timeout_ms", "10000")));
    CONNECTIONS.add(redis);
    redis.connect();
  }

  @Override
  void flush() {}

  @Override
  void close() {
    CONNECTIONS.forEach(Jedis::close);
  }

  @Override
  Status get(String ignored, String key, Set<String> fields, Map<String, ByteIterator> result) {
    byte[] name = key.getBytes(UTF_8);
    if (fields == null) {
      fill(redis.hgetAll(name), result);
    } else {
      fill(fields, redis.hmget(name, names(fields)), result);
    }
    return result.isEmpty() ? Status.NOT_FOUND : Status.OK;
  }

  @Override
  Status getRange(String ignored, String start, int count, Set<String> fields,
      Vector<HashMap<String, ByteIterator>> result) {
    Pipeline rows = redis.pipelined();
    List<Response<Map<byte[], byte[]>>> whole = new ArrayList<>();
    List<Response<List<byte[]>>> parts = new ArrayList<>();
    for (byte[] key : redis.zrangeByScore(INDEX, start.hashCode(), Double.POSITIVE_INFINITY, 0, count)) {
      if (fields == null) {
        whole.add(rows.hgetAll(key));
      } else {
        parts.add(rows.hmget(key, names(fields)));
      }
    }
    rows.sync();
    for (Response<Map<byte[], byte[]>> row : whole) {
      HashMap<String, ByteIterator> values = new HashMap<>();
      fill(row.get(), values);
      result.add(values);
    }
    for (Response<List<byte[]>> row : parts) {
      HashMap<String, ByteIterator> values = new HashMap<>();
      fill(fields, row.get(), values);
      result.add(values);
    }
    return Status.OK;
  }

  @Override
  Status put(String ignored, String key, Map<String, ByteIterator> values) {
    byte[] name = key.getBytes(UTF_8);
    boolean allNew = redis.hset(name, bytes(values)) == values.size();
    if (allNew && redis.hlen(name) == values.size()) {
      redis.del(name);
      return Status.NOT_FOUND;
    }
    return Status.OK;
  }

  @Override
  Status create(String ignored, String key, Map<String, ByteIterator> values) {
    Pipeline both = redis.pipelined();
    both.hset(key.getBytes(UTF_8), bytes(values));
    both.zadd(INDEX, key.hashCode(), key.getBytes(UTF_8));
    both.syncAndReturnAll();
    return Status.OK;
  }

  @Override
  Status remove(String ignored, String key) {
    Pipeline both = redis.pipelined();
    Response<Long> removed = both.del(key.getBytes(UTF_8));
    both.zrem(INDEX, key.getBytes(UTF_8));
    both.sync();
    return removed.get() > 0 ? Status.OK : Status.NOT_FOUND;
  }

  private static byte[][] names(Set<String> fields) {
    return fields.stream().map(field -> field.getBytes(UTF_8)).toArray(byte[][]::new);
  }

  private Map<byte[], byte[]> bytes(Map<String, ByteIterator> values) {
    Map<byte[], byte[]> found = new HashMap<>();
    values.forEach((field, value) -> {
      byte[] bytes = value.toArray();
      written(bytes.length);
      found.put(field.getBytes(UTF_8), bytes);
    });
    return found;
  }

  private void fill(Map<byte[], byte[]> row, Map<String, ByteIterator> values) {
    row.forEach((field, value) -> fill(new String(field, UTF_8), value, values));
  }

  private void fill(Set<String> fields, List<byte[]> row, Map<String, ByteIterator> values) {
    int i = 0;
    for (String field : fields) {
      byte[] value = row.get(i++);
      if (value != null) {
        fill(field, value, values);
      }
    }
  }

  private void fill(String field, byte[] value, Map<String, ByteIterator> values) {
    read(value.length);
    values.put(field, new ByteArrayByteIterator(value));
  }
}
