// A client that, before the replay, writes the rows that its share of the trace expects to exist.
#pragma once

#include <string>

#include "key_set.h"
#include "own_lines.h"
#include "row_values.h"
#include "run/client.h"
#include "system/cache_lines.h"

namespace edgejoule::driver {

class ReplayLoadClient final : public Client {
 public:
  ReplayLoadClient(ReplayWork& work, Session& session, unsigned number);

 private:
  // A row of the current batch.
  struct Made {
    explicit Made(const ReplayWork& work) : values(work) {}

    std::string key;
    RowValues values;
  };

  std::uint64_t step(std::uint64_t most) override;
  const TraceLine* next_missing();
  [[nodiscard]] std::uint64_t bytes_of(const TraceLine& line) const;

  const ReplayWork& work_;
  const ReplayWorkload& workload_;
  OwnLines lines_;
  KeySet seen_;
  RandomBytes random_bytes_;
  CacheLineVector<Made> made_;
  CacheLineVector<Record> records_;
};

}  // namespace edgejoule::driver
