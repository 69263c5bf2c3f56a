// A file that is read again and again: its value now, and why there is none.
#include "watched_file.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "folder.h"

namespace edgejoule::sampler {
namespace {

Reading read(WatchedFile& file, std::int64_t now_ns) {
  Reading reading;
  file.read(reading, now_ns);
  return reading;
}

TEST(WatchedFile, gives_what_the_file_holds_now) {
  const Folder folder;
  WatchedFile file(folder.write("energy_uj", "41\n"));
  EXPECT_EQ(read(file, 0).value, 41);
  folder.write("energy_uj", "42\n");
  const Reading second = read(file, 1);
  EXPECT_EQ(second.value, 42);
  EXPECT_EQ(second.error, error_none);
}

TEST(WatchedFile, what_is_no_number_is_an_error_and_never_zero_without_one) {
  const Folder folder;
  WatchedFile file(folder.write("energy_uj", "garbage\n"));
  EXPECT_EQ(read(file, 0).error, error_not_a_number);
  folder.write("energy_uj", "");
  EXPECT_EQ(read(file, 1).error, error_not_a_number);
  folder.write("energy_uj", std::string(100, '1'));
  EXPECT_EQ(read(file, 2).error, error_not_a_number);
}

TEST(WatchedFile, a_file_that_appears_later_is_found_after_a_while) {
  const Folder folder;
  const std::string path = folder.write("energy_uj", "7\n");
  folder.remove("energy_uj");
  WatchedFile file(path);
  EXPECT_EQ(read(file, 0).error, ENOENT);
  folder.write("energy_uj", "8\n");
  EXPECT_EQ(read(file, 1'000'000).error, ENOENT);  // not tried again within 100 ms
  const Reading later = read(file, 100'000'000);
  EXPECT_EQ(later.error, error_none);
  EXPECT_EQ(later.value, 8);
}

TEST(WatchedFile, a_read_that_fails_says_why_until_it_works_again) {
  WatchedFile file("/proc/self");  // a folder: opens, and does not read
  EXPECT_EQ(read(file, 0).error, EISDIR);
  EXPECT_EQ(read(file, 1).error, EISDIR);
}

}  // namespace
}  // namespace edgejoule::sampler
