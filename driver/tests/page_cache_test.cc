// Pages reported as cached are cached. Dropping needs root: tests/test_drop_caches.py.
#include "system/page_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "system/run_failure.h"

namespace edgejoule::driver {
namespace {

constexpr std::uint64_t file_bytes = 4ULL << 20U;

// A file whose pages are on storage, in the system's temporary directory unless that is in memory.
class StoredFile {
 public:
  StoredFile() {
    name_ = (std::filesystem::current_path() / "page-cache-XXXXXX").string();
    descriptor_ = ::mkstemp(name_.data());
    const std::vector<char> bytes(file_bytes, 'x');
    written_ = descriptor_ >= 0 &&
               ::write(descriptor_, bytes.data(), bytes.size()) == static_cast<ssize_t>(file_bytes) &&
               ::fsync(descriptor_) == 0;
  }
  ~StoredFile() {
    ::close(descriptor_);
    ::unlink(name_.c_str());
  }
  StoredFile(const StoredFile&) = delete;
  StoredFile& operator=(const StoredFile&) = delete;

  [[nodiscard]] bool written() const { return written_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  void forget() const { ASSERT_EQ(::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED), 0); }
  void read(std::uint64_t bytes) const {
    ASSERT_EQ(::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_RANDOM), 0);  // no read-ahead
    std::vector<char> place(bytes);
    ASSERT_EQ(::pread(descriptor_, place.data(), bytes, 0), static_cast<ssize_t>(bytes));
  }

 private:
  std::string name_;
  int descriptor_ = -1;
  bool written_ = false;
};

TEST(PageCache, a_file_that_was_written_is_resident_and_one_that_was_forgotten_is_not) {
  const StoredFile file;
  ASSERT_TRUE(file.written());
  EXPECT_EQ(resident_bytes(file.name()), file_bytes);
  file.forget();
  EXPECT_EQ(resident_bytes(file.name()), 0U);
}

TEST(PageCache, what_was_read_is_resident_and_looking_brings_nothing_in) {
  const StoredFile file;
  ASSERT_TRUE(file.written());
  file.forget();
  constexpr std::uint64_t read_bytes = 1ULL << 20U;
  file.read(read_bytes);
  const std::uint64_t resident = resident_bytes(file.name());
  EXPECT_GE(resident, read_bytes);
  EXPECT_LT(resident, file_bytes);
  EXPECT_EQ(resident_bytes(file.name()), resident);
}

TEST(PageCache, a_hundredth_may_stay_and_of_a_small_database_some_pages) {
  EXPECT_EQ(residency_allowed(1'000'000'000), 10'000'000U);
  EXPECT_EQ(residency_allowed(4096), 65536U);
}

TEST(PageCache, a_file_that_is_not_there_is_no_zero) {
  EXPECT_THROW(static_cast<void>(resident_bytes("/no/such/file")), RunFailure);
}

}  // namespace
}  // namespace edgejoule::driver
