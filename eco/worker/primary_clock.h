// The clock of the primary's database, at the worker. RocksDB writes the times of the outputs by it and compares them
// with the clock of the database later, so that a wrong clock of the worker must not reach them.
#pragma once

#include <rocksdb/env.h>
#include <rocksdb/system_clock.h>

#include <cstdint>
#include <memory>

namespace eco {

// One clock for all processes of this machine, which nobody sets.
[[nodiscard]] double steady_s();

// `files`, and the time that was unix_time_s when steady_s() was received_s. unix_time_s 0: an older primary does not
// tell its time, and the clock is this machine's.
[[nodiscard]] std::unique_ptr<rocksdb::Env> env_with_primary_clock(const std::shared_ptr<rocksdb::FileSystem>& files,
                                                                   std::int64_t unix_time_s, double received_s);

}  // namespace eco
