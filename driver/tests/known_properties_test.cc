#include "known_properties.h"

#include <gtest/gtest.h>

namespace edgejoule::driver {
namespace {

const AdapterInfo adapter{"sqlite", "", {{"sqlite.path", "", ""}, {"sqlite.journal_mode", "", "WAL"}}, {}};

std::string refusal(const std::string& key, const std::string& origin) {
  Properties properties;
  properties.set(key, "x", origin);
  try {
    static_cast<void>(check_names(properties, adapter));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

std::vector<std::string> notes(const std::string& key, const std::string& origin) {
  Properties properties;
  properties.set(key, "x", origin);
  return check_names(properties, adapter);
}

TEST(KnownProperties, a_slip_is_refused_with_the_nearest_name) {
  EXPECT_EQ(refusal("recordcuont", "-p"), "-p: unknown property recordcuont; did you mean recordcount?");
  EXPECT_EQ(refusal("sqlite.jornal_mode", "a.properties:3"),
            "a.properties:3: unknown property sqlite.jornal_mode; did you mean sqlite.journal_mode?");
  EXPECT_EQ(refusal("measurment.interval", "a.properties:3"),
            "a.properties:3: unknown property measurment.interval; did you mean measurement.interval?");
}

TEST(KnownProperties, an_unknown_option_of_the_database_is_refused_with_its_own_options_only) {
  EXPECT_EQ(refusal("sqlite.cache", "-p"), "-p: unknown property sqlite.cache; did you mean sqlite.path?");
  EXPECT_EQ(refusal("sqlite.xyzzy_xyzzy_xyzzy_xyzzy", "-p"),
            "-p: unknown property sqlite.xyzzy_xyzzy_xyzzy_xyzzy; sqlite has: sqlite.path, sqlite.journal_mode");
}

TEST(KnownProperties, an_option_of_another_database_is_refused_with_that_database) {
  EXPECT_EQ(refusal("noop.speed", "-p"),
            "-p: unknown property noop.speed: an option of noop, but the database is sqlite");
}

TEST(KnownProperties, options_of_other_databases_are_noted_in_files_and_refused_on_the_command_line) {
  EXPECT_EQ(notes("mongodb.url", "a.properties:3"),
            std::vector<std::string>{"of other databases, ignored: mongodb.url"});
  EXPECT_NE(refusal("mongodb.url", "-p"), "");
}

TEST(KnownProperties, ycsb_properties_without_effect_are_noted) {
  EXPECT_EQ(notes("exporter", "-p"), std::vector<std::string>{"without effect here: exporter"});
  EXPECT_TRUE(notes("recordcount", "-p").empty());
  EXPECT_TRUE(notes("sqlite.path", "-p").empty());
}

}  // namespace
}  // namespace edgejoule::driver
