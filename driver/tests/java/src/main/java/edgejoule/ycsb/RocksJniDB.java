package edgejoule.ycsb;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.DBOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * RocksDB through its Java interface, with the files of YCSB's own binding: property rocksdb.dir, rows in the column
 * family named as the table, the column families to open in a file CF_NAMES, which must name all that there are. One
 * thread. (YCSB publishes its binding in no registry.)
 */
public final class RocksJniDB extends DB {
  private static final String DEFAULT = "default";

  private RocksDB database;
  private ColumnFamilyHandle rows;

  @Override
  public void init() throws DBException {
    final Path directory = Path.of(getProperties().getProperty("rocksdb.dir"));
    final String table = getProperties().getProperty("table", "usertable");
    final List<ColumnFamilyHandle> handles = new ArrayList<>();
    try {
      Files.createDirectories(directory);
      final Path names = directory.resolve("CF_NAMES");
      final List<String> families = Files.exists(names) ? Files.readAllLines(names) : List.of(DEFAULT);
      final List<ColumnFamilyDescriptor> descriptors = new ArrayList<>();
      for (String family : families) descriptors.add(new ColumnFamilyDescriptor(bytes(family)));
      database = RocksDB.open(new DBOptions().setCreateIfMissing(true), directory.toString(), descriptors, handles);
      if (families.contains(table)) {
        rows = handles.get(families.indexOf(table));
      } else {
        rows = database.createColumnFamily(new ColumnFamilyDescriptor(bytes(table)));
        Files.write(names, List.of(DEFAULT, table));
      }
    } catch (IOException | RocksDBException failure) {
      throw new DBException(failure);
    }
  }

  @Override
  public void cleanup() {
    database.close();
  }

  @Override
  public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    try {
      final byte[] row = database.get(rows, bytes(key));
      if (row == null) return Status.NOT_FOUND;
      RowCodec.decode(row, fields, result);
      return Status.OK;
    } catch (RocksDBException failure) {
      return failed(failure);
    }
  }

  @Override
  public Status scan(String table, String startkey, int recordcount, Set<String> fields,
      Vector<HashMap<String, ByteIterator>> result) {
    try (RocksIterator cursor = database.newIterator(rows)) {
      for (cursor.seek(bytes(startkey)); cursor.isValid() && result.size() < recordcount; cursor.next()) {
        final HashMap<String, ByteIterator> row = new HashMap<>();
        RowCodec.decode(cursor.value(), fields, row);
        result.add(row);
      }
      return Status.OK;
    }
  }

  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    final Map<String, ByteIterator> row = new HashMap<>();
    final Status read = read(table, key, null, row);
    if (!read.isOk()) return read;
    row.putAll(values);
    return insert(table, key, row);
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    try {
      database.put(rows, bytes(key), RowCodec.encode(values));
      return Status.OK;
    } catch (RocksDBException failure) {
      return failed(failure);
    }
  }

  @Override
  public Status delete(String table, String key) {
    return Status.NOT_IMPLEMENTED;
  }

  private static Status failed(RocksDBException failure) {
    System.err.println(failure);
    return Status.ERROR;
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
