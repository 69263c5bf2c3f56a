#include <cstring>
#include <string>
#include <vector>

#include "emubd.h"
#include "require.h"
#include "targets.h"

namespace lunar_fuzz {
namespace {

constexpr std::size_t rows_max = 300, statements_max = 40;

const char* const tables =
    "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b REAL, c INT8, d BOOLEAN, e BLOB);"
    "CREATE TABLE h (k TEXT, n INT NOT NULL, m SMALLINT, PRIMARY KEY (k) USING HASH);"
    "INSERT INTO t VALUES (1, 'one', 1.5, 1, TRUE, X'00ff'), (2, NULL, NULL, NULL, NULL, NULL), (3, '', -1, -128, "
    "FALSE, X''),"
    " (4, 'four', 4, 127, TRUE, X'04'), (-9223372036854775807, '5', 5, 5, NULL, NULL), (6, 'one', 1.5, 1, TRUE, NULL);"
    "INSERT INTO h VALUES ('a', 1, 1), ('b', 2, NULL), ('', 3, 32767), ('long long long long long long long key', 4, "
    "4);"
    "CREATE INDEX i1 ON t (c); CREATE INDEX i2 ON t (a); CREATE INDEX i3 ON h (m) USING HASH";

class Volume {
 public:
  Volume() : buffer_(2048) {
    require(emubd_open(&device_, 512, 1024) == 0, "there is memory");
    device_.careless = 1;
    emubd_config(&device_, &config_);
    config_.buffer = buffer_.data(), config_.buffer_bytes = buffer_.size() * 8, config_.mode = LUNAR_MODE_DATA;
    require(lunar_format(&config_) == 0 && lunar_mount(&db_, &config_) == 0, "a volume can be made");
  }
  ~Volume() { emubd_close(&device_); }
  Volume(const Volume&) = delete;
  Volume& operator=(const Volume&) = delete;

  // All statements of the text, or as many as end a run.
  void run(const std::string& text, std::size_t memory_bytes, bool bind) {
    const char *at = text.data(), *end = at + text.size();
    for (std::size_t i = 0; i < statements_max && at != end; ++i) {
      // A separate block, so that a sanitizer detects a byte beside it.
      std::vector<std::uint8_t> memory(memory_bytes);
      lunar_statement* statement = nullptr;
      const char* tail = nullptr;
      const int error = known(
          lunar_prepare(&db_, at, static_cast<std::size_t>(end - at), memory.data(), memory.size(), &statement, &tail));
      require(tail >= at && tail <= end, "the tail is in the text");
      if (error != 0) {
        if (statement != nullptr) complaint(statement, at, end);
        // To the next statement, or nowhere.
        const void* next = tail < end ? std::memchr(tail, ';', static_cast<std::size_t>(end - tail)) : nullptr;
        at = next != nullptr ? static_cast<const char*>(next) + 1 : end;
        continue;
      }
      if (statement != nullptr) step(statement, bind);
      require(statement == nullptr || tail > at, "a statement has a text");
      if (statement == nullptr) break;
      at = tail;
    }
  }

  void check() {
    if (lunar_rollback(&db_) != 0) { /* there was no transaction */
    }
    lunar_findings found{};
    const int error = lunar_check(&db_, &found);
    if (error != 0) std::fprintf(stderr, "%s: ", found.text);
    require(error == 0, "lunar_check finds nothing");
  }

 private:
  static void complaint(const lunar_statement* statement, const char* from, const char* to) {
    const lunar_sql_message* message = lunar_sql_error(statement);
    require(message->text != nullptr && message->token != nullptr, "a complaint has a text");
    require(message->bytes == 0 || (message->token >= from && message->token + message->bytes <= to),
            "a complaint names a word of the text");
  }

  void step(lunar_statement* statement, bool bind) {
    static const char bytes[] = "bound";
    const unsigned parameters = lunar_bind_parameter_count(statement);
    for (unsigned i = 1; bind && i <= parameters; ++i) {
      const int error = i % 4 == 0   ? lunar_bind_text(statement, i, bytes, 5)
                        : i % 4 == 1 ? lunar_bind_int64(statement, i, static_cast<std::int64_t>(i) - 3)
                        : i % 4 == 2 ? lunar_bind_double(statement, i, 1.5)
                                     : lunar_bind_null(statement, i);
      require(error == 0, "a parameter can be bound");
    }
    for (int times = 0; times < 2; ++times) {
      std::size_t rows = 0;
      int result = 0;
      while ((result = lunar_step(statement)) == LUNAR_ROW && rows < rows_max) {
        ++rows;
        for (unsigned i = 0; i < lunar_column_count(statement); ++i) touch(lunar_column_value(statement, i));
        require(lunar_column_name(statement, 0) != nullptr, "a column has a name");
      }
      if (result != LUNAR_ROW) known(result);
      lunar_reset(statement);
    }
    lunar_finalize(statement);
  }

  void touch(const lunar_value* value) {
    if (value->type < LUNAR_TEXT) return;
    const auto* bytes = static_cast<const std::uint8_t*>(value->as.data);
    for (std::uint32_t i = 0; i < value->bytes; ++i) sum_ = static_cast<std::uint8_t>(sum_ + bytes[i]);
  }

  emubd device_{};
  lunar_config config_{};
  lunar db_{};
  std::vector<std::uint64_t> buffer_;
  volatile std::uint8_t sum_ = 0;
};

}  // namespace

void run_sql(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return;
  Volume volume;
  volume.run(tables, 16384, false);
  volume.run(std::string(reinterpret_cast<const char*>(data) + 2, size - 2), 200 + 24 * std::size_t{data[0]},
             (data[1] & 1) != 0);
  volume.check();
}

}  // namespace lunar_fuzz
