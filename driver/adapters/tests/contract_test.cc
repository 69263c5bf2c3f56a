// The guarantees of adapter.h, for every adapter.
#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <thread>

#include "adapters/registry.h"
#include "open_database.h"

namespace edgejoule::driver {
namespace {

class Contract : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { database_.open(); }

  void insert(Session& session, const std::string& key, int version = 0) {
    const TestRow row(key, version);
    ASSERT_EQ(session.insert(key, row.fields()), Status::ok) << session.error();
  }

  TestDatabase database_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Adapters, Contract, testing::ValuesIn(keeping_adapters()),
                         [](const auto& adapter) { return adapter.param; });

TEST_P(Contract, reads_what_was_inserted) {
  const auto session = database_->session();
  insert(*session, "user1");
  Row row;
  ASSERT_EQ(session->read("user1", {}, row), Status::ok) << session->error();
  EXPECT_EQ(as_map(row), as_map(TestRow("user1")));
}

TEST_P(Contract, reads_only_the_named_fields) {
  const auto session = database_->session();
  insert(*session, "user1");
  constexpr std::array<std::string_view, 2> names = {"field3", "field7"};
  Row row;
  ASSERT_EQ(session->read("user1", names, row), Status::ok) << session->error();
  EXPECT_EQ(as_map(row), (std::map<std::string, std::string>{{"field3", TestRow::value("user1", 3, 0)},
                                                             {"field7", TestRow::value("user1", 7, 0)}}));
}

TEST_P(Contract, reports_that_a_key_is_not_there) {
  const auto session = database_->session();
  insert(*session, "user1");
  Row row;
  EXPECT_EQ(session->read("user2", {}, row), Status::not_found);
}

TEST_P(Contract, keeps_values_of_any_bytes) {
  const auto session = database_->session();
  std::string every_byte;
  for (int byte = 0; byte < 256; ++byte) every_byte += static_cast<char>(byte);
  const TestRow base("user1");
  std::vector<Field> fields(base.fields().begin(), base.fields().end());
  fields[0].value = every_byte;
  fields[1].value = "";
  ASSERT_EQ(session->insert("user1", fields), Status::ok) << session->error();
  Row row;
  ASSERT_EQ(session->read("user1", {}, row), Status::ok) << session->error();
  EXPECT_EQ(as_map(row)["field0"], every_byte);
  EXPECT_EQ(as_map(row)["field1"], "");
}

TEST_P(Contract, update_keeps_the_other_fields) {
  const auto session = database_->session();
  insert(*session, "user1");
  const std::vector<Field> change = {{"field4", "changed"}};
  ASSERT_EQ(session->update("user1", change), Status::ok) << session->error();
  auto expected = as_map(TestRow("user1"));
  expected["field4"] = "changed";
  Row row;
  ASSERT_EQ(session->read("user1", {}, row), Status::ok) << session->error();
  EXPECT_EQ(as_map(row), expected);
}

TEST_P(Contract, update_of_all_fields_replaces_all) {
  const auto session = database_->session();
  insert(*session, "user1");
  const TestRow changed("user1", 1, 300);
  ASSERT_EQ(session->update("user1", changed.fields()), Status::ok) << session->error();
  Row row;
  ASSERT_EQ(session->read("user1", {}, row), Status::ok) << session->error();
  EXPECT_EQ(as_map(row), as_map(changed));
}

TEST_P(Contract, update_makes_no_record) {
  const auto session = database_->session();
  EXPECT_EQ(session->update("user1", TestRow("user1").fields()), Status::not_found);
  Row row;
  EXPECT_EQ(session->read("user1", {}, row), Status::not_found);
}

TEST_P(Contract, an_update_reads_first_only_where_it_merges) {
  const auto session = database_->session();
  insert(*session, "user1");
  const std::vector<Field> change = {{"field4", "changed"}};
  for (int count = 0; count < 5; ++count) ASSERT_EQ(session->update("user1", change), Status::ok);
  EXPECT_EQ(session->reads_before_write(), database_->update_merges() ? 5U : 0U);
  EXPECT_EQ(database_->update_merges(), GetParam() == "leveldb" || GetParam() == "lmdb" || GetParam() == "rocksdb");
}

TEST_P(Contract, replace_changes_all_fields_without_a_read_before) {
  const auto session = database_->session();
  insert(*session, "user1");
  const TestRow changed("user1", 1, 300);
  ASSERT_EQ(session->replace("user1", changed.fields()), Status::ok) << session->error();
  EXPECT_EQ(session->reads_before_write(), 0U);
  Row row;
  ASSERT_EQ(session->read("user1", {}, row), Status::ok) << session->error();
  EXPECT_EQ(as_map(row), as_map(changed));
}

TEST_P(Contract, replace_makes_a_record_only_where_an_update_would_have_to_read) {
  const auto session = database_->session();
  const auto made = database_->update_merges() ? Status::ok : Status::not_found;
  EXPECT_EQ(session->replace("user1", TestRow("user1").fields()), made);
  Row row;
  EXPECT_EQ(session->read("user1", {}, row), made);
}

TEST_P(Contract, removed_records_are_gone) {
  const auto session = database_->session();
  insert(*session, "user1");
  ASSERT_EQ(session->remove("user1"), Status::ok) << session->error();
  Row row;
  EXPECT_EQ(session->read("user1", {}, row), Status::not_found);
}

// LevelDB and RocksDB would have to read all their data.
TEST_P(Contract, counts_its_records_where_that_is_cheap) {
  constexpr std::uint64_t patience_ns = 10'000'000'000;
  const bool counts = GetParam() != "leveldb" && GetParam() != "rocksdb";
  const auto count = [&] { return database_->record_count(patience_ns); };
  ASSERT_EQ(count().has_value(), counts);
  if (!counts) return;
  EXPECT_EQ(count(), 0U);
  const auto session = database_->session();
  for (const auto* key : {"user1", "user2", "user3"}) insert(*session, key);
  ASSERT_EQ(session->remove("user2"), Status::ok) << session->error();
  EXPECT_EQ(count(), 2U);
  EXPECT_TRUE(database_->incidents().empty());
}

TEST_P(Contract, scan_gives_rows_in_key_order_from_the_start_key) {
  const auto session = database_->session();
  for (const int number : {5, 1, 4, 2, 9, 3}) insert(*session, test_key(number));
  std::vector<Row> rows;
  ASSERT_EQ(session->scan(test_key(2), 3, {}, rows), Status::ok) << session->error();
  ASSERT_EQ(rows.size(), 3U);
  for (std::size_t index = 0; index < rows.size(); ++index) {
    const std::string key = test_key(2 + static_cast<int>(index));
    EXPECT_EQ(rows[index].key, key);
    EXPECT_EQ(as_map(rows[index]), as_map(TestRow(key)));
  }
}

TEST_P(Contract, scan_begins_between_keys_and_ends_with_the_last) {
  const auto session = database_->session();
  for (const int number : {1, 2, 4, 5}) insert(*session, test_key(number));
  std::vector<Row> rows(40);
  constexpr std::array<std::string_view, 1> names = {"field2"};
  ASSERT_EQ(session->scan(test_key(3), 100, names, rows), Status::ok) << session->error();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].key, test_key(4));
  EXPECT_EQ(as_map(rows[1]), (std::map<std::string, std::string>{{"field2", TestRow::value(test_key(5), 2, 0)}}));
}

TEST_P(Contract, scan_beyond_the_last_key_finds_nothing) {
  const auto session = database_->session();
  insert(*session, test_key(1));
  std::vector<Row> rows(3);
  ASSERT_EQ(session->scan("v", 10, {}, rows), Status::ok) << session->error();
  EXPECT_TRUE(rows.empty());
}

TEST_P(Contract, batch_inserts_all_its_records) {
  const auto session = database_->session();
  constexpr int count = 100;
  std::vector<std::string> keys;
  std::vector<std::unique_ptr<TestRow>> values;
  std::vector<Record> records;
  for (int number = 0; number < count; ++number) keys.push_back(test_key(number));
  for (const std::string& key : keys) {
    values.push_back(std::make_unique<TestRow>(key));
    records.push_back({key, values.back()->fields()});
  }
  ASSERT_EQ(session->insert_batch(records), Status::ok) << session->error();
  Row row;
  for (const std::string& key : keys) {
    ASSERT_EQ(session->read(key, {}, row), Status::ok) << key;
    EXPECT_EQ(as_map(row), as_map(TestRow(key)));
  }
}

TEST_P(Contract, upsert_adds_a_record_or_replaces_the_whole_of_it) {
  const auto session = database_->session();
  ASSERT_EQ(session->upsert("user1", TestRow("user1").fields()), Status::ok) << session->error();
  const TestRow changed("user1", 1, 300);
  ASSERT_EQ(session->upsert("user1", changed.fields()), Status::ok) << session->error();
  Row row;
  ASSERT_EQ(session->read("user1", {}, row), Status::ok) << session->error();
  EXPECT_EQ(as_map(row), as_map(changed));
}

TEST_P(Contract, batch_of_upserts_keeps_the_last_record_of_a_key) {
  const auto session = database_->session();
  insert(*session, "user1");
  const TestRow other("user2");
  const TestRow middle("user1", 1);
  const TestRow last("user1", 2);
  const std::vector<Record> records = {{"user1", middle.fields()}, {"user2", other.fields()}, {"user1", last.fields()}};
  ASSERT_EQ(session->upsert_batch(records), Status::ok) << session->error();
  Row row;
  ASSERT_EQ(session->read("user1", {}, row), Status::ok) << session->error();
  EXPECT_EQ(as_map(row), as_map(last));
  EXPECT_EQ(session->read("user2", {}, row), Status::ok) << session->error();
}

TEST_P(Contract, reopened_database_has_what_was_written) {
  constexpr int count = 50;
  {
    const auto session = database_->session();
    for (int number = 0; number < count; ++number) insert(*session, test_key(number));
  }
  ASSERT_EQ(database_.close(), "");
  database_.open(false);
  const auto session = database_->session();
  Row row;
  for (int number = 0; number < count; ++number) {
    ASSERT_EQ(session->read(test_key(number), {}, row), Status::ok) << number;
    EXPECT_EQ(as_map(row), as_map(TestRow(test_key(number))));
  }
}

TEST_P(Contract, sessions_of_two_threads_see_each_other) {
  constexpr int count = 300;
  std::barrier met(2);
  std::array<std::string, 2> failures;
  const auto work = [this, &met, &failures](int side) {
    const auto session = database_->session();
    for (int number = 0; number < count; ++number) {
      const std::string key = test_key(2 * number + side);
      if (session->insert(key, TestRow(key).fields()) != Status::ok)
        failures[static_cast<std::size_t>(side)] = session->error();
    }
    met.arrive_and_wait();
    Row row;
    for (int number = 0; number < count; ++number) {
      const std::string key = test_key(2 * number + 1 - side);
      if (session->read(key, {}, row) != Status::ok) failures[static_cast<std::size_t>(side)] = "not read: " + key;
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  EXPECT_EQ(failures[0], "");
  EXPECT_EQ(failures[1], "");
}

TEST_P(Contract, updates_of_one_row_by_two_threads_lose_no_field) {
  constexpr int count = 500;
  insert(*database_->session(), "hot");
  std::array<std::string, 2> failures;
  const auto work = [this, &failures](std::size_t side) {
    const auto session = database_->session();
    const std::string field = "field" + std::to_string(side);
    for (int number = 0; number < count; ++number) {
      const std::string value = std::to_string(number);
      const std::vector<Field> change = {{field, value}};
      if (session->update("hot", change) != Status::ok) failures[side] = session->error();
      Row row;
      if (session->read("hot", {}, row) != Status::ok || as_map(row)[field] != value) failures[side] = "lost " + value;
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  EXPECT_EQ(failures[0], "");
  EXPECT_EQ(failures[1], "");
}

TEST_P(Contract, says_version_path_options_and_durability) {
  EXPECT_FALSE(database_->version().empty());
  if (!is_server(GetParam())) {
    EXPECT_EQ(database_->path(), database_.path().string());
  }
  EXPECT_FALSE(database_->options().empty());
  EXPECT_TRUE(database_->durability_how().starts_with("process"));
  EXPECT_FALSE(database_->stats().empty());
}

TEST_P(Contract, refuses_an_option_it_does_not_know) {
  TestDatabase other(GetParam());
  other.set("no_such_option", "1");
  EXPECT_THROW(other.open(), UsageError);
}

TEST_P(Contract, refuses_to_run_without_a_database) {
  TestDatabase other(GetParam());
  try {
    other.open(false);
    FAIL() << "opened a database that is not there";
  } catch (const DatabaseError& error) {
    EXPECT_NE(std::string(error.what()).find("load one first"), std::string::npos) << error.what();
  }
  EXPECT_FALSE(std::filesystem::exists(other.path()));
}

TEST_P(Contract, refuses_a_place_where_nothing_can_be_made) {
  if (is_server(GetParam())) GTEST_SKIP() << "the server chooses the place";
  const AdapterInfo& adapter = *find_adapter(GetParam());
  Properties properties;
  properties.set(adapter.name + ".path", "/proc/nowhere/database");
  const auto database = adapter.make();
  try {
    database->open(properties, Durability::process, true, {});
    FAIL() << "opened a database below /proc";
  } catch (const DatabaseError& error) {
    EXPECT_NE(std::string(error.what()).find("/proc/nowhere"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace edgejoule::driver
