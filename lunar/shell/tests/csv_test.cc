#include "csv.h"

#include <gtest/gtest.h>

#include <sstream>

#include "failure.h"

namespace {

using Record = std::vector<std::string>;

// A field without quotes that is empty is shown as NULL.
std::vector<Record> records_of(const std::string& text) {
  std::istringstream in(text);
  shell::CsvReader reader(in);
  std::vector<Record> records;
  for (std::vector<shell::CsvField> fields; reader.next(fields);) {
    auto& record = records.emplace_back();
    for (const auto& field : fields) record.push_back(field.text.empty() && !field.quoted ? "NULL" : field.text);
  }
  return records;
}

std::string complaint_about(const std::string& text) {
  try {
    records_of(text);
  } catch (const shell::Failure& failure) {
    return failure.what();
  }
  return "none";
}

TEST(Csv, fields_with_and_without_quotes) {
  EXPECT_EQ(records_of("a,b\n1,\"x\"\n"), (std::vector<Record>{{"a", "b"}, {"1", "x"}}));
  EXPECT_EQ(records_of("\"a,b\",\"say \"\"hi\"\"\""), (std::vector<Record>{{"a,b", "say \"hi\""}}));
  EXPECT_EQ(records_of("\"two\r\nlines\",2\n"), (std::vector<Record>{{"two\r\nlines", "2"}}));
}

TEST(Csv, an_empty_field_is_distinguished_from_an_empty_text) {
  EXPECT_EQ(records_of(",\"\",\n"), (std::vector<Record>{{"NULL", "", "NULL"}}));
}

TEST(Csv, lines_of_either_kind_and_no_last_line_feed) {
  EXPECT_EQ(records_of("a,b\r\n1,2\r\n"), (std::vector<Record>{{"a", "b"}, {"1", "2"}}));
  EXPECT_EQ(records_of("\"a\",\"b\"\r\n\"1\",\"2\"\r\n"), (std::vector<Record>{{"a", "b"}, {"1", "2"}}));
  EXPECT_EQ(records_of("1,2"), (std::vector<Record>{{"1", "2"}}));
  EXPECT_EQ(records_of("1,2\r"), (std::vector<Record>{{"1", "2"}}));
}

TEST(Csv, blank_lines_and_a_byte_order_mark_are_nothing) {
  EXPECT_EQ(records_of("\xef\xbb\xbf"
                       "a\n\n\r\nb\n\n"),
            (std::vector<Record>{{"a"}, {"b"}}));
  EXPECT_EQ(records_of("\xef\xbb,\xef\n"), (std::vector<Record>{{"\xef\xbb", "\xef"}}));
  EXPECT_TRUE(records_of("").empty());
}

TEST(Csv, what_is_no_csv_is_named_by_its_line) {
  EXPECT_EQ(complaint_about("a\n\"b\n\nc"), "line 2: the quote that begins here is not closed");
  EXPECT_EQ(complaint_about("a\nb\"c\n"), "line 2: a quote inside a field without quotes");
  EXPECT_EQ(complaint_about("\"a\"b\n"), "line 1: a comma or the end of the line is expected after the closing quote");
}

TEST(Csv, a_record_knows_where_it_begins) {
  std::istringstream in("a\n\"1\n2\"\nb\n");
  shell::CsvReader reader(in);
  std::vector<shell::CsvField> fields;
  std::vector<std::uint64_t> lines;
  while (reader.next(fields)) lines.push_back(reader.line());
  EXPECT_EQ(lines, (std::vector<std::uint64_t>{1, 2, 4}));
}

}  // namespace
