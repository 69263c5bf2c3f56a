package edgejoule.ycsb;

import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.Vector;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * A binding whose threads share one connection: the first to come opens it, the last to go closes it.
 *
 * <p>An operation that throws has failed (Status.ERROR); the first cause is printed.
 */
abstract class Binding extends DB {
  private static int threads;

  private boolean begun;
  private long lastNs;
  private long nextSuccessToldNs;
  private boolean lastSucceeded = true;
  private long readBytes;
  private long writtenBytes;

  /** Opens what all threads share. */
  abstract void open(Properties properties) throws Exception;

  /** Writes out what the database holds in memory. */
  abstract void flush() throws Exception;

  /** Closes what all threads share. */
  abstract void close() throws Exception;

  /** Opens this thread's own resources. */
  void openThread(Properties properties) throws Exception {}

  abstract Status get(String table, String key, Set<String> fields, Map<String, ByteIterator> result)
      throws Exception;

  abstract Status getRange(String table, String start, int count, Set<String> fields,
      Vector<HashMap<String, ByteIterator>> result) throws Exception;

  abstract Status put(String table, String key, Map<String, ByteIterator> values) throws Exception;

  /** A record that is not there yet. */
  Status create(String table, String key, Map<String, ByteIterator> values) throws Exception {
    return put(table, key, values);
  }

  abstract Status remove(String table, String key) throws Exception;

  final void read(long bytes) {
    readBytes += bytes;
  }

  final void written(long bytes) {
    writtenBytes += bytes;
  }

  @Override
  public final void init() throws DBException {
    try {
      synchronized (Binding.class) {
        if (threads++ == 0) {
          open(getProperties());
          if (Boolean.parseBoolean(getProperties().getProperty("edgejoule.wait"))) {
            Tally.awaitLine();
          }
        }
      }
      openThread(getProperties());
    } catch (Exception error) {
      Tally.failed(error);
      throw new DBException(error);
    }
  }

  @Override
  public final void cleanup() throws DBException {
    Tally.add(lastNs, readBytes, writtenBytes);
    synchronized (Binding.class) {
      if (--threads > 0) {
        return;
      }
      Tally.report();
      try {
        flush();
        System.err.println("edgejoule: flushed");
        close();
      } catch (Exception error) {
        Tally.failed(error);
        throw new DBException(error);
      }
    }
  }

  @Override
  public final Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    return timed("READ", () -> get(table, key, fields, result));
  }

  @Override
  public final Status scan(String table, String start, int count, Set<String> fields,
      Vector<HashMap<String, ByteIterator>> result) {
    return timed("SCAN", () -> {
      Status status = getRange(table, start, count, fields, result);
      // The record at which a scan begins is there: who finds none has lost it, or its index.
      return status.isOk() && result.isEmpty() ? Status.NOT_FOUND : status;
    });
  }

  @Override
  public final Status update(String table, String key, Map<String, ByteIterator> values) {
    return timed("UPDATE", () -> put(table, key, values));
  }

  @Override
  public final Status insert(String table, String key, Map<String, ByteIterator> values) {
    return timed("INSERT", () -> create(table, key, values));
  }

  @Override
  public final Status delete(String table, String key) {
    return timed("DELETE", () -> remove(table, key));
  }

  private interface Operation {
    Status run() throws Exception;
  }

  private Status timed(String name, Operation operation) {
    if (!begun) {
      begun = true;
      Tally.begin(System.nanoTime());
    } else if (lastSucceeded) {
      long nowNs = System.nanoTime();
      if (nowNs >= nextSuccessToldNs) {
        nextSuccessToldNs = Tally.idleUntil(nowNs);
      }
    }
    lastSucceeded = false;
    try {
      Status status = operation.run();
      lastSucceeded = status.isOk();
      return status;
    } catch (Exception error) {
      Tally.failed(name, error);
      return Status.ERROR;
    } finally {
      lastNs = System.nanoTime();
      if (lastSucceeded && lastNs >= nextSuccessToldNs) {
        nextSuccessToldNs = Tally.succeeded(lastNs);
      }
    }
  }
}
