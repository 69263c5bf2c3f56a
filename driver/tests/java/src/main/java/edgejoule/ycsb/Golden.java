package edgejoule.ycsb;

import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.Vector;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.Status;
import site.ycsb.Utils;
import site.ycsb.measurements.Measurements;
import site.ycsb.workloads.CoreWorkload;

/**
 * Prints what YCSB makes of numbers: lines "hash number result", "key hashed padding number name" and "value length
 * key field value", for the arguments: the numbers.
 */
public final class Golden extends CoreWorkload {
  private static final int[] PADDINGS = {0, 1, 12, 24};
  private static final int[] LENGTHS = {1, 5, 16, 40, 100, 1000};

  private Golden(Map<String, String> assignments) throws Exception {
    final Properties properties = new Properties();
    properties.putAll(assignments);
    init(properties);
  }

  public static void main(String[] numbers) throws Exception {
    Measurements.setProperties(new Properties());
    for (String number : numbers) System.out.println("hash " + number + " " + Utils.hash(Long.parseLong(number)));
    for (String order : new String[] {"hashed", "ordered"}) {
      for (int padding : PADDINGS) {
        final Golden workload = new Golden(Map.of("insertorder", order, "zeropadding", Integer.toString(padding)));
        for (String number : numbers) {
          final String name = workload.buildKeyName(Long.parseLong(number));
          System.out.println("key " + order + " " + padding + " " + number + " " + name);
        }
      }
    }
    for (int length : LENGTHS) {
      final String bytes = Integer.toString(length);
      new Golden(Map.of("dataintegrity", "true", "fieldlength", bytes, "fieldcount", "2")).doInsert(new Shown(), null);
    }
  }

  /** Prints the values it is given. */
  private static final class Shown extends DB {
    @Override
    public Status insert(String table, String key, Map<String, ByteIterator> values) {
      values.forEach((field, value) -> {
        final String text = value.toString();
        System.out.println("value " + text.length() + " " + key + " " + field + " " + text);
      });
      return Status.OK;
    }

    @Override
    public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
      return Status.NOT_IMPLEMENTED;
    }

    @Override
    public Status scan(String table, String startkey, int recordcount, Set<String> fields,
        Vector<HashMap<String, ByteIterator>> result) {
      return Status.NOT_IMPLEMENTED;
    }

    @Override
    public Status update(String table, String key, Map<String, ByteIterator> values) {
      return Status.NOT_IMPLEMENTED;
    }

    @Override
    public Status delete(String table, String key) {
      return Status.NOT_IMPLEMENTED;
    }
  }
}
