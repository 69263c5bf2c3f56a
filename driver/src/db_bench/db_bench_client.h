// What the clients of db_bench's benchmarks do: put and get numbered keys, draw numbers as the thread of that number.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string_view>

#include "../client.h"
#include "compressible_values.h"
#include "db_bench_workload.h"
#include "number_key.h"
#include "remainder.h"

namespace edgejoule::driver::db_bench {

class DbBenchClient : public Client {
 protected:
  DbBenchClient(DbBenchWork& shared, Session& session, unsigned number);

  [[nodiscard]] const DbBenchWorkload& workload() const { return shared_.workload; }

  // db_bench draws one of its databases before it draws a key. Here there is one, but the draw must be made.
  void draw_database() { random_.discard(1); }
  std::uint64_t draw_key() { return below_keys_.of(random_()); }  // all alike
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
