#include "checks.h"

#include <gtest/gtest.h>

#include "broken_device.h"

namespace {

using bdtest::any_bad;
using bdtest::Findings;
using bdtest_tests::Broken;
using bdtest_tests::Emulated;

std::string texts(const Findings& findings) {
  std::string all;
  for (const auto& finding : findings) all += finding.what + "\n";
  return all;
}

TEST(Checks, pass_an_honest_device) {
  for (const std::uint32_t sector_bytes : {512U, 4096U}) {
    const Emulated device(8192, sector_bytes);
    const auto findings = bdtest::check_device(device.config, 7);
    EXPECT_FALSE(any_bad(findings)) << texts(findings);
    EXPECT_EQ(findings.size(), 4U);
  }
}

TEST(Checks, pass_a_small_device) {
  const Emulated device(128);
  const auto findings = bdtest::check_device(device.config, 7);
  EXPECT_FALSE(any_bad(findings)) << texts(findings);
}

TEST(Checks, find_a_false_capacity) {
  Broken device;
  device.read = [&](std::uint32_t at, void* data, std::uint32_t n) {
    return at + n > 8192
               ? -1
               : device.inner.read(&device.inner, at % 4096, data, n > 4096 - at % 4096 ? 4096 - at % 4096 : n);
  };
  device.write = [&](std::uint32_t at, const void* data, std::uint32_t n) {
    return device.inner.write(&device.inner, at % 4096, data, n > 4096 - at % 4096 ? 4096 - at % 4096 : n);
  };
  const auto findings = bdtest::check_capacity(device.config, 7);
  EXPECT_TRUE(any_bad(findings));
  EXPECT_NE(texts(findings).find("false capacity"), std::string::npos) << texts(findings);
}

TEST(Checks, find_that_reads_beyond_the_end_do_not_fail) {
  Broken device;
  device.read = [&](std::uint32_t at, void* data, std::uint32_t n) {
    return at >= 8192 ? 0 : device.inner.read(&device.inner, at, data, n);
  };
  EXPECT_TRUE(any_bad(bdtest::check_capacity(device.config, 7)));
}

TEST(Checks, find_dropped_writes) {
  Broken device;
  int writes = 0;
  device.write = [&](std::uint32_t at, const void* data, std::uint32_t n) {
    return ++writes % 300 == 0 ? 0 : device.inner.write(&device.inner, at, data, n);
  };
  EXPECT_TRUE(any_bad(bdtest::check_read_back(device.config, 7)));
  EXPECT_TRUE(any_bad(bdtest::check_order(device.config, 7)));
}

TEST(Checks, find_a_driver_that_writes_the_first_sector_of_a_request_only) {
  Broken device;
  device.write = [&](std::uint32_t at, const void* data, std::uint32_t) {
    return device.inner.write(&device.inner, at, data, 1);
  };
  EXPECT_TRUE(any_bad(bdtest::check_requests(device.config, 7)));
}

TEST(Checks, find_a_driver_whose_transfers_need_aligned_buffers) {
  Broken device;
  device.write = [&](std::uint32_t at, const void* data, std::uint32_t n) {
    const auto address = reinterpret_cast<std::uintptr_t>(data) / 16 * 16;
    return device.inner.write(&device.inner, at, reinterpret_cast<const void*>(address), n);
  };
  EXPECT_TRUE(any_bad(bdtest::check_requests(device.config, 7)));
}

TEST(Checks, find_a_driver_that_splits_requests_at_64_sectors_wrongly) {
  Broken device;
  device.read = [&](std::uint32_t at, void* data, std::uint32_t n) {
    return at + n > 8192 ? -1 : device.inner.read(&device.inner, at, data, n > 64 ? 64 : n);
  };
  EXPECT_TRUE(any_bad(bdtest::check_requests(device.config, 7)));
}

TEST(Checks, find_a_stale_cache_of_one_sector) {
  Broken device;
  std::vector<char> cached(512);
  std::uint32_t cached_at = 0xffffffff;
  device.read = [&](std::uint32_t at, void* data, std::uint32_t n) {
    if (n == 1 && at == cached_at) return std::memcpy(data, cached.data(), 512), 0;
    const int error = device.inner.read(&device.inner, at, data, n);
    if (error == 0 && n == 1) std::memcpy(cached.data(), data, 512), cached_at = at;
    return error;
  };
  EXPECT_TRUE(any_bad(bdtest::check_order(device.config, 7)));
}

TEST(Checks, tell_of_requests_that_fail) {
  Broken device;
  device.write = [](std::uint32_t, const void*, std::uint32_t) { return -1; };
  const auto findings = bdtest::check_device(device.config, 7);
  EXPECT_TRUE(any_bad(findings));
  EXPECT_NE(texts(findings).find("failed"), std::string::npos);
}

}  // namespace
