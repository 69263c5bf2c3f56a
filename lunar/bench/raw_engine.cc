// What the device itself can do: the row's bytes at one place and a flush, or the row and a sector elsewhere; for an
// update, a sector behind the one before and a flush, or one in place, too; of a read, the row's sectors alone. No
// database: these are ceilings.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "engine.h"

namespace lunar_bench {
namespace {

constexpr off_t log_at = 4 << 20, log_sectors = 8192, rows_at = 64 << 20;

class Raw : public Engine {
 public:
  explicit Raw(const EngineOptions& options) : writes_(options.raw_writes) {
    descriptor_ = open(options.path.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC);
    if (descriptor_ < 0) throw BenchError(options.path + ": " + std::strerror(errno));
    if (posix_memalign(&memory_, 4096, 65536) != 0) throw std::bad_alloc();
    std::memset(memory_, 'x', 65536);
  }
  ~Raw() override {
    ::close(descriptor_);
    std::free(memory_);
  }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;

  void create(const Shape& shape) override { shape_ = shape; }
  void load(std::int64_t, std::int64_t, const std::function<const char*()>&) override {}
  void insert(std::int64_t key, const char* row) override {
    std::memcpy(memory_, row, shape_.row_bytes());
    write(row_sectors_bytes(), row_at(key));
    if (writes_ == 2) write(512, log_at + 512 * (key % log_sectors));
    flush();
  }
  void update(std::int64_t key, int, const char*) override {
    write(512, log_at + 512 * (updates_++ % log_sectors));
    if (writes_ == 2) write(512, rows_at + 512 * key);
    flush();
  }
  void read(std::int64_t key) override {
    if (pread(descriptor_, memory_, row_sectors_bytes(), row_at(key)) != static_cast<ssize_t>(row_sectors_bytes()))
      throw BenchError(std::string("raw: ") + std::strerror(errno));
  }
  void close() override {}

 private:
  std::size_t row_sectors_bytes() const { return (shape_.row_bytes() + 511) / 512 * 512; }
  off_t row_at(std::int64_t key) const { return rows_at + static_cast<off_t>(row_sectors_bytes()) * key; }
  void write(std::size_t bytes, off_t at) {
    if (pwrite(descriptor_, memory_, bytes, at) != static_cast<ssize_t>(bytes))
      throw BenchError(std::string("raw: ") + std::strerror(errno));
  }
  void flush() const {
    if (fdatasync(descriptor_) != 0) throw BenchError(std::string("raw: ") + std::strerror(errno));
  }
  int writes_;
  off_t updates_ = 0;
  int descriptor_;
  void* memory_ = nullptr;
  Shape shape_;
};

}  // namespace

std::unique_ptr<Engine> open_raw(const EngineOptions& options) { return std::make_unique<Raw>(options); }

}  // namespace lunar_bench
