// The disk under a real loop device: every request that the kernel considers done is in the trace. Needs root.
#include "durability/disk.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "durability/cut.h"
#include "durability/workplace.h"
#include "system/random.h"
#include "test_seed.h"

namespace edgejoule::driver {
namespace {

constexpr std::uint64_t block_bytes = 4096;
constexpr std::uint64_t disk_blocks = 2048;

class DiskTest : public testing::Test {
 protected:
  // A block of the device, aligned for direct I/O.
  using Block = std::unique_ptr<std::byte, decltype(&std::free)>;
  static Block block(std::uint8_t content) {
    Block block(static_cast<std::byte*>(std::aligned_alloc(block_bytes, block_bytes)), std::free);
    std::fill_n(block.get(), block_bytes, std::byte{content});
    return block;
  }

  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> writes_and_flushes() const {
    std::pair<std::uint64_t, std::uint64_t> counts;
    for (std::uint64_t index = 0; index < trace_.size(); ++index) {
      ++(trace_.entry(index).kind == TraceEntry::Kind::write ? counts.first : counts.second);
    }
    return counts;
  }

  Workplace workplace_;
  SharedMemory base_{"base", disk_blocks* block_bytes};
  BlockTrace trace_{100'000, 256 << 20};
};

TEST_F(DiskTest, sees_each_write_and_each_flush_before_the_kernel_says_that_it_is_done) {
  const Disk disk({&base_, {}, &trace_}, workplace_.disk());
  EXPECT_EQ(disk.missed_requests(trace_), "");
  const int device = open(disk.device().c_str(), O_RDWR | O_DIRECT | O_CLOEXEC);
  ASSERT_GE(device, 0);
  const auto data = block(1);
  const auto [writes, flushes] = writes_and_flushes();
  constexpr std::uint64_t count = 200;
  for (std::uint64_t number = 1; number <= count; ++number) {
    ASSERT_EQ(pwrite(device, data.get(), block_bytes, static_cast<off_t>(number * block_bytes)), block_bytes);
    EXPECT_EQ(writes_and_flushes().first, writes + number);
  }
  for (std::uint64_t number = 1; number <= count; ++number) {
    ASSERT_EQ(pwrite(device, data.get(), block_bytes, 0), block_bytes);
    ASSERT_EQ(fsync(device), 0);
    EXPECT_EQ(writes_and_flushes().second, flushes + number);
  }
  close(device);
}

TEST_F(DiskTest, the_whole_trace_makes_the_content_of_the_device) {
  const Disk disk({&base_, {}, &trace_}, workplace_.disk());
  Random random(test_seed());
  const int device = open(disk.device().c_str(), O_RDWR | O_CLOEXEC);  // through the page cache, as file systems write
  ASSERT_GE(device, 0);
  for (int number = 0; number < 3000; ++number) {
    const auto data = block(static_cast<std::uint8_t>(random.below(256)));
    const auto offset = random.below((disk_blocks - 1) * block_bytes);
    ASSERT_GT(pwrite(device, data.get(), 1 + random.below(block_bytes), static_cast<off_t>(offset)), 0);
  }
  ASSERT_EQ(fsync(device), 0);
  std::vector<std::byte> expected(disk_blocks * block_bytes);
  cut_image(trace_, {0, trace_.size(), Survival::all, 0, 0}, Flushes::honoured, expected);
  std::vector<std::byte> found(expected.size());
  ASSERT_EQ(posix_fadvise(device, 0, 0, POSIX_FADV_DONTNEED), 0);
  ASSERT_EQ(pread(device, found.data(), found.size(), 0), static_cast<ssize_t>(found.size()));
  EXPECT_TRUE(found == expected);
  close(device);
}

TEST_F(DiskTest, begins_with_the_given_state_and_changes_nothing_of_the_base) {
  const auto change = [](std::span<std::byte> image) { image[0] = std::byte{42}; };
  const Disk disk({&base_, change, nullptr}, workplace_.disk());
  const int device = open(disk.device().c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(device, 0);
  std::byte first{};
  ASSERT_EQ(pread(device, &first, 1, 0), 1);
  EXPECT_EQ(first, std::byte{42});
  const std::byte written{43};
  ASSERT_EQ(pwrite(device, &written, 1, 0), 1);
  ASSERT_EQ(fsync(device), 0);
  EXPECT_EQ(base_.bytes()[0], std::byte{0});
  close(device);
}

TEST_F(DiskTest, lets_the_loop_device_go) {
  std::string device;
  {
    const Disk disk({&base_, {}, nullptr}, workplace_.disk());
    device = disk.device();
  }
  const auto backing = "/sys/block/" + device.substr(device.rfind('/') + 1) + "/loop/backing_file";
  EXPECT_NE(access(backing.c_str(), F_OK), 0);
}

// Mutant: a trace that belongs to another disk.
TEST_F(DiskTest, misses_requests_that_never_reach_the_trace) {
  const Disk disk({&base_, {}, nullptr}, workplace_.disk());
  EXPECT_EQ(disk.missed_requests(trace_), "a write");
}

}  // namespace
}  // namespace edgejoule::driver
