// Clients that write records, one at a time or in batches.
#pragma once

#include <cstdint>

#include "db_bench_client.h"
#include "system/cache_lines.h"

namespace edgejoule::driver::db_bench {

class FillClient : public DbBenchClient {
 protected:
  FillClient(DbBenchWork& shared, Session& session, unsigned number);

 private:
  std::uint64_t step(std::uint64_t most) final;
  std::uint64_t write_batch(std::uint64_t most);
  virtual void begin_batch() = 0;
  virtual std::uint64_t next_number() = 0;

  CacheLineVector<NumberKey> keys_;
  CacheLineVector<Field> values_;
  CacheLineVector<Record> batch_;
};

// Writes each key once, in order. Each client takes every threads-th key.
class SequentialFill final : public FillClient {
 public:
  SequentialFill(DbBenchWork& shared, Session& session, unsigned number)
      : FillClient(shared, session, number), next_(number), stride_(shared.threads) {}

 private:
  void begin_batch() override {}
  std::uint64_t next_number() override { return (next_ += stride_) - stride_; }

  std::uint64_t next_;
  std::uint64_t stride_;
};

// Draws keys with replacement.
class RandomFill final : public FillClient {
 public:
  RandomFill(DbBenchWork& shared, Session& session, unsigned number) : FillClient(shared, session, number) {}

 private:
  void begin_batch() override { draw_database(); }
  std::uint64_t next_number() override { return draw_key(); }
};

}  // namespace edgejoule::driver::db_bench
