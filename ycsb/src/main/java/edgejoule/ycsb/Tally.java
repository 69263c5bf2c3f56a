package edgejoule.ycsb;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What all threads of a client did: the times of the first and the last operation, and bytes.
 *
 * <p>YCSB's own run time holds the opening of connections; these times do not. They are of CLOCK_MONOTONIC, in ns.
 */
final class Tally {
  private static final int CAUSES_MAX = 32;

  private static final Map<String, Cause> CAUSES = new LinkedHashMap<>();
  private static boolean begun;
  private static long firstNs;
  private static long lastNs;
  private static long lastSuccessNs;
  private static long gapNs;
  private static long gapStartNs;
  private static long readBytes;
  private static long writtenBytes;
  private static String failure;

  /** Failures whose messages differ in digits only; the message is the first one's. */
  private static final class Cause {
    final String operation;
    final String message;
    long count;

    Cause(String operation, String message) {
      this.operation = operation;
      this.message = message;
    }
  }

  private Tally() {}

  /** Reports that the connection is open, and waits for a line: until then nothing is read from the database. */
  static void awaitLine() throws IOException {
    System.err.println("edgejoule: connected");
    for (int next = System.in.read(); next != '\n'; next = System.in.read()) {
      if (next < 0) {
        throw new IOException("standard input was closed before the first operation");
      }
    }
  }

  /** The first operation of a thread begins. */
  static synchronized void begin(long nowNs) {
    if (!begun) {
      begun = true;
      firstNs = nowNs;
      lastSuccessNs = nowNs;
      gapStartNs = nowNs;
      System.err.println("edgejoule: active");
    }
  }

  /**
   * An operation succeeded.
   *
   * @return when the thread must report next: a gap without a success is reported at most a millisecond too long
   */
  static synchronized long succeeded(long atNs) {
    if (atNs > lastSuccessNs) {
      if (atNs - lastSuccessNs > gapNs) {
        gapNs = atNs - lastSuccessNs;
        gapStartNs = lastSuccessNs;
      }
      lastSuccessNs = atNs;
    }
    return atNs + 1_000_000;
  }

  /** A thread whose last operation succeeded had nothing to do until then: no part of a gap. Returns the same. */
  static synchronized long idleUntil(long atNs) {
    lastSuccessNs = Math.max(lastSuccessNs, atNs);
    return atNs + 1_000_000;
  }

  /** Adds the totals of a thread that has ended. */
  static synchronized void add(long endNs, long read, long written) {
    lastNs = Math.max(lastNs, endNs);
    readBytes += read;
    writtenBytes += written;
  }

  /** The cause of a failure; the first one is printed at once. */
  static synchronized void failed(Exception error) {
    if (failure == null) {
      failure = messageOf(error);
      System.err.println("edgejoule: failed: " + failure);
    }
  }

  /** The cause of a failed operation: counted, and printed at the end. */
  static synchronized void failed(String operation, Exception error) {
    failed(error);
    String message = messageOf(error);
    String kind = operation + message.replaceAll("[0-9]+", "");
    if (!CAUSES.containsKey(kind) && CAUSES.size() >= CAUSES_MAX) {
      message = "other causes";
      kind = operation + message;
    }
    String cause = message;
    CAUSES.computeIfAbsent(kind, ignored -> new Cause(operation, cause)).count++;
  }

  private static String messageOf(Exception error) {
    String message = error.getMessage();
    return (message == null ? error.getClass().getSimpleName() : message).replaceAll("\\s+", " ").trim();
  }

  /** Prints the totals once all threads have ended. */
  static synchronized void report() {
    succeeded(lastNs);
    System.err.printf(
        "edgejoule: done first_ns=%d last_ns=%d payload_read_bytes=%d payload_write_bytes=%d longest_gap_ns=%d"
            + " longest_gap_start_ns=%d%n",
        firstNs, lastNs, readBytes, writtenBytes, gapNs, gapStartNs);
    CAUSES.values().forEach(cause -> System.err.printf(
        "edgejoule: cause operation=%s status=ERROR count=%d %s%n", cause.operation, cause.count, cause.message));
  }
}
