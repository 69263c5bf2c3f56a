// The portable tests on the host. The emulated boards run the same tests with the same output.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "emubd.h"
#include "portable/portable_tests.h"
#include "posix.h"

namespace {

std::string printed;
void print(const char* text) { printed += text; }

std::string run(lunar_config config, std::size_t buffer_bytes) {
  std::vector<std::uint32_t> buffer((buffer_bytes + 3) / 4);
  config.buffer = buffer.data(), config.buffer_bytes = buffer_bytes;
  printed.clear();
  EXPECT_EQ(lunar_portable_tests(&config, print), 0) << printed;
  return printed;
}

std::string run_on_emubd(std::uint32_t sector_bytes, std::size_t buffer_bytes) {
  emubd device{};
  lunar_config config{};
  EXPECT_EQ(emubd_open(&device, sector_bytes, PORTABLE_SECTORS), 0);
  emubd_config(&device, &config);
  std::string lines = run(config, buffer_bytes);
  emubd_close(&device);
  return lines;
}

std::string run_on_a_file() {
  const int file = memfd_create("lunar-portable", 0);  // thousands of flushes: a disk would take half a minute
  EXPECT_EQ(ftruncate(file, PORTABLE_SECTORS * 512), 0);
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  lunar_posix posix{};
  lunar_config config{};
  config.sector_bytes = 512;
  EXPECT_EQ(lunar_posix_open(&posix, &config, path.c_str(), 0), 0);
  std::string lines = run(config, LUNAR_BUFFER_BYTES_MIN(512));
  lunar_posix_close(&posix);
  close(file);
  return lines;
}

TEST(PortableList, passes_with_the_smallest_and_with_larger_buffers) {
  const std::string lines = run_on_emubd(512, LUNAR_BUFFER_BYTES_MIN(512));
  EXPECT_NE(lines.find("ok 1 - formats_and_mounts_an_empty_volume\n"), std::string::npos) << lines;
  EXPECT_EQ(run_on_emubd(512, 10'000), lines);
  EXPECT_EQ(run_on_emubd(512, 1 << 20), lines);
}

TEST(PortableList, prints_the_same_for_sectors_of_4096_bytes) {
  EXPECT_EQ(run_on_emubd(4096, LUNAR_BUFFER_BYTES_MIN(4096)), run_on_emubd(512, LUNAR_BUFFER_BYTES_MIN(512)));
  EXPECT_EQ(run_on_emubd(4096, 200'000), run_on_emubd(512, LUNAR_BUFFER_BYTES_MIN(512)));
}

TEST(PortableList, prints_the_same_over_a_file) {
  EXPECT_EQ(run_on_a_file(), run_on_emubd(512, LUNAR_BUFFER_BYTES_MIN(512)));
}

}  // namespace
