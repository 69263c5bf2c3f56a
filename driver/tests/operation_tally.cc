#include "operation_tally.h"

#include <fmt/format.h>

namespace edgejoule::driver {
namespace {

constexpr std::size_t prefix_bytes = 4;  // "user"

std::string line(std::string_view dimension, std::string_view cell, std::uint64_t count) {
  return count == 0 ? "" : fmt::format("{},{},{}\n", dimension, cell, count);
}

}  // namespace

void OperationTally::read(std::string_view key, FieldNames names) {
  count("operation", "READ");
  asked(key, names);
}

void OperationTally::scan(std::string_view key, std::uint64_t records, FieldNames names) {
  count("operation", "SCAN");
  count("scan_length", std::to_string(records));
  asked(key, names);
}

void OperationTally::update(std::string_view key, Fields fields) {
  count("operation", "UPDATE");
  requested(key);
  written(fields);
}

void OperationTally::insert(std::string_view key, Fields fields) {
  count("operation", "INSERT");
  if (wanted("order")) count("order", fmt::format("{}:{}", inserted_, key));
  ++inserted_;
  ++next_;
  written(fields);
}

void OperationTally::add(const OperationTally& other) {
  for (const auto& [dimension, cells] : other.counts_) {
    for (const auto& [cell, number] : cells) counts_[dimension][cell] += number;
  }
  for (std::size_t place = 0; place < group_bytes; ++place) {
    for (std::size_t value = 0; value < 256; ++value) bytes_[place][value] += other.bytes_[place][value];
  }
  for (std::size_t i = 0; i < shared_bits.size(); ++i) {
    for (std::size_t bits = 0; bits < 4; ++bits) shared_[i][bits] += other.shared_[i][bits];
  }
}

std::string OperationTally::lines() const {
  std::string text;
  for (const auto& [dimension, cells] : counts_) {
    for (const auto& [cell, number] : cells) text += line(dimension, cell, number);
  }
  for (std::size_t place = 0; place < group_bytes; ++place) {
    for (std::size_t value = 0; value < 256; ++value) {
      text += line("byte", fmt::format("{}:{}", place, value), bytes_[place][value]);
    }
  }
  for (std::size_t i = 0; i < shared_bits.size(); ++i) {
    for (std::size_t bits = 0; bits < 4; ++bits) {
      text += line("shared", fmt::format("{}:{}", shared_bits[i].place, bits), shared_[i][bits]);
    }
  }
  return text;
}

void OperationTally::count(std::string_view dimension, std::string_view cell) {
  if (wanted(dimension)) ++counts_[std::string(dimension)][std::string(cell)];
}

void OperationTally::requested(std::string_view key) {
  count("key", key);
  if (!wanted("age")) return;
  const auto number = std::stoull(std::string(key.substr(prefix_bytes)));
  count("age", std::to_string(static_cast<std::int64_t>(next_ - 1 - number)));
}

void OperationTally::asked(std::string_view key, FieldNames names) {
  requested(key);
  count("fields_asked", names.empty() ? "all" : std::to_string(names.size()));
  if (names.size() == 1) count("field_read", names.front());
}

void OperationTally::written(Fields fields) {
  count("fields_written", std::to_string(fields.size()));
  if (fields.size() == 1) count("field_written", fields.front().name);
  for (const auto& field : fields) {
    count("field_length", std::to_string(field.value.size()));
    if (wanted("byte")) bytes_of(field.value);
  }
}

void OperationTally::bytes_of(std::string_view value) {
  for (std::size_t i = 0; i < value.size(); ++i) ++bytes_[i % group_bytes][static_cast<unsigned char>(value[i])];
  for (std::size_t begin = 0; begin + group_bytes <= value.size(); begin += group_bytes) {
    for (std::size_t i = 0; i < shared_bits.size(); ++i) {
      const auto& bits = shared_bits[i];
      const auto first = static_cast<unsigned>(value[begin + bits.place] - ' ') >> bits.first_bit & 1U;
      const auto second = static_cast<unsigned>(value[begin + bits.place + 1] - ' ') >> bits.second_bit & 1U;
      ++shared_[i][first << 1U | second];
    }
  }
}

}  // namespace edgejoule::driver
