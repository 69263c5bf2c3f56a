// Memory on separate cache lines. If two threads write to one line with every operation, each waits for the other's
// core (false sharing).
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace edgejoule::driver {

inline constexpr std::size_t cache_line_bytes = 64;

// Allocates whole cache lines for standard containers.
template <typename T>
struct CacheLineAllocator {
  using value_type = T;

  CacheLineAllocator() = default;
  template <typename U>
  CacheLineAllocator(const CacheLineAllocator<U>&) noexcept {}

  [[nodiscard]] T* allocate(std::size_t count) {
    if (count > (~std::size_t{0} - cache_line_bytes) / sizeof(T)) throw std::bad_array_new_length();
    const auto lines = (count * sizeof(T) + cache_line_bytes - 1) / cache_line_bytes;
    const auto bytes = lines * cache_line_bytes;
    return static_cast<T*>(::operator new(bytes, alignment));
  }
  void deallocate(T* lines, std::size_t) noexcept { ::operator delete(lines, alignment); }

  friend bool operator==(const CacheLineAllocator&, const CacheLineAllocator&) = default;

 private:
  static_assert(alignof(T) <= cache_line_bytes);
  static constexpr std::align_val_t alignment{cache_line_bytes};
};

template <typename T>
using CacheLineVector = std::vector<T, CacheLineAllocator<T>>;

}  // namespace edgejoule::driver
