#include "space.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace lunar_bench {
namespace {

constexpr int key_bytes = 8, bytes_max = 2500;

int size(std::mt19937_64& random) { return random() % 17 == 0 ? bytes_max : static_cast<int>(random() % 301); }

class Table {
 public:
  Table(Engine& engine, std::int64_t rows) : engine_(engine), sizes_(static_cast<std::size_t>(rows)) {
    Shape shape;
    shape.column_bytes = bytes_max;
    engine.create(shape);
    for (std::size_t key = 0; key < sizes_.size(); ++key) insert(key);
  }

  void change() {
    const auto key = random_() % sizes_.size();
    if (random_() % 10 < 3) {
      engine_.remove(static_cast<std::int64_t>(key));
      insert(key);
    } else {
      const char* bytes = next(key);
      engine_.update(static_cast<std::int64_t>(key), 0, bytes);
    }
  }

  std::int64_t payload() const { return payload_ + key_bytes * static_cast<std::int64_t>(sizes_.size()); }

 private:
  void insert(std::size_t key) {
    const char* bytes = next(key);
    engine_.insert(static_cast<std::int64_t>(key), bytes);
  }
  // The next content of a row.
  const char* next(std::size_t key) {
    const int bytes = size(random_);
    payload_ += bytes - sizes_[key];
    sizes_[key] = bytes;
    engine_.resize(bytes);
    content_[0] = static_cast<char>('a' + payload_ % 26);
    return content_.data();
  }

  Engine& engine_;
  std::vector<int> sizes_;
  std::int64_t payload_ = 0;
  std::mt19937_64 random_{1};
  std::string content_ = std::string(bytes_max, 'x');
};

}  // namespace

std::uint64_t device_bytes(const Changing& changing) {
  std::mt19937_64 random(1);
  double payload = 0;
  for (std::int64_t i = 0; i < changing.rows; ++i) payload += key_bytes + size(random);
  const auto sectors = static_cast<std::uint64_t>(payload / changing.live / 512 * 32 / 31) + 256; /* 1/32 is the log */
  return sectors * 512;
}

nlohmann::json change(Engine& engine, const Changing& changing) {
  Table table(engine, changing.rows);
  auto points = nlohmann::json::array();
  std::string stopped;
  const auto step = std::max<std::int64_t>(1, changing.operations / changing.points);
  try {
    for (std::int64_t operation = 0; operation <= changing.operations; ++operation) {
      if (operation % step == 0) points.push_back({operation, engine.room().used, table.payload()});
      table.change();
    }
  } catch (const BenchError& error) {
    stopped = error.what();
  }
  return {{"device_bytes", engine.room().all}, {"points", points}, {"stopped", stopped}};
}

}  // namespace lunar_bench
