// What crosses the pipe: frames of readings, in the byte order of the machine.
//
//   frame    FrameHeader, then rows x columns Readings, row by row, the columns in the order of the files
//   request  any byte on standard input: one more row is read at once, and all rows since the last frame are written
//
// The end of standard input ends the program. The reader on the other side: filestream.py in lab.
#pragma once

#include <cstdint>

namespace edgejoule::sampler {

// Why a reading has no value: an errno (above 0), or one of these.
constexpr std::int32_t error_none = 0;
constexpr std::int32_t error_not_a_number = -1;
constexpr std::int32_t error_no_cpu_times = -2;

struct Reading {
  std::int64_t t_ns = 0;      // CLOCK_MONOTONIC, halfway between before and after the read
  std::int64_t value = 0;     // 0 where error is not
  std::int32_t error = 0;     // see above
  std::uint32_t skipped = 0;  // deadlines before this row that had passed unused
};
static_assert(sizeof(Reading) == 24);

struct FrameHeader {
  std::uint32_t magic = 0x31534a45;  // "EJS1"
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;  // values of a row: one of a number's file, two of a file of CPU times
  std::uint32_t full = 0;     // rows left out since the last frame because nobody asked for so long
};
static_assert(sizeof(FrameHeader) == 16);

}  // namespace edgejoule::sampler
