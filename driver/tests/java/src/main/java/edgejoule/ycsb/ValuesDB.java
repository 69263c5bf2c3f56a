package edgejoule.ycsb;

import java.io.BufferedOutputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;

/** Writes the bytes of all values that it is given, one after the other, to the file of the property values.file. */
public final class ValuesDB extends DB {
  private OutputStream out;

  @Override
  public void init() throws DBException {
    try {
      out = new BufferedOutputStream(new FileOutputStream(getProperties().getProperty("values.file")));
    } catch (IOException failure) {
      throw new DBException(failure);
    }
  }

  @Override
  public void cleanup() throws DBException {
    try {
      out.close();
    } catch (IOException failure) {
      throw new DBException(failure);
    }
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    try {
      for (ByteIterator value : values.values()) out.write(value.toArray());
      return Status.OK;
    } catch (IOException failure) {
      return Status.ERROR;
    }
  }

  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    return insert(table, key, values);
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
  public Status delete(String table, String key) {
    return Status.NOT_IMPLEMENTED;
  }
}
