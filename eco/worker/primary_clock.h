// Gives RocksDB at the worker the clock of the primary's database. RocksDB stamps the outputs with it and later
// compares them with the database's clock; a wrong clock of the worker must not affect them.
#pragma once

#include <rocksdb/env.h>
#include <rocksdb/system_clock.h>

#include <cstdint>
#include <memory>

namespace eco {

// Monotonic seconds, common to all processes of this machine.
[[nodiscard]] double steady_s();

// An Env with `files` and a clock that showed unix_time_s when steady_s() was received_s. unix_time_s 0: the primary is
// older and sends no time; the clock is this machine's.
[[nodiscard]] std::unique_ptr<rocksdb::Env> env_with_primary_clock(const std::shared_ptr<rocksdb::FileSystem>& files,
                                                                   std::int64_t unix_time_s, double received_s);

}  // namespace eco
