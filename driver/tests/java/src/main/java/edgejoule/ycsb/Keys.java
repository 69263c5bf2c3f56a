package edgejoule.ycsb;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.DBOptions;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksIterator;

/** Prints the keys of a RocksDB database, one a line; arguments: its directory and the column family. */
public final class Keys {
  private Keys() {}

  public static void main(String[] arguments) throws Exception {
    final List<ColumnFamilyDescriptor> families = new ArrayList<>();
    int place = -1;
    for (byte[] name : RocksDB.listColumnFamilies(new Options(), arguments[0])) {
      if (new String(name, StandardCharsets.UTF_8).equals(arguments[1])) place = families.size();
      families.add(new ColumnFamilyDescriptor(name));
    }
    final List<ColumnFamilyHandle> handles = new ArrayList<>();
    try (RocksDB database = RocksDB.openReadOnly(new DBOptions(), arguments[0], families, handles);
         RocksIterator cursor = database.newIterator(handles.get(place))) {
      for (cursor.seekToFirst(); cursor.isValid(); cursor.next()) {
        System.out.println(new String(cursor.key(), StandardCharsets.UTF_8));
      }
    }
  }
}
