// Field lengths drawn from a histogram in a file, as YCSB's HistogramGenerator draws them.
//
// The file's first line is "BlockSize", a tab and the bytes of a block. Each further line is the number of a bucket,
// from 0, a tab and its weight. A length is a whole number of blocks: bucket b stands for b + 1 blocks, except that the
// last bucket stands for as many blocks as the one before it, and that bucket 0 weighs one more than it says at the
// last one's cost: YCSB 0.17.0 draws so, and so does this.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "system/random.h"

namespace edgejoule::driver {

class LengthHistogram {
 public:
  // Throws UsageError with file and line.
  explicit LengthHistogram(const std::filesystem::path& file);

  [[nodiscard]] std::uint64_t next(Random& random) const;
  [[nodiscard]] std::uint64_t longest() const { return bytes_.back(); }

 private:
  std::uint64_t area_ = 0;            // sum of the weights
  std::vector<std::uint64_t> last_;   // by bucket: the largest draw that falls into it
  std::vector<std::uint64_t> bytes_;  // by bucket
};

}  // namespace edgejoule::driver
