package edgejoule.ycsb;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.Vector;
import java.util.concurrent.ThreadLocalRandom;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * Stores only counts of its operations. Properties: recorder.file (where they go), recorder.dimensions
 * (which, separated by commas), recorder.seed (of each thread's generator, so that a run repeats).
 */
public final class RecordingDB extends DB {
  private static int threads = 0;
  private static int working = 0;
  private static Tally all = null;

  private Tally tally;

  @Override
  public void init() throws DBException {
    final Set<String> dimensions = new TreeSet<>(Set.of(getProperties().getProperty("recorder.dimensions").split(",")));
    final long records = Long.parseLong(getProperties().getProperty("recordcount"));
    tally = new Tally(dimensions, records);
    synchronized (RecordingDB.class) {
      if (all == null) all = new Tally(dimensions, records);
      seed(Long.parseLong(getProperties().getProperty("recorder.seed")), threads);
      ++threads;
      ++working;
    }
  }

  /** YCSB draws from ThreadLocalRandom, which takes no seed; its state is two fields of the thread. */
  private static void seed(long seed, int thread) throws DBException {
    ThreadLocalRandom.current();
    try {
      set("threadLocalRandomSeed", (seed + thread) * 0x9E3779B97F4A7C15L);
      set("tid", 1_000_000L + thread);
    } catch (ReflectiveOperationException refused) {
      throw new DBException("the thread's generator cannot be seeded", refused);
    }
  }

  private static void set(String name, long value) throws ReflectiveOperationException {
    final Field field = Thread.class.getDeclaredField(name);
    field.setAccessible(true);
    field.setLong(Thread.currentThread(), value);
  }

  @Override
  public void cleanup() throws DBException {
    synchronized (RecordingDB.class) {
      all.add(tally);
      if (--working > 0) return;
      try (PrintStream out = new PrintStream(new FileOutputStream(getProperties().getProperty("recorder.file")))) {
        all.print(out);
      } catch (IOException failure) {
        throw new DBException(failure);
      }
    }
  }

  @Override
  public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    tally.read(key, fields);
    return Status.OK;
  }

  @Override
  public Status scan(String table, String startkey, int recordcount, Set<String> fields,
      Vector<HashMap<String, ByteIterator>> result) {
    tally.scan(startkey, recordcount, fields);
    return Status.OK;
  }

  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    tally.update(key, values);
    return Status.OK;
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    tally.insert(key, values);
    return Status.OK;
  }

  @Override
  public Status delete(String table, String key) {
    return Status.NOT_IMPLEMENTED;
  }
}
