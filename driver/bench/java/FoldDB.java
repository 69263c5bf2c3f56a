import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.Status;

/**
 * Keeps nothing, and folds every byte of keys, field names and values into a sum, as the driver's noop does. YCSB makes
 * a value when its database asks for it; one that does not ask (BasicDB) is spared most of the work of a load.
 */
public final class FoldDB extends DB {
  private long sum;

  @Override
  public void cleanup() {
    System.out.println("FoldDB: sum " + sum); // so that no compiler may leave out what leads to it
  }

  @Override
  public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    fold(key);
    if (fields != null) {
      fields.forEach(this::fold);
    }
    return Status.OK;
  }

  @Override
  public Status scan(String table, String start, int count, Set<String> fields,
      Vector<HashMap<String, ByteIterator>> result) {
    fold(start);
    if (fields != null) {
      fields.forEach(this::fold);
    }
    return Status.OK;
  }

  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    return write(key, values);
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    return write(key, values);
  }

  @Override
  public Status delete(String table, String key) {
    fold(key);
    return Status.OK;
  }

  private Status write(String key, Map<String, ByteIterator> values) {
    fold(key);
    for (Map.Entry<String, ByteIterator> value : values.entrySet()) {
      fold(value.getKey());
      for (byte each : value.getValue().toArray()) {
        sum = sum * 31 + each;
      }
    }
    return Status.OK;
  }

  private void fold(String text) {
    sum = sum * 31 + text.hashCode();
  }
}
