// One cut, examined: the disk that it leaves, mounted, the database on it opened, every row read.
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
    database_failed,     // it did not open, or failed while it was read
    file_system_failed,  // it did not mount: nothing can be said of the database
  };
  Cut cut;
  Kind kind;
  std::string failure;  // in the words of who failed; for `judged`, of the first row that could not be read
  Judgement judgement;  // a database that failed has lost all rows; meaningless when the file system failed
};

// Throws Interrupted, and std::exception when the disk itself cannot be made.
[[nodiscard]] CutOutcome examine(const Recording& recording, const DatabaseSetting& setting, const TestDisk& disk,
                                 const StreamShape& stream, const Cut& cut, Flushes flushes,
                                 const Workplace& workplace);

// Where cuts of this recording may be: from the first acknowledgement to the end.
[[nodiscard]] CutPlan cut_plan(const Recording& recording, Flushes flushes);

}  // namespace edgejoule::driver
