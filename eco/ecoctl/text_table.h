// Aligns columns: text left, numbers right.
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

  // Needs one cell per column.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // Lines end with a line feed, without trailing blanks.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace eco
