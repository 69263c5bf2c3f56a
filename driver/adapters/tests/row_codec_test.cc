#include "adapters/key_value/row_codec.h"

#include <gtest/gtest.h>

#include <array>

namespace edgejoule::driver {
namespace {

const std::string value_with_zeros("a\0b", 3);
const std::vector<Field> two_fields = {{"field0", value_with_zeros}, {"field1", ""}};

TEST(RowCodec, gives_back_names_and_values_as_they_were) {
  std::string bytes;
  encode_row(two_fields, bytes);
  std::vector<Field> fields;
  ASSERT_TRUE(decode_row(bytes, {}, fields));
  ASSERT_EQ(fields.size(), 2U);
  EXPECT_EQ(fields[0].name, "field0");
  EXPECT_EQ(fields[0].value, value_with_zeros);
  EXPECT_EQ(fields[1].name, "field1");
  EXPECT_EQ(fields[1].value, "");
}

TEST(RowCodec, keeps_the_layout_of_the_ycsb_rocksdb_binding) {
  std::string bytes;
  encode_row(std::vector<Field>{{"f", "xy"}}, bytes);
  EXPECT_EQ(bytes, std::string("\0\0\0\1f\0\0\0\2xy", 11));
}

TEST(RowCodec, gives_only_the_named_fields) {
  std::string bytes;
  encode_row(two_fields, bytes);
  std::vector<Field> fields;
  constexpr std::array<std::string_view, 1> names = {"field1"};
  ASSERT_TRUE(decode_row(bytes, names, fields));
  ASSERT_EQ(fields.size(), 1U);
  EXPECT_EQ(fields[0].name, "field1");
}

TEST(RowCodec, refuses_a_row_without_a_named_field) {
  std::string bytes;
  encode_row(two_fields, bytes);
  std::vector<Field> fields;
  constexpr std::array<std::string_view, 2> names = {"field1", "field7"};
  EXPECT_FALSE(decode_row(bytes, names, fields));
}

TEST(RowCodec, refuses_every_shortened_row) {
  std::string bytes;
  encode_row(std::vector<Field>{{"field0", "0123456789"}}, bytes);
  std::vector<Field> fields;
  for (std::size_t kept = 0; kept < bytes.size(); ++kept) {
    EXPECT_FALSE(decode_row(std::string_view(bytes).substr(0, kept), {}, fields)) << kept << " bytes";
  }
}

TEST(RowCodec, refuses_a_length_beyond_the_end) {
  std::vector<Field> fields;
  EXPECT_FALSE(decode_row(std::string("\xff\xff\xff\xff name", 9), {}, fields));
}

TEST(RowCodec, changes_only_the_given_fields) {
  std::vector<Field> fields = two_fields;
  change_fields(fields, std::vector<Field>{{"field1", "new"}, {"field2", "added"}});
  ASSERT_EQ(fields.size(), 3U);
  EXPECT_EQ(fields[0].value, value_with_zeros);
  EXPECT_EQ(fields[1].value, "new");
  EXPECT_EQ(fields[2].value, "added");
}

TEST(RowCodec, keeps_of_a_raw_row_the_value_alone) {
  std::string bytes = "untouched";
  const std::string value("\0\0\0\1f", 5);
  EXPECT_EQ(stored_row(std::vector<Field>{{"", value}}, bytes), value);
  EXPECT_EQ(bytes, "untouched");
  EXPECT_EQ(stored_row(std::vector<Field>{{"f", "xy"}}, bytes), std::string("\0\0\0\1f\0\0\0\2xy", 11));
}

TEST(RowCodec, gives_back_a_raw_row_whole_when_its_nameless_field_is_asked_for) {
  std::vector<Field> fields;
  constexpr std::array<std::string_view, 1> nameless = {""};
  for (const auto& value : {std::string(), std::string("\0\0\0\1f", 5), std::string(1000, 'x')}) {
    ASSERT_TRUE(decode_row(value, nameless, fields));
    ASSERT_EQ(fields.size(), 1U);
    EXPECT_EQ(fields[0].name, "");
    EXPECT_EQ(fields[0].value, value);
  }
}

}  // namespace
}  // namespace edgejoule::driver
