// The lines of a trace that belong to one client, chosen by the hash of the key.
#pragma once

#include "replay_workload.h"
#include "system/check.h"
#include "trace_reader.h"

namespace edgejoule::driver {

// Hash of the bytes; the same on every machine.
[[nodiscard]] inline std::uint64_t key_hash(std::string_view key) {
  std::uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  // FNV's low bits alone are too regular for short keys.
  hash ^= hash >> 32U;
  hash *= 0x9E3779B97F4A7C15U;
  return hash ^ hash >> 29U;
}

class OwnLines {
 public:
  OwnLines(const ReplayWork& work, unsigned number)
      : reader_(work.workload.trace), lines_max_(work.workload.lines), threads_(work.threads), number_(number) {
    EJ_CHECK(number_ < threads_, number_, threads_);  // otherwise no line is its own
  }

  // The client's next line; nullptr at the end. Throws UsageError if the file has changed since it was checked.
  const TraceLine* next() {
    while (reader_.lines() < lines_max_) {
      const auto* line = reader_.next();
      if (line == nullptr) break;
      if (threads_ == 1 || key_hash(line->key) % threads_ == number_) return line;
    }
    return nullptr;
  }

 private:
  TraceReader reader_;
  const std::uint64_t lines_max_;
  const unsigned threads_;
  const unsigned number_;
};

}  // namespace edgejoule::driver
