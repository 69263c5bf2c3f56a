#include "contract/properties.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace edgejoule::driver {
namespace {

class PropertyFile : public testing::Test {
 protected:
  std::string write(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    return path_;
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::string message_of(const std::string& text) {
    try {
      Properties().load_file(write(text));
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }

  const std::string path_ =
      (std::filesystem::temp_directory_path() /
       ("edgejoule-" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + ".properties"))
          .string();
};

TEST_F(PropertyFile, is_read_as_java_reads_it) {
  Properties properties;
  properties.load_file(
      write("# comment\n! comment\n\n  a=1\r\nb : two words \nc three\nd=\ne=one,\\\n    two\n"
            "f\\ g=h\\u0041\\n\nx==y\n"));
  EXPECT_EQ(properties.get("a", ""), "1");
  EXPECT_EQ(properties.get("b", ""), "two words ");
  EXPECT_EQ(properties.get("c", ""), "three");
  EXPECT_EQ(properties.get("d", "default"), "");
  EXPECT_EQ(properties.get("e", ""), "one,two");
  EXPECT_EQ(properties.get("f g", ""), "hA\n");
  EXPECT_EQ(properties.get("x", ""), "=y");
  EXPECT_EQ(properties.all().size(), 7U);
}

TEST_F(PropertyFile, the_later_value_wins) {
  Properties properties;
  properties.load_file(write("a=1\na=2\n"));
  EXPECT_EQ(properties.get("a", ""), "2");
  properties.set("a", "3");
  EXPECT_EQ(properties.get("a", ""), "3");
}

TEST_F(PropertyFile, a_line_that_is_no_property_is_named) {
  EXPECT_EQ(message_of("a=1\nnonsense\n"), path_ + ":2: not a property: \"nonsense\"; expected key=value");
  EXPECT_EQ(message_of("a=\\u00zz\n"), path_ + ":1: not a property: \"a=\\u00zz\"; expected key=value");
}

TEST_F(PropertyFile, a_directory_and_an_absent_file_are_refused) {
  Properties properties;
  EXPECT_THROW(properties.load_file(std::filesystem::temp_directory_path()), UsageError);
  EXPECT_THROW(properties.load_file(path_ + ".absent"), UsageError);
}

TEST_F(PropertyFile, malformed_values_name_place_key_value_and_expectation) {
  Properties properties;
  properties.load_file(write("count=ten\n"));
  try {
    static_cast<void>(properties.get_u64("count", 0));
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_EQ(std::string(error.what()), path_ + ":1: property count=ten: expected a whole number >= 0");
  }
}

TEST(Properties, a_number_beyond_64_bits_is_refused_with_the_largest_that_is_accepted) {
  Properties properties;
  properties.set("n", "99999999999999999999999", "-p");
  try {
    static_cast<void>(properties.get_u64("n", 0, 1000));
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "-p: property n=99999999999999999999999: expected a number up to 1000");
  }
}

TEST(Properties, numbers_and_flags_are_read_whole_or_refused) {
  Properties properties;
  for (const auto* bad : {"-1", "1.5", "1x", "", "0x10", "99999999999999999999"}) {
    properties.set("n", bad);
    EXPECT_THROW(static_cast<void>(properties.get_u64("n", 0)), UsageError) << bad;
  }
  for (const auto* bad : {"a", "", "nan", "inf", "1,5"}) {
    properties.set("n", bad);
    EXPECT_THROW(static_cast<void>(properties.get_double("n", 0)), UsageError) << bad;
  }
  for (const auto* bad : {"yes", "1", ""}) {
    properties.set("n", bad);
    EXPECT_THROW(static_cast<void>(properties.get_bool("n", false)), UsageError) << bad;
  }
  properties.set("n", "18446744073709551615");
  EXPECT_EQ(properties.get_u64("n", 0), 18446744073709551615U);
  properties.set("n", " TRUE ");
  EXPECT_TRUE(properties.get_bool("n", false));
}

}  // namespace
}  // namespace edgejoule::driver
