#include "block_trace.h"

#include <algorithm>
#include <limits>
#include <new>

namespace edgejoule::driver {

BlockTrace::BlockTrace(std::uint64_t entries_max, std::uint64_t data_bytes_max)
    : state_memory_("trace state", sizeof(State)),
      entry_memory_("trace entries", memory_size(entries_max * sizeof(TraceEntry))),
      data_memory_("trace data", memory_size(data_bytes_max)),
      state_(new (state_memory_.bytes().data()) State{}),
      entries_(reinterpret_cast<TraceEntry*>(entry_memory_.bytes().data()), memory_size(entries_max)) {}

bool BlockTrace::add_write(std::uint64_t offset, std::span<const std::byte> data, std::uint64_t monotonic_ns) {
  EJ_CHECK(data.size() <= std::numeric_limits<std::uint32_t>::max(), data.size());
  return add({TraceEntry::Kind::write, static_cast<std::uint32_t>(data.size()), offset, 0, monotonic_ns}, data);
}

bool BlockTrace::add_flush(std::uint64_t monotonic_ns) {
  return add({TraceEntry::Kind::flush, 0, 0, 0, monotonic_ns}, {});
}

bool BlockTrace::add(TraceEntry entry, std::span<const std::byte> data) {
  const auto index = state_->size.load();
  const auto data_at = state_->data_bytes.load();
  EJ_CHECK(index <= entries_.size() && data_at <= data_memory_.bytes().size(), index, data_at);
  EJ_CHECK(index == 0 || entries_[memory_size(index - 1)].monotonic_ns <= entry.monotonic_ns, index,
           entry.monotonic_ns);  // position_at() uses a binary search
  const auto room = data_memory_.bytes().subspan(memory_size(data_at));
  if (state_->full || index == entries_.size() || data.size() > room.size()) {
    state_->full = true;
    return false;
  }
  std::ranges::copy(data, room.begin());
  entry.data_at = data_at;
  entries_[memory_size(index)] = entry;
  state_->data_bytes = data_at + data.size();
  state_->size = index + 1;
  return true;
}

std::uint64_t BlockTrace::size() const { return state_->size; }

std::uint64_t BlockTrace::data_bytes() const { return state_->data_bytes; }

bool BlockTrace::full() const { return state_->full; }

std::span<const std::byte> BlockTrace::data(const TraceEntry& entry) const {
  EJ_CHECK(entry.data_at <= data_bytes() && entry.bytes <= data_bytes() - entry.data_at, entry.data_at, entry.bytes);
  return data_memory_.bytes().subspan(memory_size(entry.data_at), entry.bytes);
}

std::uint64_t BlockTrace::position_at(std::uint64_t monotonic_ns) const {
  const auto done = entries_.first(memory_size(size()));
  const auto found = std::ranges::lower_bound(done, monotonic_ns, {}, &TraceEntry::monotonic_ns);
  return static_cast<std::uint64_t>(found - done.begin());
}

}  // namespace edgejoule::driver
