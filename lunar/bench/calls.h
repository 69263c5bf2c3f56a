// What single calls ask of the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "lunar.h"

namespace lunar_bench {

struct Calling {
  std::size_t buffer_bytes = LUNAR_BUFFER_BYTES_MIN(512);
  lunar_index index = LUNAR_INDEX_TREE;
  bool ring = false;
  std::int64_t rows = 100'000;  // in the table; a ring is full
  std::int64_t calls = 20'000;  // of each operation on a row
};

// Requests of a call in mode full, each kind and all together as mean and most: format, mount (after a power cut),
// insert, get, update (equal length), remove, cursor (one row), compact (16 rows; a ring has none), and of the whole
// table check, index create, repair (nothing is damaged), truncate, drop.
nlohmann::json calls(const Calling& calling);

}  // namespace lunar_bench
