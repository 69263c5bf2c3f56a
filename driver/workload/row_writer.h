// A client that writes numbered rows with one field, one at a time or in batches: in order, each once in random order,
// or random rows with repetition.
#pragma once

#include <cstdint>
#include <optional>

#include "compressible_values.h"
#include "decimal.h"
#include "permutation.h"
#include "record_batch.h"
#include "run/client.h"
#include "system/random.h"

namespace edgejoule::driver {

struct RowWriting {
  enum class Order : std::uint8_t { sequential, each_once, drawn };
  Order order = Order::sequential;
  bool complete = false;      // the work ends at the first refused row, even if the database is only busy
  bool replace = false;       // true: upsert, false: insert
  std::uint64_t first = 0;    // number of the first row
  std::uint64_t count = 0;    // of rows; 0: no end (sequential only)
  std::size_t key_width = 0;  // digits
  std::uint64_t value_bytes = 0;
  std::uint64_t batch_records = 1;
};

// The clients share the rows: each takes every n-th position of the order.
class RowWriter final : public Client {
 public:
  // The values must outlive the client.
  RowWriter(Work& work, Session& session, unsigned number, const RowWriting& writing,
            const db_bench::CompressibleValues& values);

 private:
  std::uint64_t step(std::uint64_t most) override;
  [[nodiscard]] std::optional<std::uint64_t> next_row();
  Status write();

  const RowWriting writing_;
  Random random_;
  std::optional<Permutation> permutation_;
  std::uint64_t place_;
  const std::uint64_t stride_;
  DecimalKey key_;
  db_bench::ValueCutter values_;
  RecordBatch batch_;
};

}  // namespace edgejoule::driver
