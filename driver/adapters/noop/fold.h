// Folds every byte of keys, field names and values into 64 bits, cheaply; no cryptographic promise.
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
    mix(1, tail(bytes, left) ^ text.size());
  }

  [[nodiscard]] std::uint64_t value() const {
    std::uint64_t folded = lanes_[0] ^ std::rotl(lanes_[1], 16) ^ std::rotl(lanes_[2], 32) ^ std::rotl(lanes_[3], 48);
    folded ^= folded >> 32U;
    return folded * factor;
  }

 private:
  static constexpr std::size_t word_bytes = sizeof(std::uint64_t);
  static constexpr std::uint64_t factor = 0x9FB21C651E98DF25U;

  static std::uint64_t word(const char* bytes) {
    std::uint64_t loaded;
    std::memcpy(&loaded, bytes, word_bytes);
    return loaded;
  }

  static std::uint64_t tail(const char* bytes, std::size_t count) {
    std::uint64_t loaded = 0;
    for (std::size_t i = 0; i < count; ++i) loaded = loaded << 8U | static_cast<unsigned char>(bytes[i]);
    return loaded;
  }

  void mix(std::size_t lane, std::uint64_t word) { lanes_[lane] = (std::rotl(lanes_[lane], 23) ^ word) * factor; }

  std::array<std::uint64_t, 4> lanes_{1, 2, 3, 4};
};

}  // namespace edgejoule::driver
