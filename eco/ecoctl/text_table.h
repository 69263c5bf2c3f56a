// Columns of text, aligned: words to the left, numbers to the right.
#pragma once

#include <string>
#include <vector>

namespace eco {

class TextTable {
 public:
  enum class Align : bool { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as columns.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // Each line ends with a line feed and has no blanks before it.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace eco
