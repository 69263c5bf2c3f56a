package edgejoule.ycsb;

/**
 * What all threads of a client did: the times of the first and the last operation, and bytes.
 *
 * <p>YCSB's own run time holds the opening of connections; these times do not. They are of CLOCK_MONOTONIC, in ns.
 */
final class Tally {
  private static boolean begun;
  private static long firstNs;
  private static long lastNs;
  private static long readBytes;
  private static long writtenBytes;
  private static String failure;

  private Tally() {}

  /** The first operation of a thread begins. */
  static synchronized void begin(long nowNs) {
    if (!begun) {
      begun = true;
      firstNs = nowNs;
      System.err.println("edgejoule: active");
    }
  }

  /** A thread has done its last operation. */
  static synchronized void add(long endNs, long read, long written) {
    lastNs = Math.max(lastNs, endNs);
    readBytes += read;
    writtenBytes += written;
  }

  /** Why an operation failed; the first one is told. */
  static synchronized void failed(Exception error) {
    if (failure == null) {
      failure = String.valueOf(error.getMessage());
      System.err.println("edgejoule: failed: " + failure.replace('\n', ' '));
    }
  }

  /** All threads have done. */
  static synchronized void tell() {
    System.err.printf(
        "edgejoule: done first_ns=%d last_ns=%d payload_read_bytes=%d payload_write_bytes=%d%n",
        firstNs, lastNs, readBytes, writtenBytes);
  }
}
