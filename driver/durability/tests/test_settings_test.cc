#include "durability/test_settings.h"

#include <gtest/gtest.h>

#include "system/usage_error.h"

namespace edgejoule::driver {
namespace {

const AdapterInfo filed{"filed", "", {{"filed.path", "", ""}, {"filed.mode", "", ""}, {"filed.sync", "", ""}}, {}};
const AdapterInfo pathless{"pathless", "", {}, {}};

DatabaseSetting base() { return {&filed, {}, Durability::power, Durability::power}; }

TEST(TestSettings, are_all_combinations_of_what_varies) {
  const auto settings = test_settings(base(), {"filed.mode=a,b", "filed.sync=x,y"}, std::nullopt);
  std::vector<std::string> names;
  for (const auto& named : settings) names.push_back(named.name);
  EXPECT_EQ(names, (std::vector<std::string>{"mode=a sync=x", "mode=a sync=y", "mode=b sync=x", "mode=b sync=y"}));
  EXPECT_EQ(settings[2].setting.properties.get("filed.mode", ""), "b");
  EXPECT_EQ(settings[2].setting.properties.get("filed.sync", ""), "x");
}

TEST(TestSettings, vary_the_class_and_what_it_is_judged_by) {
  const auto settings = test_settings(base(), {"durability=none,process"}, std::nullopt);
  EXPECT_EQ(settings[0].setting.promise, Durability::none);
  EXPECT_EQ(settings[1].setting.promise, Durability::process);
  const auto expected = test_settings(base(), {"durability=none,process"}, "power");
  EXPECT_EQ(expected[0].setting.durability, Durability::none);
  EXPECT_EQ(expected[0].setting.promise, Durability::power);
}

TEST(TestSettings, refuse_what_has_no_meaning) {
  EXPECT_THROW(static_cast<void>(test_settings(base(), {"filed.mode"}, std::nullopt)), UsageError);
  EXPECT_THROW(static_cast<void>(test_settings(base(), {"filed.mode="}, std::nullopt)), UsageError);
  EXPECT_THROW(static_cast<void>(test_settings(base(), {"filed.color=red"}, std::nullopt)), UsageError);
  EXPECT_THROW(static_cast<void>(test_settings(base(), {"durability=some"}, std::nullopt)), UsageError);
  EXPECT_THROW(static_cast<void>(test_settings(base(), {}, "some")), UsageError);
}

TEST(TestSettings, refuse_a_database_without_files_and_a_path_of_the_users) {
  EXPECT_THROW(check_testable(pathless, {}), UsageError);
  Properties properties;
  properties.set("filed.path", "/data");
  EXPECT_THROW(check_testable(filed, properties), UsageError);
}

TEST(TestSettings, set_small_buffers_only_where_the_user_set_none) {
  const AdapterInfo leveldb{"leveldb", "", {{"leveldb.path", "", ""}, {"leveldb.write_buffer_bytes", "", ""}}, {}};
  Properties properties;
  EXPECT_EQ(prepare_for_test(leveldb, properties, "/files"), "leveldb.write_buffer_bytes=65536");
  EXPECT_EQ(properties.get("leveldb.path", ""), "/files/database");
  Properties own;
  own.set("leveldb.write_buffer_bytes", "100000");
  EXPECT_EQ(prepare_for_test(leveldb, own, "/files"), "");
  EXPECT_EQ(own.get("leveldb.write_buffer_bytes", ""), "100000");
}

}  // namespace
}  // namespace edgejoule::driver
