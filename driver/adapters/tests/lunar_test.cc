// Tests specific to lunar: modes, indexes, exclusive use of the image, columns, capacity of a transaction, components.
#include <gtest/gtest.h>

#include <array>
#include <fstream>

#include "adapters/registry.h"
#include "file_calls.h"
#include "open_database.h"
#include "system/usage_error.h"

namespace edgejoule::driver {
namespace {

constexpr std::uint64_t time_limit_ns = 60'000'000'000;

std::string open_error(TestDatabase& database, bool create = true, Durability durability = Durability::process) {
  try {
    database.open(create, durability);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "it opened";
}

void insert(TestDatabase& database, const std::string& key, int version = 0, std::size_t value_bytes = 20) {
  const auto session = database->session();
  ASSERT_EQ(session->insert(key, TestRow(key, version, value_bytes).fields()), Status::ok) << session->error();
}

std::uint64_t number(const std::map<std::string, std::string>& stats, const std::string& name) {
  return std::stoull(stats.at(name));
}

class LunarMode : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Modes, LunarMode, testing::Values("none", "disorder", "metadata", "data", "full"),
                         [](const auto& mode) { return mode.param; });

TEST_P(LunarMode, keeps_inserts_updates_batches_and_removes_over_a_reopening) {
  TestDatabase database("lunar");
  database.set("mode", GetParam());
  database.open();
  EXPECT_EQ(database->options()["mode"], GetParam());
  for (int row = 0; row < 200; ++row) insert(database, test_key(row));
  {
    const auto session = database->session();
    const TestRow changed(test_key(7), 1);
    ASSERT_EQ(session->update(test_key(7), changed.fields()), Status::ok) << session->error();
    ASSERT_EQ(session->remove(test_key(8)), Status::ok) << session->error();
    const TestRow added("added");
    const std::string there = test_key(9);
    const std::vector<Record> batch = {{"added", added.fields()}, {there, changed.fields()}};
    ASSERT_EQ(session->upsert_batch(batch), Status::ok) << session->error();
  }
  ASSERT_EQ(database.close(), "");
  database.open(false);
  const auto session = database->session();
  Row row;
  ASSERT_EQ(session->read(test_key(7), {}, row), Status::ok) << session->error();
  EXPECT_EQ(as_map(row), as_map(TestRow(test_key(7), 1)));
  EXPECT_EQ(session->read(test_key(8), {}, row), Status::not_found);
  ASSERT_EQ(session->read(test_key(9), {}, row), Status::ok) << session->error();
  EXPECT_EQ(as_map(row), as_map(TestRow(test_key(7), 1)));
  EXPECT_EQ(session->read("added", {}, row), Status::ok) << session->error();
}

TEST(LunarAdapter, says_when_a_mode_is_weaker_than_the_class) {
  TestDatabase database("lunar");
  database.set("mode", "none");
  database.open();
  EXPECT_NE(database->durability_how().find("its promise does not hold"), std::string::npos);
  TestDatabase promised("lunar");
  promised.open();
  EXPECT_EQ(promised->durability_how().find("its promise does not hold"), std::string::npos);
  TestDatabase powerless("lunar");
  powerless.set("mode", "data");
  powerless.open(true, Durability::power);
  EXPECT_NE(powerless->durability_how().find("its promise does not hold"), std::string::npos);
}

TEST(LunarAdapter, a_hash_index_has_keys_of_any_length_and_refuses_scans) {
  TestDatabase database("lunar");
  database.set("index", "hash");
  database.open();
  const std::string long_key(300, 'k');
  insert(database, long_key);
  const auto session = database->session();
  Row row;
  EXPECT_EQ(session->read(long_key, {}, row), Status::ok) << session->error();
  std::vector<Row> rows;
  EXPECT_EQ(session->scan("a", 10, {}, rows), Status::error);
  EXPECT_NE(session->error().find("lunar.index=tree"), std::string::npos) << session->error();
}

TEST(LunarAdapter, a_key_too_long_for_a_tree_is_reported_with_the_remedy) {
  TestDatabase database("lunar");
  database.open();
  const auto session = database->session();
  const std::string long_key(65, 'k');
  EXPECT_EQ(session->insert(long_key, TestRow("a").fields()), Status::error);
  EXPECT_NE(session->error().find("lunar.index=hash"), std::string::npos) << session->error();
}

TEST(LunarAdapter, integer_keys_are_scanned_by_value) {
  TestDatabase database("lunar");
  database.set_other("keytype", "integer");
  database.open();
  for (const char* key : {"10", "9", "-3", "200"}) insert(database, key);
  const auto session = database->session();
  std::vector<Row> rows;
  ASSERT_EQ(session->scan("-5", 3, {}, rows), Status::ok) << session->error();
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].key, "-3");
  EXPECT_EQ(rows[1].key, "9");
  EXPECT_EQ(rows[2].key, "10");
  EXPECT_EQ(session->insert("user1", TestRow("a").fields()), Status::error);
  EXPECT_NE(session->error().find("expected digits"), std::string::npos) << session->error();
}

TEST(LunarAdapter, a_row_larger_than_a_block_is_an_error_that_says_how_large_it_may_be) {
  TestDatabase database("lunar");
  database.open();
  const auto session = database->session();
  EXPECT_EQ(session->insert("user1", TestRow("user1", 0, 7000).fields()), Status::error);
  EXPECT_NE(session->error().find("64,900 bytes"), std::string::npos) << session->error();
  EXPECT_EQ(session->insert("user1", TestRow("user1", 0, 6000).fields()), Status::ok) << session->error();
}

TEST(LunarAdapter, more_fields_than_columns_are_refused_before_anything_is_made) {
  TestDatabase database("lunar");
  database.set_other("fieldcount", "16");
  EXPECT_NE(open_error(database).find("expected at most 15"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(database.path()));
  database.set_other("fieldcount", "15");
  EXPECT_EQ(open_error(database), "it opened");
}

TEST(LunarAdapter, names_longer_than_a_column_s_are_refused) {
  TestDatabase database("lunar");
  database.set_other("fieldnameprefix", "a_field_with_such_a_long_name");
  EXPECT_NE(open_error(database).find("names have 1 to 23 bytes"), std::string::npos);
}

TEST(LunarAdapter, a_table_of_other_fields_keys_or_index_is_refused) {
  TestDatabase database("lunar");
  database.open();
  ASSERT_EQ(database.close(), "");
  database.set("index", "hash");
  EXPECT_NE(open_error(database).find("has a tree index"), std::string::npos);
  database.set("index", "tree");
  database.set_other("fieldcount", "5");
  EXPECT_NE(open_error(database).find("has 10 fields"), std::string::npos);
  database.set_other("fieldcount", "10");
  database.set_other("keytype", "integer");
  EXPECT_NE(open_error(database).find("its keys are text"), std::string::npos);
  database.set_other("keytype", "text");
  database.set("sector_bytes", "4096");
  EXPECT_NE(open_error(database).find("lunar.sector_bytes=4096"), std::string::npos);
}

TEST(LunarAdapter, a_volume_in_use_is_refused_to_others) {
  TestDatabase database("lunar");
  database.open();
  const auto second = find_adapter("lunar")->make();
  Properties properties;
  properties.set("lunar.path", database.path().string());
  try {
    second->open(properties, Durability::process, false, {});
    FAIL() << "two opened one volume";
  } catch (const DatabaseError& error) {
    EXPECT_NE(std::string(error.what()).find("open elsewhere"), std::string::npos) << error.what();
  }
  insert(database, "user1");
}

TEST(LunarAdapter, makes_a_volume_in_an_image_of_zeros) {
  TestDatabase database("lunar");
  std::ofstream(database.path()).close();
  std::filesystem::resize_file(database.path(), 4U << 20U);
  database.open();
  insert(database, "user1");
  EXPECT_EQ(std::filesystem::file_size(database.path()), 4U << 20U);
}

TEST(LunarAdapter, a_directory_gets_an_image_of_the_size_asked_for) {
  TestDatabase database("lunar");
  std::filesystem::create_directory(database.path());
  database.set("size_bytes", "3000000");
  database.set("allocate", "true");
  database.open();
  const auto image = database.path() / "usertable.lunar";
  EXPECT_EQ(std::filesystem::file_size(image), 3000000U / 512 * 512);
  EXPECT_EQ(database->path(), database.path().string());
}

TEST(LunarAdapter, a_full_volume_says_so_and_how_to_have_a_larger_one) {
  TestDatabase database("lunar");
  database.set("size_bytes", "1048576");
  database.open();
  const auto session = database->session();
  Status status = Status::ok;
  for (int row = 0; status == Status::ok && row < 2000; ++row) {
    status = session->insert(test_key(row), TestRow(test_key(row), 0, 100).fields());
  }
  EXPECT_EQ(status, Status::error);
  EXPECT_NE(session->error().find("lunar.size_bytes"), std::string::npos) << session->error();
  Row row;
  EXPECT_EQ(session->read(test_key(0), {}, row), Status::ok) << session->error();
}

// 64 KiB of log cannot hold 500 rows at once.
TEST(LunarAdapter, a_batch_too_large_for_one_transaction_is_written_in_several) {
  TestDatabase database("lunar");
  database.set("size_bytes", "2097152");
  database.set("buffer_bytes", "16384");
  database.open();
  constexpr int count = 500;
  std::vector<std::string> keys;
  std::vector<std::unique_ptr<TestRow>> rows;
  std::vector<Record> records;
  for (int row = 0; row < count; ++row) keys.push_back(test_key(row * 7919 % count));
  for (const auto& key : keys) {
    rows.push_back(std::make_unique<TestRow>(key, 0, 100));
    records.push_back({key, rows.back()->fields()});
  }
  const auto session = database->session();
  const auto syncs = syncs_by_this_thread(database.directory());
  ASSERT_EQ(session->insert_batch(records), Status::ok) << session->error();
  EXPECT_GT(syncs_by_this_thread(database.directory()), syncs + 1) << "it fitted: this test could not fail";
  Row row;
  for (const auto& key : keys) ASSERT_EQ(session->read(key, {}, row), Status::ok) << key;
}

TEST(LunarAdapter, a_batch_that_fails_leaves_nothing) {
  TestDatabase database("lunar");
  database.open();
  insert(database, "user2");
  const TestRow row("user1");
  const std::vector<Record> batch = {{"user1", row.fields()}, {"user2", row.fields()}};
  const auto session = database->session();
  EXPECT_EQ(session->insert_batch(batch), Status::error);
  EXPECT_NE(session->error().find("user2"), std::string::npos) << session->error();
  Row read;
  EXPECT_EQ(session->read("user1", {}, read), Status::not_found);
}

std::string content(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// A volume left by mode none is used only if lunar finds it sound.
TEST(LunarAdapter, a_volume_cut_off_in_mode_none_opens_again_or_is_called_damaged) {
  TestDatabase database("lunar");
  database.set("size_bytes", "2097152");
  database.set("buffer_bytes", "4096");  // so small that pages of the index are written, too
  database.open(true, Durability::none);
  for (int row = 0; row < 300; ++row) insert(database, test_key(row), 0, 100);
  ASSERT_EQ(database->flush(), Status::ok) << database->flush_error();
  const auto before = content(database.path());
  for (int row = 300; row < 600; ++row) insert(database, test_key(row), 0, 100);
  const auto after = content(database.path());
  auto half = after;  // every other sector of the last writes is missing
  for (std::size_t at = 0; at + 512 < half.size(); at += 1024) half.replace(at, 512, before, at, 512);

  const auto copy = database.directory() / "copy";
  Properties properties;
  properties.set("lunar.path", copy.string());
  std::ofstream(copy, std::ios::binary) << before;
  const auto second = find_adapter("lunar")->make();
  second->open(properties, Durability::power, false, {});
  Row row;
  EXPECT_EQ(second->session()->read(test_key(299), {}, row), Status::ok);
  ASSERT_EQ(second->close(), "");

  std::ofstream(copy, std::ios::binary) << half;
  try {
    find_adapter("lunar")->make()->open(properties, Durability::power, false, {});
    FAIL() << "opened half of what was written";
  } catch (const DatabaseError& error) {
    EXPECT_NE(std::string(error.what()).find("load it again"), std::string::npos) << error.what();
  }
}

TEST(LunarAdapter, settling_leaves_nothing_in_memory_and_little_to_recover) {
  TestDatabase database("lunar");
  database.set("mode", "data");
  database.open();
  for (int row = 0; row < 1000; ++row) insert(database, test_key(row), 0, 100);
  const auto before = database->stats();
  ASSERT_GT(number(before, "frames_dirty"), 0U) << "nothing to settle: this test could not fail";
  ASSERT_TRUE(database->settle(time_limit_ns).complete);
  const auto after = database->stats();
  EXPECT_EQ(number(after, "frames_dirty"), 0U);
  EXPECT_LT(number(after, "log_bytes_used"), 65536U);
  EXPECT_GT(number(after, "checkpoints"), number(before, "checkpoints"));
}

TEST(LunarAdapter, stats_and_components_agree_with_the_calls_of_the_program) {
  TestDatabase database("lunar");
  database.open(true, Durability::power);
  const auto whole = [](std::string_view) { return true; };
  const auto seen_before = file_calls(database.directory(), whole);
  const auto before = database->stats();
  const auto log_before = database->components().front();
  for (int row = 0; row < 100; ++row) insert(database, test_key(row), 0, 10);  // small rows are written to the log
  const auto session = database->session();
  for (int row = 0; row < 100; ++row) {
    const std::vector<Field> change = {{"field3", "changed"}};
    ASSERT_EQ(session->update(test_key(row), change), Status::ok) << session->error();
  }
  const auto seen = file_calls(database.directory(), whole);
  const auto after = database->stats();
  const auto log = database->components().front();
  EXPECT_GE(seen.syncs - seen_before.syncs, 200U);
  EXPECT_EQ(number(after, "device_flushes") - number(before, "device_flushes"), seen.syncs - seen_before.syncs);
  EXPECT_EQ((number(after, "sectors_written") - number(before, "sectors_written")) * 512,
            seen.write_bytes - seen_before.write_bytes);
  ASSERT_EQ(log.name, "wal");
  EXPECT_EQ(*log.syncs - *log_before.syncs, seen.syncs - seen_before.syncs);
  const auto log_bytes = *log.write_bytes - *log_before.write_bytes;
  EXPECT_GE(log_bytes, 200U * 512);
  EXPECT_LE(log_bytes, seen.write_bytes - seen_before.write_bytes);
}

TEST(LunarAdapter, a_query_cache_answers_what_was_read_before) {
  TestDatabase database("lunar");
  database.set("cache_bytes", "4096");
  EXPECT_NE(open_error(database).find("too small for four rows of lunar.cache_row_bytes=1024"), std::string::npos);
  database.set("cache_bytes", "65536");
  database.open();
  for (int row = 0; row < 20; ++row) insert(database, test_key(row));
  const auto session = database->session();
  for (int version = 0; version < 2; ++version) {
    Row row;
    for (int again = 0; again < 2; ++again) {
      ASSERT_EQ(session->read(test_key(7), {}, row), Status::ok) << session->error();
      EXPECT_EQ(as_map(row), as_map(TestRow(test_key(7), version)));
    }
    ASSERT_EQ(session->update(test_key(7), TestRow(test_key(7), 1).fields()), Status::ok) << session->error();
  }
  EXPECT_EQ(number(database->stats(), "cache_hits"), 2U);
}

TEST(LunarAdapter, direct_and_through_the_page_cache_read_each_other_s_rows) {
  TestDatabase database("lunar");
  database.open();
  insert(database, "user1");
  ASSERT_EQ(database.close(), "");
  database.set("direct", "true");
  const auto error = open_error(database, false);
  if (error.find("lunar.direct=false") != std::string::npos) GTEST_SKIP() << error;  // for example tmpfs
  ASSERT_EQ(error, "it opened");
  Row row;
  EXPECT_EQ(database->session()->read("user1", {}, row), Status::ok);
  insert(database, "user2");
  ASSERT_EQ(database.close(), "");
  database.set("direct", "false");
  database.open(false);
  EXPECT_EQ(database->session()->read("user2", {}, row), Status::ok);
}

}  // namespace
}  // namespace edgejoule::driver
