#include "text_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace eco {
namespace {

void append(std::string& line, const std::string& cell, TextTable::Align align, std::size_t width) {
  line += align == TextTable::Align::right ? fmt::format("{:>{}}", cell, width) : fmt::format("{:<{}}", cell, width);
}

}  // namespace

std::string TextTable::text() const {
  std::vector<std::string> titles;
  for (const auto& column : columns_) titles.push_back(column.title);
  std::vector<std::vector<std::string>> lines{titles};
  lines.insert(lines.end(), rows_.begin(), rows_.end());
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& line : lines)
    for (std::size_t i = 0; i < columns_.size(); ++i) widths[i] = std::max(widths[i], line.at(i).size());
  std::string out;
  for (const auto& cells : lines) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) line += "  ";
      append(line, cells[i], columns_[i].align, widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace eco
