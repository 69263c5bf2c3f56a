#include "output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "failure.h"
#include "interruption.h"
#include "value_text.h"

namespace shell {
namespace {

constexpr std::size_t table_rows = 500;

// In characters, a byte that continues one of UTF-8 not counted.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

bool is_number(const lunar_value& value) {
  return value.type != LUNAR_NULL && value.type != LUNAR_TEXT && value.type != LUNAR_BLOB &&
         value.type != LUNAR_BOOLEAN;
}

}  // namespace

bool Output::set_format(std::string_view name) {
  constexpr std::pair<std::string_view, Format> formats[] = {
      {"list", Format::list}, {"csv", Format::csv}, {"json", Format::json}, {"table", Format::table}};
  for (const auto& [known, value] : formats) {
    if (known != name) continue;
    format = value;
    return true;
  }
  return false;
}

void Output::begin(std::vector<std::string> names) {
  names_ = std::move(names);
  waiting_.clear();
  widths_.clear();
  if (format != Format::csv) return;
  std::string line;
  for (const auto& name : names_) {
    if (!line.empty()) line += ',';
    append_csv_text(line, name);
  }
  write(line + "\n");
}

void Output::row(const std::vector<lunar_value>& values) {
  std::string line;
  if (format == Format::table) {
    auto& cells = waiting_.emplace_back();
    for (const auto& value : values) cells.push_back({plain_text(value, 0), is_number(value)});
    if (waiting_.size() == table_rows) write_table();
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) line += format == Format::list ? '|' : ',';
    if (format == Format::list) line += plain_text(values[i], '|');
    if (format == Format::csv) append_csv(line, values[i]);
    if (format == Format::json) line += json_text(names_[i]), line += ':', line += json_text(values[i]);
  }
  if (format == Format::json) line = fmt::format("{{{}}}", line);
  write(line + "\n");
}

void Output::end() {
  if (format == Format::table && (!waiting_.empty() || widths_.empty())) write_table();
}

void Output::write_table() {
  const bool first = widths_.empty();
  if (first) {
    std::vector<Cell> names;
    for (const auto& name : names_) names.push_back({plain_text(name)});
    waiting_.insert(waiting_.begin(), names);
    widths_.resize(names_.size());
  }
  for (const auto& cells : waiting_)
    for (std::size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], width(cells[i].text));
  if (first) {
    std::vector<Cell> lines;
    for (const auto columns : widths_) lines.push_back({std::string(columns, '-')});
    waiting_.insert(waiting_.begin() + 1, lines);
  }
  std::string text;
  for (const auto& cells : waiting_) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const auto& [cell, right] = cells[i];
      const std::string space(widths_[i] - width(cell), ' ');
      if (i > 0) line += "  ";
      line += right ? space + cell : cell + space;
    }
    line.resize(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  waiting_.clear();
  write(text);
}

void Output::write(std::string_view text) const {
  while (!text.empty()) {
    const auto n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0 && errno == EINTR) {
      if (interruption::pending()) throw Interrupted("interrupted");
      continue;
    }
    if (n < 0 && errno == EPIPE) throw OutputClosed();
    if (n < 0) throw Failure(std::string("standard output: ") + std::strerror(errno));
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace shell
