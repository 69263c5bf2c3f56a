// Predicts when level 0 stops a database's writes (Equations 1 and 2 of the paper). Counts files, as RocksDB does:
// writes stall at a number of files, whatever their size.
#pragma once

namespace eco {

struct LevelZero {
  double files = 0;     // now, with the input of the compaction in question and the fraction in the memtable
  double files_s = 0;   // files per second that the application's input creates
  double slowdown = 0;  // number that delays writes (level0_slowdown_writes_trigger)
  double stop = 0;      // number that stops writes (level0_stop_writes_trigger)
  double delayed = 0;   // share of the input lost while writes are delayed, in [0, 1]
  double stall = 0;     // the paper's threshold S_WST: slowdown, stop or another number; 0: stop
  double trigger = 0;   // number that starts a compaction (level0_file_num_compaction_trigger); 0: slowdown / 5

  // S(T): files after this time if no compaction ends.
  [[nodiscard]] double files_after(double seconds) const { return files + files_s * seconds; }
  [[nodiscard]] double threshold() const { return stall > 0 ? stall : stop; }
  [[nodiscard]] bool stalls_within(double seconds) const { return files_after(seconds) >= threshold(); }
  // Seconds until the stall, 0 or more; infinite without input.
  [[nodiscard]] double until_stall_s() const { return until(threshold()); }
  // Lost writing time within this time: stalls in full, delays by the share of input they take.
  [[nodiscard]] double lost_within(double seconds) const;
  // How far compactions are behind the input, in [0, 1]: 0 at the trigger, 1 at twice as many files. Each further
  // second of compaction then costs this much writing time later.
  [[nodiscard]] double behind() const;

 private:
  [[nodiscard]] double until(double limit) const;
};

}  // namespace eco
