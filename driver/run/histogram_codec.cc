#include "histogram_codec.h"

#include <zlib.h>

#include <bit>
#include <cstdint>
#include <stdexcept>
#include <string_view>

namespace edgejoule::driver {
namespace {

// Both cookies carry 0x10, the word size that the format prescribes for counts of variable length.
constexpr std::uint32_t plain_cookie = 0x1C849303U | 0x10U;
constexpr std::uint32_t compressed_cookie = 0x1C849304U | 0x10U;

// A reader derives the positions of the counts from the number of digits and the largest value.
static_assert(Histogram::significant_digits == 3 && 2 * Histogram::sub_buckets_half == 2048);
static_assert(Histogram::value_max == 3'600'000'000'000U);
constexpr std::size_t plain_header_bytes = 40;

template <typename Number>
void append_big_endian(std::string& out, Number number) {
  for (int shift = static_cast<int>(sizeof(Number)) * 8 - 8; shift >= 0; shift -= 8) {
    out += static_cast<char>((number >> shift) & 0xFFU);
  }
}

// ZigZag LEB128; the ninth byte carries eight bits.
void append_variable(std::string& out, std::int64_t number) {
  auto rest = (static_cast<std::uint64_t>(number) << 1U) ^ static_cast<std::uint64_t>(number >> 63U);
  for (int byte = 0; byte < 8; ++byte) {
    if (rest < 0x80U) {
      out += static_cast<char>(rest);
      return;
    }
    out += static_cast<char>((rest & 0x7FU) | 0x80U);
    rest >>= 7U;
  }
  out += static_cast<char>(rest);
}

// A run of n zeros is written as -n.
std::string counts_of(const Histogram& histogram) {
  std::string out;
  const auto end = histogram.count() == 0 ? 1 : Histogram::index_of(histogram.max()) + 1;
  std::uint64_t counted = 0;
  for (std::uint32_t i = 0; i < end;) {
    std::int64_t zeros = 0;
    for (; i < end && histogram.count_at(i) == 0; ++i) ++zeros;
    if (zeros > 0) append_variable(out, -zeros);
    if (i == end) break;
    const auto count = histogram.count_at(i++);
    counted += count;
    append_variable(out, static_cast<std::int64_t>(count));
  }
  EJ_CHECK(counted == histogram.count(), counted, histogram.count());
  return out;
}

std::string plain(const Histogram& histogram) {
  const auto counts = counts_of(histogram);
  std::string out;
  append_big_endian(out, plain_cookie);
  append_big_endian(out, static_cast<std::uint32_t>(counts.size()));
  append_big_endian(out, std::uint32_t{0});  // normalising offset
  append_big_endian(out, static_cast<std::uint32_t>(Histogram::significant_digits));
  append_big_endian(out, std::uint64_t{1});
  append_big_endian(out, Histogram::value_max);
  append_big_endian(out, std::bit_cast<std::uint64_t>(1.0));  // ratio of integer to value: values are stored unscaled
  EJ_CHECK(out.size() == plain_header_bytes, out.size());
  return out + counts;
}

std::string deflated(const std::string& text) {
  auto bytes = compressBound(text.size());
  std::string out(bytes, '\0');
  const auto result =
      compress(reinterpret_cast<Bytef*>(out.data()), &bytes, reinterpret_cast<const Bytef*>(text.data()), text.size());
  if (result != Z_OK) throw std::runtime_error("zlib cannot compress a histogram");
  out.resize(bytes);
  return out;
}

std::string base64(std::string_view bytes) {
  static constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8U | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out += i + k <= bytes.size() ? alphabet[(group >> (18 - 6 * k)) & 63U] : '=';
    }
  }
  return out;
}

}  // namespace

std::string encode(const Histogram& histogram) {
  const auto body = deflated(plain(histogram));
  std::string out;
  append_big_endian(out, compressed_cookie);
  append_big_endian(out, static_cast<std::uint32_t>(body.size()));
  return base64(out + body);
}

}  // namespace edgejoule::driver
