#include "guard.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <vector>

#include "broken_device.h"

namespace {

using bdtest_tests::Emulated;

std::string with(std::size_t at, const std::string& bytes) {
  Emulated emulated(256);
  std::memcpy(emulated.device.sectors + at, bytes.data(), bytes.size());
  return bdtest::contents_of(emulated.config);
}

TEST(Guard, knows_what_is_on_a_device) {
  EXPECT_EQ(with(0, ""), "");
  EXPECT_EQ(with(1080, "\x53\xef"), "an ext2, ext3 or ext4 file system");
  EXPECT_EQ(with(510, "\x55\xaa"), "a partition table or a FAT file system");
  EXPECT_EQ(with(512, "EFI PART"), "a GPT partition table");
  EXPECT_EQ(with(65600, "_BHRfS_M"), "a Btrfs file system");
}

TEST(Guard, knows_a_lunar_volume) {
  Emulated emulated;
  std::vector<std::uint32_t> buffer(4096);
  emulated.config.buffer = buffer.data(), emulated.config.buffer_bytes = buffer.size() * 4;
  ASSERT_EQ(lunar_format(&emulated.config), 0);
  EXPECT_EQ(bdtest::contents_of(emulated.config), "a lunar volume");
}

TEST(Guard, keeps_a_mounted_device) {
  std::ifstream mounts("/proc/self/mounts");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string device;
    fields >> device;
    struct stat status {};
    if (stat(device.c_str(), &status) != 0 || !S_ISBLK(status.st_mode)) continue;
    EXPECT_NE(bdtest::in_use(device).find("mounted"), std::string::npos) << device;
    return;
  }
  GTEST_SKIP() << "no block device is mounted here";
}

TEST(Guard, knows_a_file_that_is_not_empty) {
  const std::string path = testing::TempDir() + "guarded";
  const auto with_bytes = [&](std::size_t zeros, const std::string& rest) {
    std::ofstream(path) << std::string(zeros, '\0') << rest;
    return bdtest::is_nonzero_file(path);
  };
  EXPECT_FALSE(with_bytes(0, ""));
  EXPECT_FALSE(with_bytes(3000000, ""));
  EXPECT_TRUE(with_bytes(0, "x"));
  EXPECT_TRUE(with_bytes(3000000, "x"));
  std::remove(path.c_str());
  EXPECT_FALSE(bdtest::is_nonzero_file(path));
}

TEST(Guard, has_nothing_against_a_file) { EXPECT_EQ(bdtest::in_use("/etc/hostname"), ""); }

}  // namespace
