// Field lengths from a histogram in a file, drawn as YCSB's HistogramGenerator draws them.
//
// The file's first line is "BlockSize", a tab and the bytes of a block. Each further line is the number of a bucket
// (from 0), a tab and its weight. A length is a whole number of blocks. Bucket b means b + 1 blocks. As in YCSB 0.17.0,
// there are two exceptions: the last bucket means as many blocks as the one before it, and the weight of bucket 0 is
// one higher and that of the last bucket one lower than in the file.
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
  std::vector<std::uint64_t> last_;   // by bucket: the largest draw in it
  std::vector<std::uint64_t> bytes_;  // by bucket
};

}  // namespace edgejoule::driver
