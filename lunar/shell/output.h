// Result rows on standard output, each written when it is there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lunar.h"

namespace shell {

enum class Format {
  list,  // a|b, see plain_text
  csv,   // a line of names first
  json,  // an object a line
  table  // columns that are aligned over 500 rows at a time, names first
};

class Output {
 public:
  Format format = Format::list;

  // False: no format of this name.
  bool set_format(std::string_view name);
  void begin(std::vector<std::string> names);
  void row(const std::vector<lunar_value>& values);
  void end();
  // Throws OutputClosed, Failure, Interrupted.
  void write(std::string_view text) const;

 private:
  struct Cell {
    std::string text;
    bool right = false;  // a number
  };

  void write_table();

  std::vector<std::string> names_;
  std::vector<std::vector<Cell>> waiting_;  // of a table
  std::vector<std::size_t> widths_;
};

inline constexpr const char* format_names = "list, csv, json or table";

}  // namespace shell
