// A client that writes numbered rows of one field, alone or in batches: in order, in a random order each once, or
// drawn.
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
  bool complete = false;      // every row counts: the first that the database refuses ends the work, busy or not
  bool replace = false;       // upserts, else inserts
  std::uint64_t first = 0;    // number of the first row
  std::uint64_t count = 0;    // of rows; 0: no end (sequential only)
  std::size_t key_width = 0;  // digits
  std::uint64_t value_bytes = 0;
  std::uint64_t batch_records = 1;
};

// The clients share the rows: each takes every n-th place of the order.
class RowWriter final : public Client {
 public:
  // The values outlive the client.
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
