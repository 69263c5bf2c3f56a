// The base of the clients of db_bench's benchmarks: puts and gets numbered keys, and draws the numbers that db_bench
// draws in the thread of the same number.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string_view>

#include "db_bench_workload.h"
#include "remainder.h"
#include "run/client.h"
#include "system/cache_lines.h"
#include "system/memory_size.h"
#include "workload/compressible_values.h"

namespace edgejoule::driver::db_bench {

// db_bench's key names: the number as big-endian bytes, padded with '0' to the key's length. A shorter key has only the
// low bytes of the number.
//
// Builds the name in its own buffer. A view is valid until the next call. One per thread.
class NumberKey {
 public:
  explicit NumberKey(std::uint64_t bytes) : buffer_(memory_size(bytes), '0') {}

  std::string_view of(std::uint64_t number) {
    for (auto place = std::min(buffer_.size(), sizeof number); place-- > 0; number >>= 8U) {
      buffer_[place] = static_cast<char>(number & 0xFFU);
    }
    return {buffer_.data(), buffer_.size()};
  }

 private:
  CacheLineVector<char> buffer_;
};

class DbBenchClient : public Client {
 protected:
  DbBenchClient(DbBenchWork& shared, Session& session, unsigned number);

  [[nodiscard]] const DbBenchWorkload& workload() const { return shared_.workload; }

  // db_bench draws one of its databases before each key. With one database the draw must still be made.
  void draw_database() { random_.discard(1); }
  std::uint64_t draw_key() { return below_keys_.of(random_()); }  // uniform
  std::string_view key(std::uint64_t number) { return key_.of(number); }
  std::string_view value(std::uint64_t bytes) { return values_.next(bytes); }

  void put(std::uint64_t number, std::uint64_t value_bytes);
  void get(std::uint64_t number);
  void seek(std::uint64_t number, std::uint64_t records);

 private:
  static constexpr std::array<std::string_view, 1> nameless{""};

  DbBenchWork& shared_;
  std::mt19937_64 random_;
  Remainder below_keys_;
  NumberKey key_;
  ValueCutter values_;
  Row row_;
  std::vector<Row> rows_;
};

}  // namespace edgejoule::driver::db_bench
