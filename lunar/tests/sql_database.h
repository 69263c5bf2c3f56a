// A database in RAM for tests of SQL: statements as texts, results as texts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emubd.h"
#include "lunar.h"
#include "values.h"

namespace lunar_test {

struct Ran {
  int error = 0;
  std::vector<std::vector<std::string>> rows;
  std::uint64_t changes = 0;
  std::string complaint;  // "reason: token @ position"
  bool several_passes = false;
  std::string index;  // the index that the statement used, or empty
};

class Database {
 public:
  explicit Database(lunar_mode mode = LUNAR_MODE_DATA, std::uint32_t sectors = 32768, std::size_t buffer_bytes = 65536,
                    std::uint32_t log_bytes = 0);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Runs one statement.
  Ran run(const std::string& sql, const std::vector<lunar_value>& parameters = {}, std::size_t memory_bytes = 65536);
  // Runs a query. Returns its rows as "a b|c d", or "error: complaint".
  std::string result(const std::string& sql, const std::vector<lunar_value>& parameters = {},
                     std::size_t memory_bytes = 65536);
  // Runs every statement of the text. Returns the first error.
  int all(const std::string& sql);

  emubd device{};
  lunar_config config{};
  lunar db{};

 private:
  std::vector<std::uint64_t> buffer_, memory_;
};

// Returns a value as text: NULL, 12, 1.5, text, x'00ff', true.
std::string shown(const lunar_value& value);

}  // namespace lunar_test
