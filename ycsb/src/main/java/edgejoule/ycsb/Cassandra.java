package edgejoule.ycsb;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.CqlSessionBuilder;
import com.datastax.oss.driver.api.core.DefaultConsistencyLevel;
import com.datastax.oss.driver.api.core.ConsistencyLevel;
import com.datastax.oss.driver.api.core.config.DefaultDriverOption;
import com.datastax.oss.driver.api.core.config.DriverConfigLoader;
import com.datastax.oss.driver.api.core.cql.ColumnDefinition;
import com.datastax.oss.driver.api.core.cql.PreparedStatement;
import com.datastax.oss.driver.api.core.cql.Row;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.Vector;
import java.util.concurrent.ConcurrentHashMap;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;
import site.ycsb.ByteIterator;
import site.ycsb.Status;
import site.ycsb.StringByteIterator;

/**
 * Cassandra by its own driver. A record is a row of varchar columns with y_id as its key; an update is an upsert of the
 * columns it names, as an insert is. A scan goes on in the order of the keys' tokens, the only one there is.
 */
public final class Cassandra extends Binding {
  private static final String KEYSPACE = "ycsb";
  private static final String KEY = "y_id";

  private static CqlSession session;
  private static final Map<String, PreparedStatement> STATEMENTS = new ConcurrentHashMap<>();
  private static ConsistencyLevel readLevel;
  private static ConsistencyLevel writeLevel;
  private static String[] jmxPorts;

  @Override
  void open(Properties p) {
    String level = p.getProperty("cassandra.consistency", "ONE");
    readLevel = DefaultConsistencyLevel.valueOf(p.getProperty("cassandra.readconsistencylevel", level));
    writeLevel = DefaultConsistencyLevel.valueOf(p.getProperty("cassandra.writeconsistencylevel", level));
    String ports = p.getProperty("cassandra.jmxports", "");
    jmxPorts = ports.isEmpty() ? new String[0] : ports.split(",");
    Duration timeout = Duration.ofMillis(Long.parseLong(p.getProperty("cassandra.request_timeout_ms", "60000")));
    CqlSessionBuilder builder = CqlSession.builder()
        .withLocalDatacenter(p.getProperty("cassandra.datacenter", "datacenter1"))
        .withConfigLoader(DriverConfigLoader.programmaticBuilder()
            .withDuration(DefaultDriverOption.REQUEST_TIMEOUT, timeout)
            .withDuration(DefaultDriverOption.CONNECTION_INIT_QUERY_TIMEOUT, timeout)
            .withDuration(DefaultDriverOption.METADATA_SCHEMA_REQUEST_TIMEOUT, timeout)
            .build());
    int port = Integer.parseInt(p.getProperty("cassandra.port", "9042"));
    for (String host : p.getProperty("cassandra.hosts", "127.0.0.1").split(",")) {
      builder.addContactPoint(new InetSocketAddress(host, port));
    }
    session = builder.build();
    create(p);
  }

  private static void create(Properties p) {
    String strategy = p.getProperty("cassandra.replication_strategy", "SimpleStrategy");
    String factor = p.getProperty("cassandra.replication_factor", "1");
    String place = strategy.equals("SimpleStrategy") ? "replication_factor"
        : p.getProperty("cassandra.datacenter", "datacenter1");
    if (session.getMetadata().getKeyspace(KEYSPACE).isEmpty()) {
      session.execute(String.format("CREATE KEYSPACE IF NOT EXISTS %s WITH replication = {'class': '%s', '%s': %d}",
          KEYSPACE, strategy, place, Integer.parseInt(factor)));
      List<String> columns = new ArrayList<>();
      for (int i = 0; i < Integer.parseInt(p.getProperty("fieldcount", "10")); i++) {
        columns.add(quoted(p.getProperty("fieldnameprefix", "field") + i) + " varchar");
      }
      session.execute(String.format("CREATE TABLE IF NOT EXISTS %s (%s varchar PRIMARY KEY, %s)",
          tableOf(p.getProperty("table", "usertable")), KEY, String.join(", ", columns)));
    }
  }

  @Override
  void flush() throws Exception {
    for (String port : jmxPorts) {
      String url = "service:jmx:rmi:///jndi/rmi://127.0.0.1:" + port + "/jmxrmi";
      try (JMXConnector connector = JMXConnectorFactory.connect(new JMXServiceURL(url))) {
        MBeanServerConnection node = connector.getMBeanServerConnection();
        node.invoke(new ObjectName("org.apache.cassandra.db:type=StorageService"), "forceKeyspaceFlush",
            new Object[] {KEYSPACE, new String[0]}, new String[] {String.class.getName(), String[].class.getName()});
      }
    }
  }

  @Override
  void close() {
    session.close();
  }

  @Override
  Status get(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    String query = "SELECT " + columns(fields) + " FROM " + tableOf(table) + " WHERE " + KEY + " = ?";
    Row row = session.execute(prepared(query).bind(key).setConsistencyLevel(readLevel)).one();
    if (row == null) {
      return Status.NOT_FOUND;
    }
    fill(row, result);
    return Status.OK;
  }

  @Override
  Status getRange(String table, String start, int count, Set<String> fields,
      Vector<HashMap<String, ByteIterator>> result) {
    String query = "SELECT " + columns(fields) + " FROM " + tableOf(table) + " WHERE token(" + KEY + ") >= token(?)"
        + " LIMIT ?";
    for (Row row : session.execute(prepared(query).bind(start, count).setConsistencyLevel(readLevel))) {
      HashMap<String, ByteIterator> values = new HashMap<>();
      fill(row, values);
      result.add(values);
    }
    return Status.OK;
  }

  @Override
  Status put(String table, String key, Map<String, ByteIterator> values) {
    List<String> names = new ArrayList<>(values.keySet());
    Collections.sort(names);
    Object[] bound = new Object[names.size() + 1];
    bound[0] = key;
    StringBuilder columns = new StringBuilder(KEY);
    for (int i = 0; i < names.size(); i++) {
      String value = values.get(names.get(i)).toString();
      written(value.length());
      bound[i + 1] = value;
      columns.append(", ").append(quoted(names.get(i)));
    }
    String marks = String.join(", ", Collections.nCopies(bound.length, "?"));
    String query = "INSERT INTO " + tableOf(table) + " (" + columns + ") VALUES (" + marks + ")";
    session.execute(prepared(query).bind(bound).setConsistencyLevel(writeLevel));
    return Status.OK;
  }

  @Override
  Status remove(String table, String key) {
    String query = "DELETE FROM " + tableOf(table) + " WHERE " + KEY + " = ?";
    session.execute(prepared(query).bind(key).setConsistencyLevel(writeLevel));
    return Status.OK;
  }

  private void fill(Row row, Map<String, ByteIterator> values) {
    for (ColumnDefinition column : row.getColumnDefinitions()) {
      String name = column.getName().asInternal();
      String value = name.equals(KEY) ? null : row.getString(column.getName());
      if (value != null) {
        read(value.length());
        values.put(name, new StringByteIterator(value));
      }
    }
  }

  private static PreparedStatement prepared(String query) {
    PreparedStatement known = STATEMENTS.get(query);
    return known != null ? known : STATEMENTS.computeIfAbsent(query, session::prepare);
  }

  private static String tableOf(String table) {
    return KEYSPACE + "." + table;
  }

  private static String columns(Set<String> fields) {
    if (fields == null) {
      return "*";
    }
    List<String> quoted = new ArrayList<>();
    fields.forEach(field -> quoted.add(quoted(field)));
    return String.join(", ", quoted);
  }

  private static String quoted(String name) {
    return '"' + name.replace("\"", "\"\"") + '"';
  }
}
