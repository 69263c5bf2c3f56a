#include "text_table.h"

#include <gtest/gtest.h>

namespace {

using eco::TextTable;

TEST(TextTable, words_stand_left_and_numbers_right) {
  TextTable table({{"SERVER"}, {"JOBS", TextTable::Align::right}, {"ADDRESS"}});
  table.add({"a-long-name", "7", ""});
  table.add({"b", "10000", "x"});
  EXPECT_EQ(table.text(),
            "SERVER        JOBS  ADDRESS\n"
            "a-long-name      7\n"
            "b            10000  x\n");
}

}  // namespace
