// The requests that a block device performed, in order: each write with its data, and each flush.
//
// A position is a number of entries: at position p, entries 0 to p-1 are done. The device adds an entry before it
// answers the request. A process that has seen the answer therefore finds the entry below the position that it reads.
// One process adds entries. Others, forked after the trace was created, may call size() and read the entries below it
// at any time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "shared_memory.h"
#include "system/check.h"
#include "system/memory_size.h"

namespace edgejoule::driver {

struct TraceEntry {
  enum class Kind : std::uint32_t { write, flush };
  Kind kind;
  std::uint32_t bytes;   // 0: a flush
  std::uint64_t offset;  // on the device
  std::uint64_t data_at;
  std::uint64_t monotonic_ns;
};
static_assert(sizeof(TraceEntry) == 32 && offsetof(TraceEntry, bytes) == 4 && offsetof(TraceEntry, offset) == 8 &&
              offsetof(TraceEntry, data_at) == 16 && offsetof(TraceEntry, monotonic_ns) == 24);
static_assert(std::is_trivially_copyable_v<TraceEntry> && std::is_standard_layout_v<TraceEntry>);

class BlockTrace {
 public:
  BlockTrace(std::uint64_t entries_max, std::uint64_t data_bytes_max);

  // Returns false if the trace is full. The entry is then not added, and full() is true from then on. monotonic_ns must
  // not be before that of the last entry.
  [[nodiscard]] bool add_write(std::uint64_t offset, std::span<const std::byte> data, std::uint64_t monotonic_ns);
  [[nodiscard]] bool add_flush(std::uint64_t monotonic_ns);

  [[nodiscard]] std::uint64_t size() const;
  [[nodiscard]] const TraceEntry& entry(std::uint64_t index) const {
    EJ_CHECK(index < size(), index, size());
    return entries_[memory_size(index)];
  }
  [[nodiscard]] std::span<const std::byte> data(const TraceEntry& entry) const;
  [[nodiscard]] std::uint64_t data_bytes() const;
  [[nodiscard]] bool full() const;

  // The first position whose entry has that time or a later one.
  [[nodiscard]] std::uint64_t position_at(std::uint64_t monotonic_ns) const;

 private:
  struct State {
    std::atomic<std::uint64_t> size;
    std::atomic<std::uint64_t> data_bytes;
    std::atomic<bool> full;
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free,
                "shared between processes");
  static_assert(std::is_standard_layout_v<State> && sizeof(State) == 24);

  bool add(TraceEntry entry, std::span<const std::byte> data);

  SharedMemory state_memory_;
  SharedMemory entry_memory_;
  SharedMemory data_memory_;
  State* state_;
  std::span<TraceEntry> entries_;
};

}  // namespace edgejoule::driver
