// Several threads use one handle through config.lock: each reads its own rows unchanged, and others see only complete
// states. ThreadSanitizer reports an access outside the lock.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "emubd.h"
#include "lunar.h"
#include "values.h"

namespace lunar_test {
namespace {

constexpr int threads = 4, rows_of_each = 64;

std::mutex mutex;
std::thread::id owner;

void lock(const lunar_config*) {
  mutex.lock();
  owner = std::this_thread::get_id();
}

void unlock(const lunar_config*) {
  if (owner != std::this_thread::get_id()) return;  // only in a mutant of the library
  owner = {};
  mutex.unlock();
}

class Threads : public testing::TestWithParam<lunar_mode> {
 protected:
  void SetUp() override {
    ASSERT_EQ(emubd_open(&device, 512, 8192), 0);
    emubd_config(&device, &config);
    config.lock = lock, config.unlock = unlock;
    config.buffer = buffer.data(), config.buffer_bytes = buffer.size() * 4, config.mode = GetParam();
    ASSERT_EQ(lunar_format(&config), 0);
    ASSERT_EQ(lunar_mount(&db, &config), 0);
    lunar_schema schema{};
    schema.column_count = 2;
    std::strcpy(schema.columns[0].name, "key"), schema.columns[0].type = LUNAR_INT64;
    std::strcpy(schema.columns[1].name, "content"), schema.columns[1].type = LUNAR_TEXT;
    ASSERT_EQ(lunar_table_create(&db, "t", &schema), 0);
  }
  void TearDown() override { emubd_close(&device); }

  emubd device{};
  lunar_config config{};
  std::vector<std::uint32_t> buffer = std::vector<std::uint32_t>(8192 / 4);
  lunar db{};
};

// Inserts, updates, removes and reads one thread's keys beside a model; `wrong` is the first difference.
class Worker {
 public:
  Worker(lunar& db, int number) : random_(test_seed() + static_cast<unsigned>(number)), first_(number * 1000) {
    if (lunar_table_open(&db, "t", &table_) != 0) wrong = "open";
  }

  void work(int steps) {
    for (int i = 0; i < steps && wrong.empty(); ++i) step();
  }

  std::string wrong;
  std::map<std::int64_t, std::string> model;

 private:
  void step() {
    const auto key = first_ + static_cast<std::int64_t>(random_() % rows_of_each);
    const lunar_value k = integer(key);
    const std::string content(random_() % 400, static_cast<char>('a' + random_() % 26));
    const lunar_value values[] = {k, text(content)};
    const bool there = model.contains(key);
    switch (random_() % 4) {
      case 0:
        expect(lunar_insert(&table_, values), there ? LUNAR_E_EXISTS : 0, "insert");
        model.emplace(key, content);
        break;
      case 1:
        expect(lunar_update(&table_, &k, 1, &values[1]), there ? 0 : LUNAR_E_NOT_FOUND, "update");
        if (there) model[key] = content;
        break;
      case 2:
        if (random_() % 2 == 0) return;
        expect(lunar_remove(&table_, &k), there ? 0 : LUNAR_E_NOT_FOUND, "remove");
        model.erase(key);
        break;
      default:
        lunar_value found[2];
        expect(lunar_get(&table_, &k, row_, sizeof row_, found), there ? 0 : LUNAR_E_NOT_FOUND, "get");
        if (there && wrong.empty() && bytes_of(found[1]) != model[key]) wrong = "get: another content";
    }
  }

  void expect(int result, int expected, const char* what) {
    if (result != expected && wrong.empty()) wrong = std::string(what) + ": " + lunar_error_text(result);
  }

  std::mt19937_64 random_;
  std::int64_t first_;
  lunar_table table_{};
  char row_[600];
};

// Reads and writes the whole volume while the others work.
std::string observe_whole(lunar& db, const std::atomic<bool>& ended) {
  lunar_table table{};
  char row[600];
  lunar_value values[2];
  lunar_findings found{};
  lunar_statistics stat{};
  std::uint64_t rows = 0;
  int error = lunar_table_open(&db, "t", &table);
  while (!ended && error == 0) {
    lunar_cursor cursor;
    error = lunar_cursor_open(&cursor, &table, nullptr, nullptr, 0);
    while (error == 0) error = lunar_cursor_next(&cursor, row, sizeof row, values);
    if (error != LUNAR_E_NOT_FOUND) break;
    error = lunar_check(&db, &found);
    if (error == 0) error = lunar_count(&table, &rows);
    if (error == 0) error = lunar_stat(&db, &stat);
    if (error == 0) error = rows % 2 == 0 ? lunar_sync(&db) : lunar_checkpoint(&db);
  }
  return error == 0 ? "" : std::string(lunar_error_text(error)) + " " + (found.text ? found.text : "");
}

TEST_P(Threads, of_one_handle_find_their_own_rows_and_a_whole_volume) {
  const int steps = static_cast<int>(2000 / one_in(4));
  std::vector<Worker> workers;
  for (int i = 0; i < threads; ++i) workers.emplace_back(db, i);
  std::atomic<bool> ended = false;
  std::string of_the_whole;
  std::thread whole([&] { of_the_whole = observe_whole(db, ended); });
  std::vector<std::thread> running;
  for (auto& worker : workers) running.emplace_back([&worker, steps] { worker.work(steps); });
  for (auto& thread : running) thread.join();
  ended = true;
  whole.join();
  EXPECT_EQ(of_the_whole, "");
  std::size_t rows = 0;
  for (const auto& worker : workers) {
    EXPECT_EQ(worker.wrong, "");
    rows += worker.model.size();
  }
  EXPECT_GT(rows, 0U);
  lunar_findings found{};
  EXPECT_EQ(lunar_check(&db, &found), 0) << found.text;
  EXPECT_EQ(found.rows, rows);
  EXPECT_EQ(lunar_unmount(&db), 0);
}

TEST_P(Threads, see_a_handle_that_another_one_unmounts_as_not_mounted) {
  std::vector<std::thread> running;
  std::atomic<int> inserted = 0, refused = 0, wrong = 0;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      lunar_table table{};
      int error = lunar_table_open(&db, "t", &table);
      for (std::int64_t key = i; error == 0; key += threads, ++inserted) {
        const lunar_value values[] = {integer(key), text("x")};
        error = lunar_insert(&table, values);
      }
      ++(error == LUNAR_E_INVALID ? refused : wrong);
    });
  }
  while (inserted < 20 && wrong == 0) std::this_thread::yield();
  EXPECT_EQ(lunar_unmount(&db), 0);
  for (auto& thread : running) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(refused, threads);
}

INSTANTIATE_TEST_SUITE_P(Modes, Threads, testing::Values(LUNAR_MODE_NONE, LUNAR_MODE_METADATA, LUNAR_MODE_FULL),
                         [](const auto& of) { return "mode_" + std::to_string(of.param); });

}  // namespace
}  // namespace lunar_test
