#include "stamp.h"

#include <cstring>
#include <vector>

namespace bdtest {
namespace {

constexpr std::uint32_t magic = 0x54534442;  // "BDST"
constexpr std::size_t header_bytes = 20;

std::uint64_t mixed(std::uint64_t x) {  // the finaliser of MurmurHash3
  x = (x ^ x >> 33) * 0xff51afd7ed558ccdU;
  x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53U;
  return x ^ x >> 33;
}

}  // namespace

void write_stamp(const Stamp& stamp, std::uint8_t* sector, std::size_t sector_bytes) {
  std::memcpy(sector, &magic, 4);
  std::memcpy(sector + 4, &stamp.run, 4);
  std::memcpy(sector + 8, &stamp.sector, 4);
  std::memcpy(sector + 12, &stamp.version, 8);
  const std::uint64_t seed = mixed(stamp.version ^ mixed(std::uint64_t{stamp.run} << 32 | stamp.sector));
  for (std::size_t at = header_bytes; at < sector_bytes; at += 4) {
    const auto word = static_cast<std::uint32_t>(mixed(seed + at));
    std::memcpy(sector + at, &word, 4);
  }
}

std::optional<Seen> read_stamp(const std::uint8_t* sector, std::size_t sector_bytes) {
  std::uint32_t begins = 0;
  std::memcpy(&begins, sector, 4);
  if (begins != magic) return std::nullopt;
  Seen seen{};
  std::memcpy(&seen.stamp.run, sector + 4, 4);
  std::memcpy(&seen.stamp.sector, sector + 8, 4);
  std::memcpy(&seen.stamp.version, sector + 12, 8);
  std::vector<std::uint8_t> expected(sector_bytes);
  write_stamp(seen.stamp, expected.data(), sector_bytes);
  seen.whole = std::memcmp(sector, expected.data(), sector_bytes) == 0;
  return seen;
}

}  // namespace bdtest
