// Values of every type, NULL included, are stored in rows and read back.
#include <gtest/gtest.h>

#include "values.h"
#include "world.h"

namespace lunar_test {
namespace {

lunar_value of(std::uint8_t type, std::int64_t integer) {
  lunar_value value{};
  value.type = type, value.as.integer = integer;
  return value;
}

class Rows : public testing::Test {
 protected:
  void SetUp() override {
    lunar_schema schema{};
    const std::uint8_t types[] = {LUNAR_INT8,  LUNAR_TEXT, LUNAR_INT16,  LUNAR_INT32,
                                  LUNAR_INT64, LUNAR_REAL, LUNAR_BOOLEAN};
    for (const auto type : types) {
      auto& column = schema.columns[schema.column_count];
      column.name[0] = static_cast<char>('a' + schema.column_count++);
      column.type = type;
    }
    schema.key = 1;
    ASSERT_EQ(lunar_table_create(&world.db, "all", &schema), 0);
    ASSERT_EQ(lunar_table_open(&world.db, "all", &all), 0);
    values[0] = of(LUNAR_INT64, -128), values[1] = text("a key"), values[2] = of(LUNAR_INT64, -32768);
    values[3] = of(LUNAR_INT64, 2147483647), values[4] = of(LUNAR_INT64, INT64_MIN), values[6] = of(LUNAR_BOOLEAN, 1);
    values[5].type = LUNAR_REAL, values[5].as.real = -0.1;
  }

  World world{{}, 1};
  lunar_table all{};
  lunar_value values[7]{};
  char row[200]{};
  lunar_value back[7]{};
};

TEST_F(Rows, give_back_what_was_stored) {
  ASSERT_EQ(lunar_insert(&all, values), 0);
  ASSERT_EQ(lunar_get(&all, &values[1], row, sizeof row, back), 0);
  for (const int i : {0, 2, 3, 4, 6}) EXPECT_EQ(back[i].as.integer, values[i].as.integer) << i;
  EXPECT_EQ(back[5].as.real, -0.1);
  EXPECT_EQ(bytes_of(back[1]), "a key");
}

TEST_F(Rows, keep_null_apart_from_zero) {
  for (const int i : {0, 2, 4, 5}) values[i] = of(LUNAR_NULL, 0);
  ASSERT_EQ(lunar_insert(&all, values), 0);
  ASSERT_EQ(lunar_get(&all, &values[1], row, sizeof row, back), 0);
  for (const int i : {0, 2, 4, 5}) EXPECT_EQ(back[i].type, LUNAR_NULL) << i;
  EXPECT_EQ(back[3].as.integer, 2147483647);
}

TEST_F(Rows, refuse_what_their_columns_cannot_hold) {
  values[0] = of(LUNAR_INT64, 128);
  EXPECT_EQ(lunar_insert(&all, values), LUNAR_E_INVALID);
  values[0] = text("no number");
  EXPECT_EQ(lunar_insert(&all, values), LUNAR_E_INVALID);
  values[0] = of(LUNAR_INT64, 1), values[1] = of(LUNAR_NULL, 0);
  EXPECT_EQ(lunar_insert(&all, values), LUNAR_E_INVALID) << "a key is not NULL";
  values[1] = text("a key"), values[6] = of(LUNAR_BOOLEAN, 256);
  EXPECT_EQ(lunar_insert(&all, values), LUNAR_E_INVALID) << "it would be stored as false";
}

TEST_F(Rows, take_no_bytes_from_nowhere) {
  values[1] = bytes_of(LUNAR_TEXT, nullptr, 0);
  ASSERT_EQ(lunar_insert(&all, values), 0);
  ASSERT_EQ(lunar_get(&all, &values[1], row, sizeof row, back), 0);
  EXPECT_EQ(back[1].type, LUNAR_TEXT);
  EXPECT_EQ(back[1].bytes, 0U);
}

TEST_F(Rows, are_not_promised_to_columns_with_flags_that_nobody_knows) {
  lunar_schema schema{};
  schema.column_count = 1, schema.columns[0] = {"key", LUNAR_INT8, 2};
  EXPECT_EQ(lunar_table_create(&world.db, "flags", &schema), LUNAR_E_INVALID);
}

TEST_F(Rows, tell_keys_apart_that_are_text) {
  ASSERT_EQ(lunar_insert(&all, values), 0);
  EXPECT_EQ(lunar_insert(&all, values), LUNAR_E_EXISTS);
  values[1] = text("b key");
  ASSERT_EQ(lunar_insert(&all, values), 0);
  const lunar_value key = text("a ke");
  EXPECT_EQ(lunar_get(&all, &key, row, sizeof row, back), LUNAR_E_NOT_FOUND);
  EXPECT_EQ(lunar_get(&all, &values[1], row, 10, back), LUNAR_E_BUFFER);
}

}  // namespace
}  // namespace lunar_test
