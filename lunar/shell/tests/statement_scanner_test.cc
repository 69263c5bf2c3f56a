#include "statement_scanner.h"

#include <gtest/gtest.h>

#include <string>

namespace {

// Where it says that statements end, given the text line by line.
std::size_t complete(const std::string& text) {
  shell::StatementScanner scanner;
  for (std::size_t end = 0; end < text.size();) {
    end = std::min(text.find('\n', end), text.size() - 1) + 1;
    scanner.scan(std::string_view(text).substr(0, end));
  }
  return scanner.complete();
}

bool begun(const std::string& text) {
  shell::StatementScanner scanner;
  scanner.scan(text);
  return scanner.begun();
}

TEST(StatementScanner, a_semicolon_ends_a_statement) {
  EXPECT_EQ(complete("SELECT 1"), 0U);
  EXPECT_EQ(complete("SELECT\n1;\n"), 9U);
  EXPECT_EQ(complete("a; b; c"), 5U);
}

TEST(StatementScanner, but_not_in_quotes_nor_in_a_comment) {
  EXPECT_EQ(complete("'a;b'"), 0U);
  EXPECT_EQ(complete("'it''s;\n;' ;"), 12U);
  EXPECT_EQ(complete("\";\" `;`"), 0U);
  EXPECT_EQ(complete("-- ; it's\n;"), 11U);
  EXPECT_EQ(complete("/* ; ' \n; */ ;"), 14U);
  EXPECT_EQ(complete("/*/ ; */"), 0U);
}

std::size_t beginning(const std::string& text) {
  shell::StatementScanner scanner;
  scanner.scan(text);
  return scanner.beginning();
}

TEST(StatementScanner, the_first_statement_begins_behind_space_and_comments) {
  EXPECT_EQ(beginning("SELECT 1; SELECT 2;"), 0U);
  EXPECT_EQ(beginning("\n  SELECT 1;\nSELECT 2;"), 3U);
  EXPECT_EQ(beginning("-- SELECT\n/* SELECT\n*/ 'a' ;"), 23U);
  EXPECT_EQ(beginning(" -- nothing\n"), 12U);
}

TEST(StatementScanner, space_and_comments_begin_no_statement) {
  EXPECT_FALSE(begun(" \t\n-- SELECT\n/* x */"));
  EXPECT_TRUE(begun("-- x\nSELECT"));
  EXPECT_FALSE(begun("SELECT; \n"));
  EXPECT_TRUE(begun("SELECT; x"));
  EXPECT_TRUE(begun("'"));
}

}  // namespace
