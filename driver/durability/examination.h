// Examines one cut: mounts the disk after the cut, opens the database on it, and reads every row.
#pragma once

#include <string>
#include <vector>

#include "cut.h"
#include "judge.h"
#include "recording.h"

namespace edgejoule::driver {

struct CutOutcome {
  enum class Kind : std::uint8_t {
    judged,
    database_failed,     // opening it or reading from it failed
    file_system_failed,  // the mount failed, so the database cannot be judged
  };
  Cut cut;
  Kind kind;
  std::string failure;  // message of the failed part; for `judged`, of the first unreadable row
  Judgement judgement;  // a failed database has lost all rows; undefined if the file system failed
};

// Throws Interrupted, and std::exception if the disk cannot be created.
[[nodiscard]] CutOutcome examine(const Recording& recording, const DatabaseSetting& setting, const TestDisk& disk,
                                 const StreamShape& stream, const Cut& cut, Flushes flushes,
                                 const Workplace& workplace);

// The possible positions of cuts: from the first acknowledgement to the end of the recording.
[[nodiscard]] CutPlan cut_plan(const Recording& recording, Flushes flushes);

}  // namespace edgejoule::driver
