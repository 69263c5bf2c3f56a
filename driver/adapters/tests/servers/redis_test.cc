// Guarantees of Redis's adapter beyond the contract, on a real server.
#include <gtest/gtest.h>
#include <hiredis/hiredis.h>

#include <algorithm>
#include <array>
#include <thread>

#include "adapters/redis/redis_session.h"
#include "adapters/redis/settings.h"
#include "server_fixture.h"

namespace edgejoule::driver {

namespace {

void tell(const Properties& properties, std::string_view command) {
  const auto settings = redis_settings(properties);
  RedisConnection connection(settings);
  connection.connect();
  (void)connection.ask({command});
}

}  // namespace

void empty_redis(const Properties& properties) { tell(properties, "FLUSHALL"); }

namespace {

class Redis : public ServerFixture {
 protected:
  Redis() : ServerFixture("redis", make_redis) {}
};

std::uint64_t calls(const Database& database, const std::string& command) {
  const auto stats = database.stats();
  const auto found = stats.find("cmdstat." + command);
  return found == stats.end() ? 0 : std::stoull(found->second);
}

// The values are those of Java's String.hashCode.
TEST(RedisIndex, scores_are_the_hash_codes_of_java) {
  EXPECT_EQ(java_hash(""), 0);
  EXPECT_EQ(java_hash("a"), 97);
  EXPECT_EQ(java_hash("user1"), 111578566);
  EXPECT_EQ(java_hash("user6284781860667377211"), -594971599);
}

TEST_F(Redis, keeps_records_as_ycsb_s_binding_does) {
  start();
  set("index", "ycsb");
  const auto database = open();
  load(*database, 3);
  const auto settings = redis_settings(properties_);
  RedisConnection connection(settings);
  connection.connect();
  EXPECT_EQ(connection.ask({"HLEN", test_key(1)})->integer, 10);
  EXPECT_EQ(text_of(*connection.ask({"HGET", test_key(1), "field3"})), TestRow::value(test_key(1), 3, 0));
  EXPECT_EQ(text_of(*connection.ask({"ZSCORE", "_indices", test_key(1)})), std::to_string(java_hash(test_key(1))));
}

TEST_F(Redis, scans_by_the_hash_of_the_key_with_ycsb_s_index) {
  start();
  set("index", "ycsb");
  const auto database = open();
  load(*database, 200);
  std::vector<std::pair<std::int32_t, std::string>> order;
  for (int number = 0; number < 200; ++number) order.emplace_back(java_hash(test_key(number)), test_key(number));
  std::ranges::sort(order);
  const auto session = database->session();
  std::vector<Row> rows;
  ASSERT_EQ(session->scan(order[50].second, 20, {}, rows), Status::ok) << session->error();
  ASSERT_EQ(rows.size(), 20U);
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].key, order[50 + i].second);
}

TEST_F(Redis, refuses_an_index_of_another_kind) {
  start();
  load(*open(), 3);
  set("index", "ycsb");
  EXPECT_NE(open_error().find("redis.index=ordered"), std::string::npos) << open_error();
}

TEST_F(Redis, counts_the_operations_that_the_session_counts) {
  start();
  const auto database = open();
  load(*database, 50);
  const auto session = database->session();
  Row row;
  std::vector<Row> rows;
  const std::vector<Field> change = {{"field4", "changed"}};
  for (int number = 0; number < 7; ++number) ASSERT_EQ(session->read(test_key(number), {}, row), Status::ok);
  for (int number = 0; number < 5; ++number) ASSERT_EQ(session->update(test_key(number), change), Status::ok);
  for (int number = 0; number < 3; ++number) ASSERT_EQ(session->scan(test_key(number), 10, {}, rows), Status::ok);
  EXPECT_EQ(calls(*database, "hset"), 50U + 5U);
  EXPECT_EQ(calls(*database, "zadd"), 50U);
  EXPECT_EQ(calls(*database, "hgetall"), 7U + 3U * 10U);
  EXPECT_EQ(calls(*database, "zrangebylex"), 3U);
}

TEST_F(Redis, update_of_a_record_that_another_inserts_meanwhile_removes_nothing) {
  start();
  const auto database = open();
  constexpr int count = 300;
  std::thread inserter([&] {
    const auto session = database->session();
    for (int number = 0; number < count; ++number) {
      const auto key = test_key(number);
      EXPECT_EQ(session->insert(key, TestRow(key).fields()), Status::ok);
    }
  });
  const auto session = database->session();
  const std::vector<Field> change = {{"field4", "changed"}};
  for (int number = 0; number < count; ++number)
    EXPECT_LE(session->update(test_key(number), change), Status::not_found);
  inserter.join();
  Row row;
  for (int number = 0; number < count; ++number) {
    ASSERT_EQ(session->read(test_key(number), {}, row), Status::ok) << number;
    EXPECT_EQ(row.fields.size(), 10U) << number;
  }
}

TEST_F(Redis, a_restart_fails_one_operation_and_the_session_goes_on) {
  start({"--appendonly", "yes"});
  const auto database = open();
  load(*database, 5);
  expect_a_restart_to_fail_one_operation(*database);
  EXPECT_EQ(database->stats().at("client.connections_lost"), "1");
}

TEST_F(Redis, a_server_that_loads_its_data_is_waited_for) {
  start();
  load(*open(), 500);
  tell(properties_, "SAVE");
  server_->kill();
  for (const char* word : {"--key-load-delay", "5000", "--loading-process-events-interval-bytes", "1024"}) {
    server_->add(word);
  }
  server_->start();
  set("reconnect_ms", "0");
  EXPECT_NE(open_error().find("LOADING"), std::string::npos) << open_error();
  set("reconnect_ms", "100000");
  Row row;
  EXPECT_EQ(open(Durability::process, false)->session()->read(test_key(499), {}, row), Status::ok);
}

TEST_F(Redis, a_server_that_does_not_come_back_ends_the_run_in_time) {
  start();
  const auto error = error_of_a_lost_server(&TestServer::kill, 10'000'000'000U);
  EXPECT_NE(error.find("refused"), std::string::npos) << error;
}

TEST_F(Redis, a_paused_server_hits_the_time_limit) {
  start();
  set("timeout_ms", "200");
  set("connect_timeout_ms", "200");
  set("reconnect_ms", "300");
  set("wait_timeout_ms", "100");
  const auto database = open();
  load(*database, 5);
  expect_a_paused_server_to_hit(200, *database, 200'000'000U, 10'000'000'000U);
}

TEST_F(Redis, a_refused_connection_says_where_and_what_to_do) { expect_a_refused_connection_to_say_what_to_do(); }

TEST_F(Redis, a_wrong_password_is_reported_but_not_shown) {
  start({"--requirepass", "the-right-secret"});
  EXPECT_NE(open_error().find("redis.password_env"), std::string::npos) << open_error();
  set("password", "a-wrong-secret");
  const auto error = open_error();
  EXPECT_NE(error.find("right password"), std::string::npos) << error;
  EXPECT_EQ(error.find("secret"), std::string::npos) << error;
}

TEST_F(Redis, takes_the_password_from_the_environment_or_a_file) {
  start({"--requirepass", "the-right-secret"});
  setenv("EDGEJOULE_TEST_PASSWORD", "the-right-secret", 1);
  set("password_env", "EDGEJOULE_TEST_PASSWORD");
  const auto database = open();
  load(*database, 1);
  for (const auto& [name, value] : database->options()) EXPECT_EQ(value.find("secret"), std::string::npos) << name;
  unsetenv("EDGEJOULE_TEST_PASSWORD");
  EXPECT_THROW((void)open(), UsageError);
}

TEST_F(Redis, says_which_database_is_unknown) {
  start();
  set("database", "99");
  EXPECT_NE(open_error().find("redis.database=99"), std::string::npos) << open_error();
}

TEST_F(Redis, speaks_tls_to_whom_its_authority_has_signed) {
  const TemporaryDirectory folder;
  const auto in = [&folder](const char* name) { return (folder.path() / name).string(); };
  make_certificates(folder.path().string());
  server_ =
      make_redis({"--tls-port", std::to_string(free_port()), "--tls-cert-file", in("server.crt"), "--tls-key-file",
                  in("server.key"), "--tls-ca-cert-file", in("ca.crt"), "--tls-auth-clients", "no"});
  if (!server_) GTEST_SKIP() << "redis-server is not installed";
  properties_ = server_->properties();
  set("port", server_->more()[1]);
  set("tls", "true");
  EXPECT_NE(open_error().find("certificate verify failed"), std::string::npos) << open_error();
  set("tls_ca_file", in("ca.crt"));
  set("reconnect_ms", "0");
  const auto database = open();
  load(*database, 100);
  const auto session = database->session();
  Row row;
  EXPECT_EQ(session->read(test_key(7), {}, row), Status::ok) << session->error();
  server_->kill();
  EXPECT_NE(session->read(test_key(7), {}, row), Status::ok);
}

TEST_F(Redis, acknowledged_rows_are_there_after_kill_with_a_log_and_are_gone_without) {
  for (const bool logged : {true, false}) {
    start();
    set("configure", "true");
    {
      const auto database = open(logged ? Durability::process : Durability::none);
      load(*database, 500);
    }
    server_->kill();
    const auto again = logged ? std::string("yes") : std::string("no");
    // A server reads the log enabled by CONFIG SET only if its own configuration enables it.
    const auto folder = server_->folder();
    const auto second = TestServer::Arguments{"--appendonly", again, "--dir", folder};
    const auto old = std::move(server_);
    start(second);
    properties_.set("redis.configure", "false");
    if (!logged) {
      const auto database = open();
      Row row;
      EXPECT_EQ(database->session()->read(test_key(1), {}, row), Status::not_found) << "this test could not fail";
      continue;
    }
    const auto database = open(Durability::process, false);
    const auto session = database->session();
    Row row;
    for (int number = 0; number < 500; ++number) ASSERT_EQ(session->read(test_key(number), {}, row), Status::ok);
  }
}

TEST_F(Redis, says_when_the_server_s_settings_do_not_hold_the_promise) {
  start();
  EXPECT_NE(open()->durability_how().find("does not hold"), std::string::npos);
  EXPECT_NE(open(Durability::power)->durability_how().find("does not hold"), std::string::npos);
  EXPECT_EQ(open(Durability::none)->durability_how().find("does not hold"), std::string::npos);
  set("configure", "true");
  EXPECT_EQ(open(Durability::power)->durability_how().find("does not hold"), std::string::npos);
  EXPECT_EQ(open(Durability::power)->options().at("appendfsync"), "always");
}

TEST_F(Redis, settling_writes_the_snapshot_that_is_owed_and_reports_it) {
  start({"--save", "3600 1"});
  set("watch_ms", "0");
  const auto database = open();
  load(*database, 500);
  const auto settled = database->settle(60'000'000'000);
  EXPECT_TRUE(settled.complete) << settled.how;
  EXPECT_NE(settled.how.find("BGSAVE"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(server_->folder() + "/dump.rdb"));
  const auto events = events_.take();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, DatabaseEvent::Kind::snapshot);
  EXPECT_TRUE(database->settle(60'000'000'000).complete);
  EXPECT_TRUE(events_.take().empty());
}

TEST_F(Redis, reports_the_cpu_time_of_its_server) {
  start();
  expect_the_cpu_time_of_the_server(*open());
}

TEST_F(Redis, a_write_that_too_few_replicas_have_has_failed) {
  start();
  set("wait_replicas", "1");
  set("wait_timeout_ms", "20");
  const auto database = open();
  const auto session = database->session();
  EXPECT_EQ(session->insert("user1", TestRow("user1").fields()), Status::busy);
  EXPECT_NE(session->error().find("0 of 1 replicas"), std::string::npos) << session->error();
}

TEST_F(Redis, something_that_is_no_record_is_unexpected_and_named) {
  start();
  const auto database = open();
  load(*database, 1);
  const auto settings = redis_settings(properties_);
  RedisConnection connection(settings);
  connection.connect();
  (void)connection.ask({"SET", "user1", "no row"});
  const auto session = database->session();
  Row row;
  EXPECT_EQ(session->read("user1", {}, row), Status::unexpected_state);
  EXPECT_NE(session->error().find("user1"), std::string::npos) << session->error();
}

TEST_F(Redis, a_full_memory_is_an_error_in_its_words) {
  start();
  const auto database = open();
  load(*database, 5);
  const auto settings = redis_settings(properties_);
  RedisConnection connection(settings);
  connection.connect();
  (void)connection.ask({"CONFIG", "SET", "maxmemory", "1mb"});
  const auto session = database->session();
  auto status = Status::ok;
  for (int number = 0; status == Status::ok && number < 5000; ++number) {
    status = session->insert(test_key(number), TestRow(test_key(number), 0, 100).fields());
  }
  EXPECT_EQ(status, Status::error);
  EXPECT_NE(session->error().find("OOM"), std::string::npos) << session->error();
  EXPECT_NE(session->error().find("maxmemory"), std::string::npos) << session->error();
}

}  // namespace
}  // namespace edgejoule::driver
