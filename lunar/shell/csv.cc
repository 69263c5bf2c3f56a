#include "csv.h"

#include <fmt/format.h>

#include "failure.h"

namespace shell {
namespace {

constexpr int end = std::char_traits<char>::eof();
constexpr std::size_t field_bytes_max = 1 << 20;  // many times the largest row

}  // namespace

CsvReader::CsvReader(std::istream& in) : in_(*in.rdbuf()) {
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  std::size_t same = 0;
  while (same < byte_order_mark.size() && in_.sgetc() == static_cast<unsigned char>(byte_order_mark[same]))
    in_.sbumpc(), ++same;
  if (same == byte_order_mark.size()) return;
  while (same-- > 0) in_.sungetc();
}

int CsvReader::get() {
  const int c = in_.sbumpc();
  if (c == '\n') ++line_;
  return c;
}

void CsvReader::read_quoted(CsvField& field) {
  const auto from = line_;
  field.quoted = true;
  for (;;) {
    const int c = get();
    if (c == end) throw Failure(fmt::format("line {}: the quote that begins here is not closed", from));
    if (c == '"') {
      if (in_.sgetc() != '"') return;
      in_.sbumpc();
    }
    field.text += static_cast<char>(c);
    if (field.text.size() > field_bytes_max)
      throw Failure(fmt::format("line {}: the field that begins here is too long; is a quote missing?", from));
  }
}

// Returns what ended it: a comma, a line feed, the end.
int CsvReader::read_field(CsvField& field) {
  field.text.clear();
  field.quoted = false;
  int c = get();
  if (c == '"') {
    read_quoted(field);
    c = get();
    if (c != ',' && c != '\n' && c != '\r' && c != end)
      throw Failure(fmt::format("line {}: a comma or the end of the line is expected after the closing quote", line_));
  }
  for (; c != ',' && c != '\n' && c != end; c = get()) {
    if (c == '\r' && (in_.sgetc() == '\n' || in_.sgetc() == end)) continue;
    if (c == '"' || field.quoted) throw Failure(fmt::format("line {}: a quote inside a field without quotes", line_));
    field.text += static_cast<char>(c);
    if (field.text.size() > field_bytes_max) throw Failure(fmt::format("line {}: the field is too long", line_));
  }
  return c;
}

bool CsvReader::next(std::vector<CsvField>& fields) {
  for (;;) {
    record_line_ = line_;
    fields.clear();
    int ended = ',';
    while (ended == ',') ended = read_field(fields.emplace_back());
    const bool blank = fields.size() == 1 && fields[0].text.empty() && !fields[0].quoted;
    if (!blank) return true;
    if (ended == end) return false;
  }
}

void append_csv_text(std::string& line, std::string_view text) {
  if (!text.empty() && text.find_first_of("\",\r\n") == std::string_view::npos) {
    line += text;
    return;
  }
  line += '"';
  for (const char c : text) {
    if (c == '"') line += '"';
    line += c;
  }
  line += '"';
}

}  // namespace shell
