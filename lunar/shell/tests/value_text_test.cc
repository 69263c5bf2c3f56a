#include "value_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "failure.h"

namespace {

lunar_value text(const std::string& bytes, lunar_type type = LUNAR_TEXT) {
  lunar_value value{};
  value.type = static_cast<std::uint8_t>(type), value.bytes = static_cast<std::uint32_t>(bytes.size());
  value.as.data = bytes.data();
  return value;
}

lunar_value real(double number) {
  lunar_value value{};
  value.type = LUNAR_REAL, value.as.real = number;
  return value;
}

std::string complaint_about(const std::string& field_text, lunar_type type, bool quoted = false) {
  shell::CsvField field{field_text, quoted};
  try {
    shell::value_of(field, type);
  } catch (const shell::Failure& failure) {
    return failure.what();
  }
  return "none";
}

TEST(ValueText, a_row_is_a_line) {
  const std::string bytes = "a|b\\c\n\t\x1b[2J", blob("\x00\xff'", 3);
  EXPECT_EQ(shell::plain_text(text(bytes), '|'), "a\\|b\\\\c\\n\\t\\x1b[2J");
  EXPECT_EQ(shell::plain_text(text(blob, LUNAR_BLOB), '|'), "X'00ff27'");
  EXPECT_EQ(shell::json_text(text(bytes)), "\"a|b\\\\c\\n\\t\\u001b[2J\"");
}

TEST(ValueText, a_real_is_seen_to_be_one_and_reads_back_as_it_was) {
  EXPECT_EQ(shell::plain_text(real(20), 0), "20.0");
  EXPECT_EQ(shell::plain_text(real(0.1), 0), "0.1");
  EXPECT_EQ(shell::json_text(real(HUGE_VAL)), "9.0e+999");
  EXPECT_EQ(shell::json_text(real(NAN)), "null");
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 10000; ++i) {
    const auto bits = random();
    double number = 0;
    std::memcpy(&number, &bits, sizeof number);
    if (std::isnan(number)) continue;
    shell::CsvField field{shell::plain_text(real(number), 0), false};
    EXPECT_EQ(shell::value_of(field, LUNAR_REAL).as.real, number) << field.text;
  }
}

TEST(ValueText, texts_and_blobs_of_any_bytes_read_back_as_they_were) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes(random() % 40, 0);
    for (auto& byte : bytes) byte = random() % 2 != 0 ? "\"',\r\n;\\|X"[random() % 9] : static_cast<char>(random());
    for (const auto type : {LUNAR_TEXT, LUNAR_BLOB}) {
      std::string line;
      shell::append_csv(line, text(bytes, type));
      std::istringstream in(line + ",\n");
      shell::CsvReader reader(in);
      std::vector<shell::CsvField> fields;
      ASSERT_TRUE(reader.next(fields));
      ASSERT_EQ(fields.size(), 2U);
      const auto back = shell::value_of(fields[0], type);
      EXPECT_EQ(back.type, type);
      EXPECT_EQ(std::string(static_cast<const char*>(back.as.data), back.bytes), bytes);
    }
  }
}

TEST(ValueText, null_is_distinguished_from_an_empty_text) {
  std::string line;
  shell::append_csv(line, lunar_value{});
  line += ',';
  shell::append_csv(line, text(""));
  EXPECT_EQ(line, ",\"\"");
}

TEST(ValueText, a_message_has_no_control_character_but_the_ends_of_lines) {
  EXPECT_EQ(shell::message_text("no table \"red \x1b[31m\"\n  a\\b\n  ^"), "no table \"red \\x1b[31m\"\n  a\\b\n  ^");
}

TEST(ValueText, what_is_not_of_the_columns_type_is_refused_with_a_message) {
  EXPECT_EQ(complaint_about("abc", LUNAR_INT64), "\"abc\": expected an integer of 64 bits");
  EXPECT_EQ(complaint_about("128", LUNAR_INT8), "\"128\": expected an integer from -128 to 127");
  EXPECT_EQ(complaint_about("-128", LUNAR_INT8), "none");
  EXPECT_EQ(complaint_about("-9223372036854775808", LUNAR_INT64), "none");
  EXPECT_EQ(complaint_about("9223372036854775808", LUNAR_INT64),
            "\"9223372036854775808\": expected an integer of 64 bits");
  EXPECT_EQ(complaint_about("", LUNAR_INT32, true), "\"\": expected an integer from -2147483648 to 2147483647");
  EXPECT_EQ(complaint_about("1,5", LUNAR_REAL), "\"1,5\": expected a number");
  EXPECT_EQ(complaint_about("+1.5e3", LUNAR_REAL), "none");
  EXPECT_EQ(complaint_about("yes", LUNAR_BOOLEAN), "\"yes\": expected TRUE or FALSE");
  EXPECT_EQ(complaint_about("True", LUNAR_BOOLEAN), "none");
  EXPECT_EQ(complaint_about("X'0'", LUNAR_BLOB), "\"X'0'\": expected a BLOB like X'0aff'");
  EXPECT_EQ(complaint_about("X''", LUNAR_BLOB), "none");
}

}  // namespace
