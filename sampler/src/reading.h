// The format of the pipe: frames of readings, in the machine's byte order.
//
//   frame    FrameHeader, then rows x columns Readings, row by row, the columns in the order of the files
//   request  any byte on standard input: the program reads one more row at once and writes all rows since the last
//   frame
//
// The program ends at the end of standard input. filestream.py in lab is the reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace edgejoule::sampler {

// Why a reading has no value: an errno (above 0), or one of these codes.
constexpr std::int32_t error_none = 0;
constexpr std::int32_t error_not_a_number = -1;
constexpr std::int32_t error_no_cpu_times = -2;

struct Reading {
  std::int64_t t_ns = 0;      // CLOCK_MONOTONIC, halfway between before and after the read
  std::int64_t value = 0;     // 0 if there is an error
  std::int32_t error = 0;     // 0, an errno or one of the codes above
  std::uint32_t skipped = 0;  // deadlines missed before this row
};
static_assert(sizeof(Reading) == 24 && offsetof(Reading, t_ns) == 0 && offsetof(Reading, value) == 8 &&
              offsetof(Reading, error) == 16 && offsetof(Reading, skipped) == 20);
static_assert(std::is_trivially_copyable_v<Reading> && std::is_standard_layout_v<Reading>);

struct FrameHeader {
  std::uint32_t magic = 0x31534a45;  // "EJS1"
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;  // values per row: one for a file with a number, two for a file of CPU times
  std::uint32_t full = 0;     // rows dropped since the last frame because the buffer was full
};
static_assert(sizeof(FrameHeader) == 16 && offsetof(FrameHeader, magic) == 0 && offsetof(FrameHeader, rows) == 4 &&
              offsetof(FrameHeader, columns) == 8 && offsetof(FrameHeader, full) == 12);
static_assert(std::is_trivially_copyable_v<FrameHeader> && std::is_standard_layout_v<FrameHeader>);

}  // namespace edgejoule::sampler
