// Folds every byte of keys, field names and values into 64 bits at low cost. Not a cryptographic hash.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace edgejoule::driver {

class Fold {
 public:
  void add(std::string_view text) {
    const char* bytes = text.data();
    auto left = text.size();
    for (; left >= 4 * word_bytes; left -= 4 * word_bytes, bytes += 4 * word_bytes) {
      for (std::size_t lane = 0; lane < 4; ++lane) mix(lane, word(bytes + lane * word_bytes));
    }
    for (; left >= word_bytes; left -= word_bytes, bytes += word_bytes) mix(0, word(bytes));
    mix(1, tail(bytes + left, left, text.size()) ^ text.size());
  }

  [[nodiscard]] std::uint64_t value() const {
    std::uint64_t folded = lanes_[0] ^ std::rotl(lanes_[1], 16) ^ std::rotl(lanes_[2], 32) ^ std::rotl(lanes_[3], 48);
    folded ^= folded >> 32U;
    return folded * factor;
  }

 private:
  static constexpr std::size_t word_bytes = sizeof(std::uint64_t);
  static constexpr std::size_t half_bytes = sizeof(std::uint32_t);
  static constexpr std::uint64_t factor = 0x9FB21C651E98DF25U;

  static std::uint64_t word(const char* bytes) {
    std::uint64_t loaded;
    std::memcpy(&loaded, bytes, word_bytes);
    return loaded;
  }

  static std::uint64_t half(const char* bytes) {
    std::uint32_t loaded;
    std::memcpy(&loaded, bytes, half_bytes);
    return loaded;
  }

  // Folds the last `left` bytes of a text of `size` bytes. It may include bytes before them if that saves branches.
  static std::uint64_t tail(const char* end, std::size_t left, std::size_t size) {
    if (left == 0) return 0;
    if (size >= word_bytes) return word(end - word_bytes);
    if (size >= half_bytes) return half(end - size) | half(end - half_bytes) << 32U;
    std::uint64_t loaded = 0;
    for (const char* byte = end - size; byte != end; ++byte) loaded = loaded << 8U | static_cast<unsigned char>(*byte);
    return loaded;
  }

  void mix(std::size_t lane, std::uint64_t word) { lanes_[lane] = (std::rotl(lanes_[lane], 23) ^ word) * factor; }

  std::array<std::uint64_t, 4> lanes_{1, 2, 3, 4};
};

}  // namespace edgejoule::driver
