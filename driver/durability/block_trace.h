// What a block device was asked to do, in the order in which it did it: each write with its data, each flush.
//
// A position is a number of entries: at position p, entries 0 to p-1 have been done. The device adds an entry before it
// answers the request, so that whoever has seen the answer finds the entry before the position it reads.
// One process adds; others, forked after the trace was made, may read size() and the entries below it at any time.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "shared_memory.h"
#include "system/memory_size.h"

namespace edgejoule::driver {

struct TraceEntry {
  enum class Kind : std::uint32_t { write, flush };
  Kind kind;
  std::uint32_t bytes;   // 0 for a flush
  std::uint64_t offset;  // on the device
  std::uint64_t data_at;
  std::uint64_t monotonic_ns;
};

class BlockTrace {
 public:
  BlockTrace(std::uint64_t entries_max, std::uint64_t data_bytes_max);

  // False when the trace is full: nothing was added, and full() holds from then on.
  [[nodiscard]] bool add_write(std::uint64_t offset, std::span<const std::byte> data, std::uint64_t monotonic_ns);
  [[nodiscard]] bool add_flush(std::uint64_t monotonic_ns);

  [[nodiscard]] std::uint64_t size() const;
  [[nodiscard]] const TraceEntry& entry(std::uint64_t index) const { return entries_[memory_size(index)]; }
  [[nodiscard]] std::span<const std::byte> data(const TraceEntry& entry) const;
  [[nodiscard]] std::uint64_t data_bytes() const;
  [[nodiscard]] bool full() const;

  // The first position at which an entry of that time or later is not yet done.
  [[nodiscard]] std::uint64_t position_at(std::uint64_t monotonic_ns) const;

 private:
  struct State {
    std::atomic<std::uint64_t> size;
    std::atomic<std::uint64_t> data_bytes;
    std::atomic<bool> full;
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared between processes");

  bool add(TraceEntry entry, std::span<const std::byte> data);

  SharedMemory state_memory_;
  SharedMemory entry_memory_;
  SharedMemory data_memory_;
  State* state_;
  std::span<TraceEntry> entries_;
};

}  // namespace edgejoule::driver
