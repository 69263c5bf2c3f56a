#include "values.h"

#include <array>
#include <bit>
#include <charconv>
#include <cstring>

#include "system/check.h"
#include "system/memory_size.h"
#include "system/wide_product.h"

namespace edgejoule::driver {
namespace {

static_assert(std::endian::native == std::endian::little, "byte 0 of a word is its lowest");

// 24 bytes are four groups and three 64-bit words. Bits of the three words:
struct WordBits {
  std::uint64_t random;     // taken from the generator
  std::uint64_t repeated;   // repeated three bits higher, in the next byte
  std::uint64_t following;  // where the repeated bits appear
};

constexpr std::uint64_t words_of_pattern = 3;

constexpr WordBits word_bits(std::uint64_t word) {
  // Java takes byte i from bits 5 i and higher of one word. Therefore bit 5 of byte 1 is bit 0 of byte 2, bit 6 of byte
  // 2 is bit 1 of byte 3, and bit 5 of byte 4 is bit 0 of byte 5.
  constexpr std::array<std::uint64_t, RandomBytes::group_bytes> masks{31, 63, 95, 31, 63, 95};
  constexpr std::array<std::uint64_t, RandomBytes::group_bytes> repeats{0, 1U << 5U, 1U << 6U, 0, 1U << 5U, 0};
  constexpr std::array<std::uint64_t, RandomBytes::group_bytes> follows{0, 0, 1, 2, 0, 1};
  WordBits bits{0, 0, 0};
  for (std::uint64_t i = 0; i < 8; ++i) {
    const auto place = static_cast<std::size_t>((8 * word + i) % RandomBytes::group_bytes);
    bits.random |= (masks[place] & ~follows[place]) << 8 * i;
    bits.repeated |= repeats[place] << 8 * i;
    bits.following |= follows[place] << 8 * i;
  }
  return bits;
}

constexpr WordBits first = word_bits(0);
constexpr WordBits second = word_bits(1);
constexpr WordBits third = word_bits(2);
static_assert(word_bits(words_of_pattern).random == first.random);
// Only the last byte of the first word repeats a bit in another word.
static_assert((first.repeated << 3U) == first.following && (third.repeated << 3U) == third.following);
static_assert((second.repeated << 3U | 1U) == second.following && first.repeated >> 61U == 1);

void store(char* out, std::uint64_t word, std::uint64_t repeated) {
  constexpr std::uint64_t spaces = 0x2020202020202020U;
  word += ((word & repeated) << 3U) + spaces;  // no sum overflows its byte
  std::memcpy(out, &word, sizeof word);
}

// Stores three random words as four groups.
void store_groups(char* out, std::uint64_t one, std::uint64_t two, std::uint64_t three) {
  one &= first.random;
  two = (two & second.random) | one >> 61U;
  three &= third.random;
  store(out, one, first.repeated);
  store(out + 8, two, second.repeated);
  store(out + 16, three, third.repeated);
}

// Two words from each product of wyrand (Wang Yi 2019), which yields one.
struct WordPair {
  std::uint64_t one;
  std::uint64_t two;
};

WordPair next_pair(std::uint64_t& state) {
  state += 0xA0761D6478BD642FU;
  const auto product = wide_product(state, state ^ 0xE7037ED1A0B428DBU);
  return {product.high ^ product.low, product.high + std::rotl(product.low, 32)};
}

// Continues Java's String.hashCode over more text.
std::uint32_t java_hash(std::uint32_t hash, std::string_view text) {
  for (const char c : text) hash = 31 * hash + static_cast<unsigned char>(c);
  return hash;
}

}  // namespace

void RandomBytes::fill(char* out, std::uint64_t bytes) {
  auto state = state_;  // in a register, because `out` may alias it
  for (const char* const end = out + memory_size(bytes); out < end; out += block_bytes) {
    const auto a = next_pair(state);
    const auto b = next_pair(state);
    const auto c = next_pair(state);
    store_groups(out, a.one, a.two, b.one);
    store_groups(out + block_bytes / 2, b.two, c.one, c.two);
  }
  state_ = state;
}

void ValueBuffer::draw(RandomBytes& random, std::span<const std::uint64_t> lengths, std::span<Field> fields) {
  EJ_CHECK(lengths.size() <= fields.size(), lengths.size(), fields.size());
  const auto groups = [](std::uint64_t bytes) {
    return (bytes + RandomBytes::group_bytes - 1) / RandomBytes::group_bytes;
  };
  std::uint64_t total = 0;
  for (const auto length : lengths) total += groups(length) * RandomBytes::group_bytes;
  if (const auto room = memory_size(total + RandomBytes::block_bytes); bytes_.size() < room) {
    bytes_.clear();  // so that resizing copies nothing
    bytes_.resize(room);
  }
  random.fill(bytes_.data(), total);
  const char* begin = bytes_.data();
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    fields[i].value = {begin, memory_size(lengths[i])};
    begin += groups(lengths[i]) * RandomBytes::group_bytes;
  }
}

void deterministic_value(std::string_view key, std::string_view field, std::uint64_t bytes, std::string& out) {
  out.assign(key);
  out += ':';
  out += field;
  auto hash = java_hash(0, out);
  while (out.size() < bytes) {
    std::array<char, 12> extension{':'};
    hash = java_hash(hash, ":");
    const auto end =
        std::to_chars(extension.data() + 1, extension.data() + extension.size(), static_cast<std::int32_t>(hash)).ptr;
    const std::string_view digits(extension.data() + 1, static_cast<std::size_t>(end - extension.data() - 1));
    hash = java_hash(hash, digits);
    out += ':';
    out += digits;
  }
  out.resize(memory_size(bytes));
}

}  // namespace edgejoule::driver
