// The fields of replayed rows, filled with random bytes.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "replay_workload.h"
#include "system/cache_lines.h"
#include "system/random.h"
#include "workload/values.h"

namespace edgejoule::driver {

class RowValues {
 public:
  explicit RowValues(const ReplayWork& work)
      : names_(work.workload.fields.begin(), work.workload.fields.end()),
        lengths_(names_.size()),
        fields_(names_.size()) {}

  // All fields, which share the bytes; the first fields get the remainder. The view is valid until the next call.
  Fields all(RandomBytes& random, std::uint64_t bytes) {
    const auto count = names_.size();
    for (std::size_t i = 0; i < count; ++i) {
      fields_[i].name = names_[i];
      lengths_[i] = bytes / count + (i < bytes % count ? 1 : 0);
    }
    buffer_.draw(random, lengths_, fields_);
    return fields_;
  }

  // One random field with all the bytes.
  Fields one(Random& choice, RandomBytes& random, std::uint64_t bytes) {
    fields_[0].name = names_[static_cast<std::size_t>(choice.below(names_.size()))];
    buffer_.draw(random, std::span(&bytes, 1), fields_);
    return Fields(fields_.data(), 1);
  }

 private:
  std::vector<std::string_view> names_;
  std::vector<std::uint64_t> lengths_;
  CacheLineVector<Field> fields_;
  ValueBuffer buffer_;
};

}  // namespace edgejoule::driver
