#include "sql_database.h"

#include <gtest/gtest.h>

#include "sql_peek.h"

namespace lunar_test {

std::string shown(const lunar_value& value) {
  char number[40];
  switch (value.type) {
    case LUNAR_NULL:
      return "NULL";
    case LUNAR_BOOLEAN:
      return value.as.integer != 0 ? "true" : "false";
    case LUNAR_INT64:
      return std::to_string(value.as.integer);
    case LUNAR_REAL:
      std::snprintf(number, sizeof number, "%.15g", value.as.real);
      return number;
    case LUNAR_TEXT:
      return bytes_of(value);
    default: {
      std::string hex = "x'";
      for (const char c : bytes_of(value)) {
        std::snprintf(number, sizeof number, "%02x", static_cast<unsigned char>(c));
        hex += number;
      }
      return hex + "'";
    }
  }
}

Database::Database(lunar_mode mode, std::uint32_t sectors, std::size_t buffer_bytes, std::uint32_t log_bytes)
    : buffer_(buffer_bytes / 8) {
  EXPECT_EQ(emubd_open(&device, 512, sectors), 0);
  device.careless = 1;
  emubd_config(&device, &config);
  config.buffer = buffer_.data(), config.buffer_bytes = buffer_.size() * 8, config.mode = mode;
  config.log_bytes = log_bytes;
  EXPECT_EQ(lunar_format(&config), 0);
  EXPECT_EQ(lunar_mount(&db, &config), 0);
}

Database::~Database() { emubd_close(&device); }

Ran Database::run(const std::string& sql, const std::vector<lunar_value>& parameters, std::size_t memory_bytes) {
  Ran ran;
  // The exact size, so that AddressSanitizer reports an access behind it.
  memory_ = std::vector<std::uint64_t>(memory_bytes / 8);
  lunar_statement* statement = nullptr;
  const char* tail = nullptr;
  ran.error = lunar_prepare(&db, sql.data(), sql.size(), memory_.data(), memory_bytes, &statement, &tail);
  for (unsigned i = 0; ran.error == 0 && i < parameters.size(); ++i)
    ran.error = lunar_bind(statement, i + 1, &parameters[i]);
  while (ran.error == 0 && statement != nullptr && (ran.error = lunar_step(statement)) == LUNAR_ROW) {
    ran.error = 0;
    auto& row = ran.rows.emplace_back();
    for (unsigned i = 0; i < lunar_column_count(statement); ++i)
      row.push_back(shown(*lunar_column_value(statement, i)));
  }
  if (statement == nullptr) return ran;
  ran.changes = lunar_changes(statement);
  ran.several_passes = sql_peek_several_passes(statement) != 0;
  ran.index = sql_peek_index(statement);
  const lunar_sql_message* said = lunar_sql_error(statement);
  if (ran.error != 0)
    ran.complaint =
        std::string(said->text) + ": " + std::string(said->token, said->bytes) + " @ " + std::to_string(said->position);
  lunar_finalize(statement);
  return ran;
}

std::string Database::result(const std::string& sql, const std::vector<lunar_value>& parameters,
                             std::size_t memory_bytes) {
  const Ran ran = run(sql, parameters, memory_bytes);
  if (ran.error != 0) return "error: " + ran.complaint;
  std::string text;
  for (const auto& row : ran.rows) {
    if (!text.empty()) text += "|";
    for (std::size_t i = 0; i < row.size(); ++i) text += (i != 0 ? " " : "") + row[i];
  }
  return text;
}

int Database::all(const std::string& sql) {
  const char *at = sql.data(), *end = at + sql.size();
  while (at != end) {
    std::vector<std::uint64_t> memory(8192);
    lunar_statement* statement = nullptr;
    int error =
        lunar_prepare(&db, at, static_cast<std::size_t>(end - at), memory.data(), memory.size() * 8, &statement, &at);
    if (error == 0 && statement == nullptr) return 0;
    while (error == 0 && (error = lunar_step(statement)) == LUNAR_ROW) error = 0;
    if (error != 0) return error;
  }
  return 0;
}

}  // namespace lunar_test
