// When a database's level 0 will stop its writes (Equations 1 and 2 of the paper), in files, as RocksDB counts: a write
// stalls when so many lie there, whatever their size.
#pragma once

namespace eco {

struct LevelZero {
  double files = 0;     // now, with those of the compaction that is asked about, and the part of one in the memtable
  double files_s = 0;   // that the application's input makes
  double slowdown = 0;  // from so many files on writes are delayed (level0_slowdown_writes_trigger)
  double stop = 0;      // and stopped (level0_stop_writes_trigger)
  double delayed = 0;   // the part of the input that a delay takes away, in [0, 1]
  double stall = 0;     // the paper's threshold, S_WST: either of the two, or another; 0: stop
  double trigger = 0;   // so many files are compacted (level0_file_num_compaction_trigger); 0: a fifth of slowdown

  // S(T): the files after so many seconds without a compaction's end.
  [[nodiscard]] double files_after(double seconds) const { return files + files_s * seconds; }
  [[nodiscard]] double threshold() const { return stall > 0 ? stall : stop; }
  [[nodiscard]] bool stalls_within(double seconds) const { return files_after(seconds) >= threshold(); }
  // Seconds until the stall, 0 or more; infinite without input.
  [[nodiscard]] double until_stall_s() const { return until(threshold()); }
  // Of so many seconds: how many the application cannot write in, delays counted by the part they take.
  [[nodiscard]] double lost_within(double seconds) const;
  // How far compactions are behind the input, in [0, 1]: at the trigger not at all, at twice as many files entirely.
  // Each further second of compaction is then one of writing that is lost later.
  [[nodiscard]] double behind() const;

 private:
  [[nodiscard]] double until(double limit) const;
};

}  // namespace eco
