#include "operation_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "system/memory_size.h"
#include "system/random.h"

namespace edgejoule::driver {
namespace {

using Kind = WriteOperation::Kind;

// The keys of one thread.
class KeySpace {
 public:
  KeySpace(unsigned thread, unsigned threads, std::uint64_t seed)
      : next_key_(thread), threads_(threads), random_(seed) {}

  WriteOperation next() {
    constexpr double updates_from = 0.5;
    constexpr double removes_from = 0.85;
    const double draw = random_.uniform();
    if (live_.empty() || draw < updates_from) return insert();
    const auto place = memory_size(random_.below(live_.size()));
    const auto key = live_[place];
    if (draw < removes_from) return {Kind::update, key, bump(key)};
    live_[place] = live_.back();
    live_.pop_back();
    removed_.push_back(key);
    return {Kind::remove, key, bump(key)};
  }

 private:
  WriteOperation insert() {
    constexpr double again = 0.2;
    std::uint32_t key = next_key_;
    if (!removed_.empty() && random_.uniform() < again) {
      key = removed_.back();
      removed_.pop_back();
    } else {
      next_key_ += threads_;
    }
    live_.push_back(key);
    return {Kind::insert, key, bump(key)};
  }

  std::uint32_t bump(std::uint32_t key) {
    const auto place = key / threads_;
    if (place >= versions_.size()) versions_.resize(place + 1);
    return ++versions_[place];
  }

  std::uint32_t next_key_;
  std::uint32_t threads_;
  Random random_;
  std::vector<std::uint32_t> live_;
  std::vector<std::uint32_t> removed_;
  std::vector<std::uint32_t> versions_;
};

void fill(std::string& value, std::uint64_t bytes, std::uint64_t seed) {
  constexpr std::uint64_t letters = 26;
  Random random(seed);
  while (value.size() < bytes) value.push_back(static_cast<char>('a' + random.below(letters)));
}

}  // namespace

std::vector<WriteOperation> operation_stream(std::uint64_t operations, unsigned threads, std::uint64_t seed) {
  std::vector<KeySpace> spaces;
  for (unsigned thread = 0; thread < threads; ++thread) spaces.emplace_back(thread, threads, splitmix64(seed));
  std::vector<WriteOperation> stream;
  stream.reserve(memory_size(operations));
  for (std::uint64_t number = 0; number < operations; ++number)
    stream.push_back(spaces[memory_size(number % threads)].next());
  return stream;
}

std::uint32_t key_count(const std::vector<WriteOperation>& operations) {
  std::uint32_t count = 0;
  for (const auto& operation : operations) count = std::max(count, operation.key + 1);
  return count;
}

std::string stream_key(std::uint32_t key) { return fmt::format("user{:010}", key); }

RowContent::RowContent(std::vector<std::string> field_names, std::uint64_t field_bytes, std::uint64_t seed)
    : names_(std::move(field_names)), field_bytes_(field_bytes), seed_(seed), values_(names_.size()) {}

Fields RowContent::row(std::uint32_t key, std::uint32_t version) {
  fields_.clear();
  for (std::size_t field = 0; field < names_.size(); ++field) {
    auto& value = values_[field];
    value = fmt::format("{}.{}.{}.", version, key, field);
    auto state = seed_ ^ (std::uint64_t{key} << 32U) ^ version;
    fill(value, field_bytes_, splitmix64(state) + field);
    fields_.push_back({names_[field], value});
  }
  return fields_;
}

std::optional<std::uint32_t> RowContent::version_of(std::uint32_t key, const Row& row) {
  if (row.fields.size() != names_.size()) return std::nullopt;
  const auto stamp = row.fields.front().value;
  std::uint32_t version = 0;
  const auto [end, failure] = std::from_chars(stamp.data(), stamp.data() + stamp.size(), version);
  if (failure != std::errc{} || version == 0) return std::nullopt;
  for (const auto& expected : this->row(key, version)) {
    const auto found = std::ranges::find(row.fields, expected.name, &Field::name);
    if (found == row.fields.end() || found->value != expected.value) return std::nullopt;
  }
  return version;
}

}  // namespace edgejoule::driver
