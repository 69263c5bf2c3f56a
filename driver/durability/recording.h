// Runs a database on a recorded disk. The result is the trace of the disk, and for each write when it began and was
// acknowledged.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "block_trace.h"
#include "contract/adapter.h"
#include "contract/properties.h"
#include "cut.h"
#include "file_system.h"
#include "judge.h"
#include "operation_stream.h"
#include "shared_memory.h"
#include "workplace.h"

namespace edgejoule::driver {

// One database with one combination of settings.
struct DatabaseSetting {
  const AdapterInfo* adapter = nullptr;
  Properties properties;  // NAME.path is inside the workplace
  Durability durability = Durability::process;
  Durability promise = Durability::process;  // the class by which it is judged
};

struct TestDisk {
  FileSystemKind file_system;
  std::uint64_t bytes = 0;
};

struct StreamShape {
  std::uint64_t operations = 0;
  unsigned threads = 1;
  std::uint64_t seed = 0;
};

struct Recording {
  std::unique_ptr<SharedMemory> base;  // the disk at position 0
  std::unique_ptr<BlockTrace> trace;
  std::vector<PerformedWrite> writes;
  std::uint32_t keys = 0;
  std::uint64_t end_position = 0;     // position after the database was closed
  std::vector<Positions> background;  // background work that the database reported
  std::string version;
  std::string durability_how;
};

// Throws UsageError, RunFailure and Interrupted.
[[nodiscard]] Recording record(const DatabaseSetting& setting, const TestDisk& disk, const StreamShape& stream,
                               const Workplace& workplace);

// The contents of the stream's rows for this setting (fieldcount, fieldlength).
[[nodiscard]] RowContent row_content(const Properties& properties, std::uint64_t seed);

}  // namespace edgejoule::driver
