// Tests specific to LMDB: its map, its reader table, its limits, and the syncs of its durability classes.
#include <gtest/gtest.h>
#include <lmdb.h>

#include <limits>

#include "file_calls.h"
#include "open_database.h"

namespace edgejoule::driver {
namespace {

std::string open_error(TestDatabase& database) {
  try {
    database.open();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "it opened";
}

TEST(Lmdb, says_how_to_raise_a_map_that_is_full_and_goes_on_once_it_is_raised) {
  TestDatabase database("lmdb");
  database.set("map_bytes", "1048576");
  database.open(true, Durability::none);
  int inserted = 0;
  std::string error;
  {
    const auto session = database->session();
    for (;; ++inserted) {
      const std::string key = test_key(inserted);
      if (session->insert(key, TestRow(key, 0, 100).fields()) != Status::ok) break;
    }
    error = session->error();
  }
  EXPECT_GT(inserted, 100);
  EXPECT_NE(error.find("1048576"), std::string::npos) << error;
  EXPECT_NE(error.find("raise lmdb.map_bytes"), std::string::npos) << error;
  ASSERT_EQ(database.close(), "");
  database.set("map_bytes", "4194304");
  database.open(false, Durability::none);
  const auto session = database->session();
  Row row;
  EXPECT_EQ(session->read(test_key(inserted - 1), {}, row), Status::ok) << session->error();
  const std::string key = test_key(inserted);
  EXPECT_EQ(session->insert(key, TestRow(key, 0, 100).fields()), Status::ok) << session->error();
}

TEST(Lmdb, says_how_to_raise_a_table_of_readers_that_is_full) {
  TestDatabase database("lmdb");
  database.set("max_readers", "2");
  database.open();
  const auto first = database->session();
  const auto second = database->session();
  try {
    const auto third = database->session();
    FAIL() << "a third reader found a place";
  } catch (const DatabaseError& error) {
    EXPECT_NE(std::string(error.what()).find("room for 2 readers: raise lmdb.max_readers"), std::string::npos)
        << error.what();
  }
}

TEST(Lmdb, has_a_place_for_every_thread_of_the_run) {
  TestDatabase database("lmdb");
  database.set_other("threadcount", "300");
  database.open();
  std::vector<std::unique_ptr<Session>> sessions;
  for (int number = 0; number < 300; ++number) sessions.push_back(database->session());
  Row row;
  for (const auto& session : sessions) EXPECT_EQ(session->read("user1", {}, row), Status::not_found);
}

TEST(Lmdb, a_session_that_ends_gives_its_place_back) {
  TestDatabase database("lmdb");
  database.set("max_readers", "2");
  database.open();
  for (int number = 0; number < 10; ++number) EXPECT_NO_THROW((void)database->session());
}

TEST(Lmdb, says_what_it_asks_of_the_address_space_when_the_map_does_not_fit) {
  TestDatabase database("lmdb");
  database.set("map_bytes", std::to_string(std::numeric_limits<std::ptrdiff_t>::max()));
  const std::string error = open_error(database);
  EXPECT_NE(error.find("lmdb.map_bytes exceeds the free address space"), std::string::npos) << error;
}

TEST(Lmdb, refuses_flags_that_make_no_sense_alone) {
  TestDatabase without_map("lmdb");
  without_map.set("mapasync", "true");
  EXPECT_NE(open_error(without_map).find("expected lmdb.writemap=true"), std::string::npos);
  TestDatabase without_size("lmdb");
  without_size.set("writemap", "true");
  EXPECT_NE(open_error(without_size).find("expected lmdb.map_bytes"), std::string::npos);
}

TEST(Lmdb, keeps_values_of_many_pages) {
  TestDatabase database("lmdb");
  database.open();
  const auto session = database->session();
  const TestRow row("user1", 0, 100'000);
  ASSERT_EQ(session->insert("user1", row.fields()), Status::ok) << session->error();
  const TestRow changed("user1", 1, 70'000);
  ASSERT_EQ(session->update("user1", changed.fields()), Status::ok) << session->error();
  Row found;
  ASSERT_EQ(session->read("user1", {}, found), Status::ok) << session->error();
  EXPECT_EQ(as_map(found), as_map(changed));
  std::vector<Row> rows;
  ASSERT_EQ(session->scan("user", 10, {}, rows), Status::ok) << session->error();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(as_map(rows[0]), as_map(changed));
}

TEST(Lmdb, takes_keys_of_511_bytes_and_says_so_of_longer_ones) {
  TestDatabase database("lmdb");
  database.open();
  const auto session = database->session();
  const std::string longest(511, 'k');
  const std::string too_long(512, 'k');
  Row row;
  EXPECT_EQ(session->insert(longest, TestRow("k").fields()), Status::ok) << session->error();
  EXPECT_EQ(session->read(longest, {}, row), Status::ok) << session->error();
  EXPECT_EQ(session->insert(too_long, TestRow("k").fields()), Status::error);
  EXPECT_NE(session->error().find("keys of 1 to 511 bytes"), std::string::npos) << session->error();
  EXPECT_EQ(session->insert("", TestRow("k").fields()), Status::error);
  EXPECT_NE(session->error().find("keys of 1 to 511 bytes"), std::string::npos) << session->error();
}

TEST(Lmdb, a_batch_that_fails_leaves_nothing_behind) {
  TestDatabase database("lmdb");
  database.open();
  const auto session = database->session();
  const TestRow row("user1");
  const std::string too_long(512, 'k');
  const std::vector<Record> records = {{"user1", row.fields()}, {too_long, row.fields()}};
  EXPECT_EQ(session->insert_batch(records), Status::error);
  Row found;
  EXPECT_EQ(session->read("user1", {}, found), Status::not_found);
}

TEST(Lmdb, reports_that_a_key_to_remove_is_not_there) {
  TestDatabase database("lmdb");
  database.open();
  EXPECT_EQ(database->session()->remove("user1"), Status::not_found);
}

// Between two reads a session holds no snapshot, so pages that updates free are reused and the file stays small.
TEST(Lmdb, idle_sessions_do_not_stop_the_reuse_of_pages) {
  TestDatabase database("lmdb");
  database.open(true, Durability::none);
  const auto idle = database->session();
  const auto writer = database->session();
  ASSERT_EQ(writer->insert("user1", TestRow("user1", 0, 1000).fields()), Status::ok) << writer->error();
  Row row;
  ASSERT_EQ(idle->read("user1", {}, row), Status::ok);
  for (int version = 0; version < 500; ++version) {
    ASSERT_EQ(writer->update("user1", TestRow("user1", version, 1000).fields()), Status::ok) << writer->error();
  }
  EXPECT_LT(std::stoull(database->stats()["last_pgno"]), 50U);
}

struct Syncs {
  std::uint64_t seen = 0;  // by the test
  std::uint64_t said = 0;  // by the adapter

  bool operator==(const Syncs&) const = default;
};

Syncs syncs_so_far(TestDatabase& database) {
  return {syncs_by_this_thread(database.directory()), database->components().at(0).syncs.value()};
}

Syncs syncs_of_one_write(Durability durability, const std::map<std::string, std::string>& options = {}) {
  TestDatabase database("lmdb");
  for (const auto& [name, value] : options) database.set(name, value);
  database.open(true, durability);
  const auto session = database->session();
  EXPECT_EQ(session->insert("user1", TestRow("user1").fields()), Status::ok);
  const Syncs before = syncs_so_far(database);
  EXPECT_EQ(session->insert("user2", TestRow("user2").fields()), Status::ok);
  const Syncs after = syncs_so_far(database);
  return {after.seen - before.seen, after.said - before.said};
}

TEST(Lmdb, each_class_syncs_what_its_promise_needs_and_says_how_often) {
  const std::map<std::string, std::string> mapped = {{"writemap", "true"}, {"map_bytes", "16777216"}};
  auto mapped_async = mapped;
  mapped_async["mapasync"] = "true";
  EXPECT_EQ(syncs_of_one_write(Durability::none), (Syncs{0, 0}));
  EXPECT_EQ(syncs_of_one_write(Durability::process), (Syncs{0, 0}));
  EXPECT_EQ(syncs_of_one_write(Durability::power), (Syncs{2, 2})) << "the pages, then the meta page";
  EXPECT_EQ(syncs_of_one_write(Durability::process, {{"nosync", "false"}}), (Syncs{1, 1})) << "the pages";
  EXPECT_EQ(syncs_of_one_write(Durability::power, {{"nosync", "true"}}), (Syncs{0, 0}));
  EXPECT_EQ(syncs_of_one_write(Durability::power, mapped), (Syncs{2, 2}));
  EXPECT_EQ(syncs_of_one_write(Durability::power, mapped_async), (Syncs{0, 0}));
}

TEST(Lmdb, says_when_an_option_breaks_the_class_s_promise) {
  const auto how = [](Durability durability, const std::map<std::string, std::string>& options) {
    TestDatabase database("lmdb");
    for (const auto& [name, value] : options) database.set(name, value);
    database.open(true, durability);
    return database->durability_how();
  };
  const std::map<std::string, std::string> mapped = {{"writemap", "true"}, {"map_bytes", "16777216"}};
  auto mapped_async = mapped;
  mapped_async["mapasync"] = "true";
  const std::string broken = "promise of the class does not hold";
  EXPECT_EQ(how(Durability::none, {}).find(broken), std::string::npos);
  EXPECT_EQ(how(Durability::process, {}).find(broken), std::string::npos);
  EXPECT_EQ(how(Durability::process, mapped_async).find(broken), std::string::npos);
  EXPECT_EQ(how(Durability::power, {}).find(broken), std::string::npos);
  EXPECT_EQ(how(Durability::power, mapped).find(broken), std::string::npos);
  EXPECT_NE(how(Durability::power, mapped_async).find(broken), std::string::npos);
  EXPECT_NE(how(Durability::power, {{"nosync", "true"}}).find(broken), std::string::npos);
  EXPECT_NE(how(Durability::power, {{"nometasync", "true"}}).find(broken), std::string::npos);
}

TEST(Lmdb, settling_syncs_what_class_none_left_unsynced) {
  TestDatabase database("lmdb");
  database.open(true, Durability::none);
  ASSERT_EQ(database->session()->insert("user1", TestRow("user1").fields()), Status::ok);
  const std::uint64_t before = syncs_by_this_thread(database.directory());
  EXPECT_TRUE(database->settle(1'000'000'000).complete);
  EXPECT_GT(syncs_by_this_thread(database.directory()), before);
}

TEST(Lmdb, commits_as_often_as_it_was_written_to) {
  TestDatabase database("lmdb");
  database.open(true, Durability::none);
  const auto session = database->session();
  const auto commits = [&database] { return std::stoull(database->stats()["last_txnid"]); };
  const auto before = commits();
  for (int number = 0; number < 30; ++number) {
    ASSERT_EQ(session->insert(test_key(number), TestRow("user1").fields()), Status::ok);
  }
  Row row;
  for (int number = 0; number < 10; ++number) ASSERT_EQ(session->read(test_key(number), {}, row), Status::ok);
  ASSERT_EQ(session->remove(test_key(3)), Status::ok);
  EXPECT_EQ(session->remove("user"), Status::not_found);
  EXPECT_EQ(commits() - before, 31U);
  EXPECT_EQ(database->stats()["entries"], "29");
}

TEST(Lmdb, works_with_every_flag) {
  for (const char* flag : {"nosync", "nometasync", "writemap", "nordahead", "nomeminit"}) {
    TestDatabase database("lmdb");
    database.set(flag, "true");
    database.set("map_bytes", "16777216");
    database.open();
    EXPECT_EQ(database->options()[flag], "true");
    ASSERT_EQ(database->session()->insert("user1", TestRow("user1").fields()), Status::ok) << flag;
    EXPECT_TRUE(database->settle(1'000'000'000).complete) << flag;
    Row row;
    EXPECT_EQ(database->session()->read("user1", {}, row), Status::ok) << flag;
  }
}

}  // namespace
}  // namespace edgejoule::driver
