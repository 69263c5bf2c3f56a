package edgejoule.ycsb;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;
import site.ycsb.StringByteIterator;

/**
 * SQLite through JDBC, on the table that YCSB's own tool makes: YCSB_KEY and a column per field. Property db.url. One
 * thread; everything is one transaction, committed at the end. (YCSB publishes its binding in no registry.)
 */
public final class SqliteDB extends DB {
  private final List<String> columns = new ArrayList<>();
  private Connection connection;

  @Override
  public void init() throws DBException {
    final int fields = Integer.parseInt(getProperties().getProperty("fieldcount", "10"));
    for (int i = 0; i < fields; ++i) columns.add(getProperties().getProperty("fieldnameprefix", "field") + i);
    final String table = getProperties().getProperty("table", "usertable");
    try {
      connection = DriverManager.getConnection(getProperties().getProperty("db.url"));
      connection.setAutoCommit(false);
      connection.createStatement().execute("CREATE TABLE IF NOT EXISTS " + table
          + " (YCSB_KEY VARCHAR PRIMARY KEY, " + String.join(" TEXT, ", columns).toUpperCase(Locale.ROOT) + " TEXT)");
    } catch (SQLException failure) {
      throw new DBException(failure);
    }
  }

  @Override
  public void cleanup() throws DBException {
    try {
      connection.commit();
      connection.close();
    } catch (SQLException failure) {
      throw new DBException(failure);
    }
  }

  @Override
  public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    final Vector<HashMap<String, ByteIterator>> rows = new Vector<>();
    final Status status = select(table, "YCSB_KEY = ?", key, 1, fields, rows);
    if (!status.isOk()) return status;
    if (rows.isEmpty()) return Status.NOT_FOUND;
    result.putAll(rows.get(0));
    return Status.OK;
  }

  @Override
  public Status scan(String table, String startkey, int recordcount, Set<String> fields,
      Vector<HashMap<String, ByteIterator>> result) {
    return select(table, "YCSB_KEY >= ? ORDER BY YCSB_KEY", startkey, recordcount, fields, result);
  }

  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    final List<String> names = new ArrayList<>(values.keySet());
    return write("UPDATE " + table + " SET " + String.join("=?, ", names) + "=? WHERE YCSB_KEY=?", names, values, key);
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    final List<String> names = new ArrayList<>(values.keySet());
    final String places = "?, ".repeat(names.size()) + "?";
    return write("INSERT INTO " + table + " (" + String.join(", ", names) + ", YCSB_KEY) VALUES (" + places + ")",
        names, values, key);
  }

  @Override
  public Status delete(String table, String key) {
    return Status.NOT_IMPLEMENTED;
  }

  private Status select(String table, String where, String key, int limit, Set<String> fields,
      Vector<HashMap<String, ByteIterator>> rows) {
    try (PreparedStatement statement =
             connection.prepareStatement("SELECT * FROM " + table + " WHERE " + where + " LIMIT " + limit)) {
      statement.setString(1, key);
      final ResultSet result = statement.executeQuery();
      while (result.next()) {
        final HashMap<String, ByteIterator> row = new HashMap<>();
        for (String column : fields == null ? columns : fields) {
          row.put(column, new StringByteIterator(result.getString(column)));
        }
        rows.add(row);
      }
      return Status.OK;
    } catch (SQLException failure) {
      return failed(failure);
    }
  }

  private Status write(String sql, List<String> names, Map<String, ByteIterator> values, String key) {
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      int place = 0;
      for (String name : names) statement.setString(++place, values.get(name).toString());
      statement.setString(++place, key);
      return statement.executeUpdate() == 1 ? Status.OK : Status.NOT_FOUND;
    } catch (SQLException failure) {
      return failed(failure);
    }
  }

  private static Status failed(SQLException failure) {
    System.err.println(failure);
    return Status.ERROR;
  }
}
