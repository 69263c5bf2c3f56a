package edgejoule.ycsb;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.Vector;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Durability;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.util.Bytes;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.Status;

/**
 * HBase by its own client. A record is a row, its fields are columns of one family; an update puts the columns that it
 * names, as an insert does. A scan goes on in the order of the keys.
 */
public final class HBase extends Binding {
  private static Connection connection;
  private static TableName name;
  private static byte[] family;
  private static Durability durability;

  private Table table;

  @Override
  void open(Properties p) throws IOException {
    Configuration settings = HBaseConfiguration.create();
    for (String key : p.stringPropertyNames()) {
      if (key.startsWith("hbase.client.conf.")) {
        settings.set(key.substring("hbase.client.conf.".length()), p.getProperty(key));
      }
    }
    settings.set("hbase.zookeeper.quorum", p.getProperty("hbase.host", "127.0.0.1"));
    settings.set("hbase.zookeeper.property.clientPort", p.getProperty("hbase.port", "2181"));
    settings.set("hbase.rpc.timeout", p.getProperty("hbase.request_timeout_ms", "60000"));
    settings.set("hbase.client.operation.timeout", p.getProperty("hbase.request_timeout_ms", "60000"));
    connection = ConnectionFactory.createConnection(settings);
    name = TableName.valueOf(p.getProperty("table", "usertable"));
    family = Bytes.toBytes(p.getProperty("hbase.family", "f"));
    durability = Durability.valueOf(p.getProperty("hbase.durability", "USE_DEFAULT"));
    try (Admin admin = connection.getAdmin()) {
      if (!admin.tableExists(name)) {
        TableDescriptorBuilder described = TableDescriptorBuilder.newBuilder(name)
            .setColumnFamily(ColumnFamilyDescriptorBuilder.of(family));
        byte[][] splits = splits(Integer.parseInt(p.getProperty("hbase.regions", "1")));
        if (splits.length == 0) {
          admin.createTable(described.build());
        } else {
          admin.createTable(described.build(), splits);
        }
      }
    }
  }

  /** Keys are "user" and digits, hashed: the first two of them share the keys out evenly enough. */
  private static byte[][] splits(int regions) {
    byte[][] keys = new byte[regions - 1][];
    for (int i = 1; i < regions; i++) {
      keys[i - 1] = Bytes.toBytes(String.format("user%02d", 10 + 90 * i / regions));
    }
    return keys;
  }

  @Override
  void openThread(Properties p) throws IOException {
    table = connection.getTable(name);
  }

  @Override
  void flush() throws IOException {
    try (Admin admin = connection.getAdmin()) {
      admin.flush(name);
    }
  }

  @Override
  void close() throws IOException {
    connection.close();
  }

  @Override
  Status get(String ignored, String key, Set<String> fields, Map<String, ByteIterator> result) throws IOException {
    Get get = new Get(Bytes.toBytes(key));
    if (fields == null) {
      get.addFamily(family);
    } else {
      fields.forEach(field -> get.addColumn(family, Bytes.toBytes(field)));
    }
    Result row = table.get(get);
    if (row.isEmpty()) {
      return Status.NOT_FOUND;
    }
    fill(row, result);
    return Status.OK;
  }

  @Override
  Status getRange(String ignored, String start, int count, Set<String> fields,
      Vector<HashMap<String, ByteIterator>> result) throws IOException {
    Scan scan = new Scan().withStartRow(Bytes.toBytes(start)).setLimit(count).setCaching(count);
    if (fields == null) {
      scan.addFamily(family);
    } else {
      fields.forEach(field -> scan.addColumn(family, Bytes.toBytes(field)));
    }
    try (ResultScanner rows = table.getScanner(scan)) {
      for (Result row : rows) {
        HashMap<String, ByteIterator> values = new HashMap<>();
        fill(row, values);
        result.add(values);
      }
    }
    return Status.OK;
  }

  @Override
  Status put(String ignored, String key, Map<String, ByteIterator> values) throws IOException {
    Put put = new Put(Bytes.toBytes(key)).setDurability(durability);
    for (Map.Entry<String, ByteIterator> value : values.entrySet()) {
      byte[] bytes = value.getValue().toArray();
      written(bytes.length);
      put.addColumn(family, Bytes.toBytes(value.getKey()), bytes);
    }
    table.put(put);
    return Status.OK;
  }

  @Override
  Status remove(String ignored, String key) throws IOException {
    table.delete(new Delete(Bytes.toBytes(key)).setDurability(durability));
    return Status.OK;
  }

  private void fill(Result row, Map<String, ByteIterator> values) {
    for (Cell cell : row.rawCells()) {
      byte[] value = CellUtil.cloneValue(cell);
      read(value.length);
      values.put(Bytes.toString(CellUtil.cloneQualifier(cell)), new ByteArrayByteIterator(value));
    }
  }
}
