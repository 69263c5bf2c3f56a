#include "length_histogram.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <numeric>
#include <optional>
#include <string_view>

#include "system/usage_error.h"

namespace edgejoule::driver {
namespace {

constexpr std::uint64_t number_max = 1U << 30U;  // limit of the bytes in a block and of a weight

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || end != text.data() + text.size() || value > number_max) return std::nullopt;
  return value;
}

struct Line {
  std::string_view name;
  std::string_view value;
};

Line split(std::string_view text) {
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  const auto tab = text.find('\t');
  if (tab == std::string_view::npos) return {text, {}};
  return {text.substr(0, tab), text.substr(tab + 1)};
}

struct Histogram {
  std::uint64_t block_bytes;
  std::vector<std::uint64_t> weights;
};

Histogram read(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) {
    throw UsageError(fmt::format("{}: cannot be read: {}; expected the file that fieldlengthhistogram names",
                                 file.string(), std::strerror(errno)));
  }
  std::string text;
  std::getline(in, text);
  const auto head = split(text);
  const auto block_bytes = number(head.value);
  if (head.name != "BlockSize" || !block_bytes) {
    throw UsageError(fmt::format("{}:1: expected \"BlockSize\", a tab and the bytes of a block", file.string()));
  }
  Histogram histogram{*block_bytes, {}};
  for (std::size_t line = 2; std::getline(in, text); ++line) {
    const auto bucket = split(text);
    const auto weight = number(bucket.value);
    if (number(bucket.name) != histogram.weights.size() || !weight) {
      throw UsageError(fmt::format("{}:{}: expected {}, a tab and the weight of that bucket, a whole number",
                                   file.string(), line, histogram.weights.size()));
    }
    histogram.weights.push_back(*weight);
  }
  if (in.bad()) throw UsageError(fmt::format("{}: cannot be read: {}", file.string(), std::strerror(errno)));
  return histogram;
}

}  // namespace

LengthHistogram::LengthHistogram(const std::filesystem::path& file) {
  const auto [block_bytes, weights] = read(file);
  const auto area = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
  if (area == 0) throw UsageError(fmt::format("{}: expected a bucket with a weight above 0", file.string()));
  std::uint64_t sum = 0;
  for (std::size_t bucket = 0; bucket + 1 < weights.size(); ++bucket) {
    sum += weights[bucket];
    last_.push_back(sum);
    bytes_.push_back((bucket + 1) * block_bytes);
  }
  last_.push_back(area);
  bytes_.push_back((weights.size() - 1) * block_bytes);
  area_ = area;
}

std::uint64_t LengthHistogram::next(Random& random) const {
  const auto bucket = std::ranges::lower_bound(last_, random.below(area_)) - last_.begin();
  return bytes_[static_cast<std::size_t>(bucket)];
}

}  // namespace edgejoule::driver
