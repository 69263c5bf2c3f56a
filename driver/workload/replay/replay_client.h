// A client that performs its share of a trace.
#pragma once

#include <vector>

#include "own_lines.h"
#include "row_values.h"
#include "run/client.h"

namespace edgejoule::driver {

class ReplayClient final : public Client {
 public:
  ReplayClient(ReplayWork& work, Session& session, unsigned number);

 private:
  using WriteCall = Status (Session::*)(std::string_view, Fields);

  std::uint64_t step(std::uint64_t most) override;
  [[nodiscard]] bool has_times() const override { return workload_.speed > 0; }
  [[nodiscard]] std::uint64_t due_ns() override;

  bool look_ahead();
  void carry_out(const TraceLine& line);
  Status read(std::string_view key);
  Status write(Operation counted, std::string_view key, Fields fields, WriteCall call);
  [[nodiscard]] WriteCall update_call() const;
  Fields changes(std::uint64_t bytes);
  void scan(std::string_view key, std::uint64_t records);
  void remove(std::string_view key);
  void read_modify_write(std::string_view key, std::uint64_t bytes);

  const ReplayWorkload& workload_;
  OwnLines lines_;
  const TraceLine* line_ = nullptr;  // nullptr: not read yet, or end of the trace
  bool ended_ = false;
  Random random_;
  RandomBytes random_bytes_;
  RowValues values_;
  Row row_;
  std::vector<Row> rows_;
};

}  // namespace edgejoule::driver
