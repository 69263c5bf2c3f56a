// A database at work on a recorded disk: the trace of the disk, and for each write when it began and was acknowledged.
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

// One database under one group of settings.
struct DatabaseSetting {
  const AdapterInfo* adapter = nullptr;
  Properties properties;  // with NAME.path inside the workplace
  Durability durability = Durability::process;
  Durability promise = Durability::process;  // what it is judged by
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
  std::uint64_t end_position = 0;     // the database is closed
  std::vector<Positions> background;  // the database's own work, as it reports it
  std::string version;
  std::string durability_how;
};

// Throws UsageError, RunFailure and Interrupted.
[[nodiscard]] Recording record(const DatabaseSetting& setting, const TestDisk& disk, const StreamShape& stream,
                               const Workplace& workplace);

// The content of the stream's rows for this setting (fieldcount, fieldlength).
[[nodiscard]] RowContent row_content(const Properties& properties, std::uint64_t seed);

}  // namespace edgejoule::driver
