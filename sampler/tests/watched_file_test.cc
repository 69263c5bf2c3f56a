// A file that is read repeatedly: its current value, or the reason for its absence.
#include "watched_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "folder.h"

namespace edgejoule::sampler {
namespace {

Reading read(WatchedFile& file, std::int64_t now_ns) {
  Reading reading;
  file.read({&reading, 1}, now_ns);
  return reading;
}

TEST(WatchedFile, gives_what_the_file_holds_now) {
  const Folder folder;
  WatchedFile file({folder.write("energy_uj", "41\n")});
  EXPECT_EQ(read(file, 0).value, 41);
  folder.write("energy_uj", "42\n");
  const Reading second = read(file, 1);
  EXPECT_EQ(second.value, 42);
  EXPECT_EQ(second.error, error_none);
}

TEST(WatchedFile, what_is_no_number_is_an_error_and_never_zero_without_one) {
  const Folder folder;
  WatchedFile file({folder.write("energy_uj", "garbage\n")});
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
  WatchedFile file({path});
  EXPECT_EQ(read(file, 0).error, ENOENT);
  folder.write("energy_uj", "8\n");
  EXPECT_EQ(read(file, 1'000'000).error, ENOENT);  // no retry within 100 ms
  const Reading later = read(file, 100'000'000);
  EXPECT_EQ(later.error, error_none);
  EXPECT_EQ(later.value, 8);
}

TEST(WatchedFile, a_read_that_fails_says_why_until_it_works_again) {
  WatchedFile file({"/proc/self"});  // a folder: it can be opened but not read
  EXPECT_EQ(read(file, 0).error, EISDIR);
  EXPECT_EQ(read(file, 1).error, EISDIR);
}

std::array<Reading, 2> read_cpu_times(WatchedFile& file) {
  std::array<Reading, 2> readings;
  file.read(readings, 0);
  return readings;
}

TEST(WatchedFile, cpu_times_are_two_values_of_one_read) {
  const Folder folder;
  WatchedFile file(
      {folder.write("stat", "cpu  1 2 3 400 50 6 7 8 0 0\ncpu0 1 2 3 400 50 6 7 8 0 0\nintr 1\n"), Content::cpu_times});
  ASSERT_EQ(file.values(), 2U);
  const auto readings = read_cpu_times(file);
  EXPECT_EQ(readings[0].value, 1);
  EXPECT_EQ(readings[1].value, 458);
  folder.write("stat", "garbage\n");
  for (const Reading& reading : read_cpu_times(file)) EXPECT_EQ(reading.error, error_no_cpu_times);
}

TEST(WatchedFile, cpu_times_of_many_cpus_are_read_whole) {
  const Folder folder;
  std::string text = "cpu  1 2 3 4000 50 6 7 8 0 0\n";
  for (int cpu = 0; cpu < 2000; ++cpu) text += "cpu" + std::to_string(cpu) + " 1 2 3 400 50 6 7 8 0 0\n";
  WatchedFile file({folder.write("stat", text), Content::cpu_times});
  for (int i = 0; i < 2; ++i) EXPECT_EQ(read_cpu_times(file)[0].value, 2000);
}

TEST(WatchedFileDeathTest, one_reading_for_two_values_ends_the_process) {
  WatchedFile file({"/proc/stat", Content::cpu_times});
  EXPECT_DEATH(static_cast<void>(read(file, 0)), "assertion failed: readings.size\\(\\) == values\\(\\);.* = 1 2;");
}

TEST(WatchedFile, the_cpu_times_of_this_machine_can_be_read) {
  WatchedFile file({"/proc/stat", Content::cpu_times});
  const auto readings = read_cpu_times(file);
  EXPECT_EQ(readings[0].error, error_none);
  EXPECT_EQ(readings[0].value, ::sysconf(_SC_NPROCESSORS_ONLN));
  EXPECT_GT(readings[1].value, 0);
}

}  // namespace
}  // namespace edgejoule::sampler
