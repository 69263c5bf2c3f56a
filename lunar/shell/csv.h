// Comma-separated values after RFC 4180: lines end with LF or CRLF; quoted and unquoted fields are distinguished.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

namespace shell {

struct CsvField {
  std::string text;
  bool quoted = false;
};

class CsvReader {
 public:
  explicit CsvReader(std::istream& in);
  // The next record; blank lines are skipped. False at the end. Throws Failure for invalid CSV, naming the line.
  bool next(std::vector<CsvField>& fields);
  std::uint64_t line() const { return record_line_; }  // where the record begins, from 1

 private:
  int get();
  void read_quoted(CsvField& field);
  int read_field(CsvField& field);

  std::streambuf& in_;
  std::uint64_t line_ = 1, record_line_ = 1;
};

// Appends a field, in quotes where it needs them; an empty one always has them.
void append_csv_text(std::string& line, std::string_view text);

}  // namespace shell
