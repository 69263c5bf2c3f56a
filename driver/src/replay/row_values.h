// The fields of a replay's rows, filled with random bytes.
#pragma once

#include <string_view>
#include <vector>

#include "../cache_lines.h"
#include "../random.h"
#include "replay_workload.h"

namespace edgejoule::driver {

class RowValues {
 public:
  explicit RowValues(const ReplayWork& work)
      : pool_(work.values),
        names_(work.workload.fields.begin(), work.workload.fields.end()),
        fields_(work.workload.fields.size()) {}

  // All fields, which share the bytes; the first ones get what is left over. The view lives until the next call.
  Fields all(Random& random, std::uint64_t bytes) {
    const auto count = names_.size();
    for (std::size_t i = 0; i < count; ++i) {
      fields_[i] = {names_[i], pool_.cut(random, bytes / count + (i < bytes % count ? 1 : 0))};
    }
    return fields_;
  }

  // One field, drawn, with all bytes.
  Fields one(Random& random, std::uint64_t bytes) {
    fields_[0] = {names_[static_cast<std::size_t>(random.below(names_.size()))], pool_.cut(random, bytes)};
    return Fields(fields_.data(), 1);
  }

 private:
  const ValuePool& pool_;
  std::vector<std::string_view> names_;
  CacheLineVector<Field> fields_;
};

}  // namespace edgejoule::driver
