// Guarantees of PostgreSQL's adapter beyond the contract, on a real server.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "adapters/postgres/connection.h"
#include "server_fixture.h"

namespace edgejoule::driver {
namespace {

std::vector<std::string> column(const Properties& properties, const std::string& sql) {
  const auto settings = postgres_settings(properties, Durability::process);
  PostgresConnection connection(settings);
  connection.connect();
  const auto result = connection.ask(sql);
  if (!is_ok(result.get())) throw std::runtime_error(sql + ": " + message_of(result.get()));
  std::vector<std::string> values;
  for (int row = 0; row < PQntuples(result.get()); ++row) values.emplace_back(text_at(result.get(), row, 0));
  return values;
}

}  // namespace

void empty_postgres(const Properties& properties) { (void)column(properties, "DROP TABLE IF EXISTS usertable"); }

namespace {

class Postgres : public ServerFixture {
 protected:
  Postgres() : ServerFixture("postgres", make_postgres) {}
};

std::uint64_t count(const Database& database, const std::string& name) {
  return std::stoull(database.stats().at(name));
}

TEST_F(Postgres, makes_the_table_of_ycsb_s_jdbc_binding) {
  share();
  properties_.set("fieldtype", "text");
  const auto database = open();
  load(*database, 3);
  EXPECT_EQ(column(properties_, "SELECT FIELD3 FROM usertable WHERE YCSB_KEY='" + test_key(1) + "'"),
            std::vector<std::string>{TestRow::value(test_key(1), 3, 0)});
}

TEST_F(Postgres, opens_a_table_that_ycsb_s_manual_makes) {
  share();
  properties_.set("fieldtype", "text");
  std::string fields;
  for (int number = 0; number < 10; ++number) fields += ", FIELD" + std::to_string(number) + " TEXT";
  (void)column(properties_, "CREATE TABLE usertable (YCSB_KEY VARCHAR(255) PRIMARY KEY" + fields + ")");
  const auto database = open(Durability::process, false);
  load(*database, 3);
  Row row;
  EXPECT_EQ(database->session()->read(test_key(2), {}, row), Status::ok);
}

TEST_F(Postgres, refuses_bytes_that_text_cannot_hold_and_says_what_can) {
  share();
  properties_.set("fieldtype", "text");
  const auto database = open();
  const auto session = database->session();
  const std::string bytes("\xff\0", 2);
  EXPECT_EQ(session->insert("user1", std::vector<Field>{{"field0", bytes}}), Status::error);
  EXPECT_NE(session->error().find("fieldtype=blob"), std::string::npos) << session->error();
}

TEST_F(Postgres, counts_the_operations_that_the_session_counts) {
  share();
  const auto database = open();
  load(*database, 50);
  {
    const auto session = database->session();
    Row row;
    std::vector<Row> rows;
    const std::vector<Field> change = {{"field4", "changed"}};
    for (int number = 0; number < 7; ++number) ASSERT_EQ(session->read(test_key(number), {}, row), Status::ok);
    for (int number = 0; number < 5; ++number) ASSERT_EQ(session->update(test_key(number), change), Status::ok);
    for (int number = 0; number < 2; ++number) ASSERT_EQ(session->remove(test_key(number)), Status::ok);
  }
  EXPECT_EQ(count(*database, "n_tup_ins"), 50U);
  EXPECT_EQ(count(*database, "n_tup_upd"), 5U);
  EXPECT_EQ(count(*database, "n_tup_del"), 2U);
  EXPECT_EQ(count(*database, "idx_scan") + count(*database, "seq_scan"), 7U + 5U + 2U);
}

TEST_F(Postgres, counts_the_records_of_a_copy) {
  share();
  const auto database = open();
  std::vector<std::string> keys;
  std::vector<std::unique_ptr<TestRow>> values;
  std::vector<Record> records;
  for (int number = 0; number < 3000; ++number) keys.push_back(test_key(number));
  for (const auto& key : keys) {
    values.push_back(std::make_unique<TestRow>(key, 0, 100));
    records.push_back({key, values.back()->fields()});
  }
  ASSERT_EQ(database->session()->insert_batch(records), Status::ok);
  EXPECT_EQ(count(*database, "n_tup_ins"), 3000U);
  const auto again = database->session();
  EXPECT_EQ(again->insert_batch(std::span(records).first(10)), Status::error);
  EXPECT_NE(again->error().find("has an earlier run or load inserted it?"), std::string::npos) << again->error();
  EXPECT_EQ(again->insert("user1", values[0]->fields()), Status::ok) << "a failed batch leaves the session usable";
}

TEST_F(Postgres, a_restart_fails_one_operation_and_the_session_goes_on) {
  start();
  const auto database = open();
  load(*database, 5);
  expect_a_restart_to_fail_one_operation(*database);
}

TEST_F(Postgres, a_server_that_recovers_is_waited_for) {
  start();
  load(*open(), 50);
  server_->stop();
  std::ofstream(server_->folder() + "/data/recovery.signal").close();
  server_->add("restore_command=sleep 1; false");
  server_->launch();
  set("reconnect_ms", "0");
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  auto error = open_error();
  while (error.find("Connection refused") != std::string::npos && std::chrono::steady_clock::now() < deadline) {
    error = open_error();
  }
  EXPECT_NE(error.find("starting up"), std::string::npos) << error;
  set("reconnect_ms", "100000");
  Row row;
  EXPECT_EQ(open(Durability::process, false)->session()->read(test_key(49), {}, row), Status::ok);
}

TEST_F(Postgres, a_server_that_does_not_come_back_ends_the_run_in_time) {
  start();
  (void)error_of_a_lost_server(&TestServer::stop, 20'000'000'000U);
}

TEST_F(Postgres, a_paused_server_hits_the_time_limit) {
  start();
  set("timeout_ms", "300");
  set("connect_timeout_ms", "300");
  set("reconnect_ms", "400");
  set("watch_ms", "0");
  const auto database = open();
  load(*database, 5);
  expect_a_paused_server_to_hit(300, *database, 300'000'000U, 10'000'000'000U);
}

TEST_F(Postgres, a_refused_connection_says_where_and_what_to_do) { expect_a_refused_connection_to_say_what_to_do(); }

TEST_F(Postgres, says_which_database_and_user_are_unknown) {
  share();
  set("database", "nowhere");
  EXPECT_NE(open_error().find("CREATE DATABASE nowhere"), std::string::npos) << open_error();
  set("user", "nobody_here");
  EXPECT_NE(open_error().find("postgres.user"), std::string::npos) << open_error();
}

TEST_F(Postgres, a_wrong_password_is_reported_but_not_shown) {
  start();
  (void)column(properties_, "CREATE ROLE tester LOGIN SUPERUSER PASSWORD 'the-right-secret'");
  (void)column(properties_,
               "COPY (SELECT 'host all tester 127.0.0.1/32 scram-sha-256' UNION ALL SELECT 'host all all "
               "127.0.0.1/32 trust') TO '" +
                   server_->folder() + "/data/pg_hba.conf'");
  (void)column(properties_, "SELECT pg_reload_conf()");
  set("user", "tester");
  set("password", "a-wrong-secret");
  std::string error;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while ((error = open_error()) == "it opened" && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // until the server has read its configuration
  }
  EXPECT_NE(error.find("right password"), std::string::npos) << error;
  EXPECT_EQ(error.find("secret"), std::string::npos) << error;
  set("password", "the-right-secret");
  const auto database = open();
  for (const auto& [name, value] : database->options()) EXPECT_EQ(value.find("secret"), std::string::npos) << name;
}

TEST_F(Postgres, speaks_tls_to_whom_its_authority_has_signed) {
  const TemporaryDirectory folder;
  const auto in = [&folder](const char* name) { return (folder.path() / name).string(); };
  make_certificates(folder.path().string());
  start();
  for (const char* name : {"server.crt", "server.key"}) server_->take_file(in(name), std::string("data/") + name);
  server_->stop();
  server_->add("ssl=on");
  server_->start();
  set("tls", "true");
  set("tls_ca_file", in("ca.crt"));
  const auto database = open();
  load(*database, 20);
  EXPECT_EQ(column(properties_, "SELECT ssl FROM pg_stat_ssl WHERE pid=pg_backend_pid()"),
            std::vector<std::string>{"t"});
  make_certificates(folder.path().string());  // of another authority
  EXPECT_NE(open_error().find("certificate verify failed"), std::string::npos) << open_error();
  set("tls", "false");
  EXPECT_EQ(column(properties_, "SELECT ssl FROM pg_stat_ssl WHERE pid=pg_backend_pid()"),
            std::vector<std::string>{"f"});
}

TEST_F(Postgres, acknowledged_rows_are_there_after_kill) {
  start();
  load(*open(), 300);
  server_->kill();
  server_->start();
  const auto database = open(Durability::process, false);
  expect_rows(*database, 300);
}

TEST_F(Postgres, says_when_the_server_s_settings_do_not_hold_the_promise) {
  share();  // fsync=off
  EXPECT_EQ(open()->durability_how().find("does not hold"), std::string::npos);
  EXPECT_NE(open(Durability::power)->durability_how().find("does not hold"), std::string::npos);
  EXPECT_EQ(open(Durability::none)->options().at("synchronous_commit"), "off");
  EXPECT_EQ(open(Durability::power)->options().at("synchronous_commit"), "on");
  set("synchronous_commit", "off");
  EXPECT_NE(open()->durability_how().find("does not hold"), std::string::npos);
}

TEST_F(Postgres, settling_makes_a_checkpoint_and_reports_it) {
  share();
  const auto database = open();
  load(*database, 500);
  const auto before = database->components();
  const auto settled = database->settle(60'000'000'000);
  EXPECT_TRUE(settled.complete) << settled.how;
  // The statistics of the checkpoint arrive a moment after it.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::vector<DatabaseEvent> events;
  while (events.empty() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    events = events_.take();
  }
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events[0].kind, DatabaseEvent::Kind::checkpoint);
  EXPECT_GT(events[0].write_bytes, 0);
  const auto after = database->components();
  ASSERT_EQ(after[1].name, "wal");
  EXPECT_GE(*after[0].count, *before[0].count + 1);
}

TEST_F(Postgres, reports_the_log_that_its_sessions_wrote) {
  share();
  const auto database = open();
  const auto session = database->session();
  const auto before = database->components()[1];
  if (!before.write_bytes) GTEST_SKIP() << "this PostgreSQL counts writes too late";
  for (int number = 0; number < 200; ++number) {
    ASSERT_EQ(session->insert(test_key(number), TestRow(test_key(number), 0, 100).fields()), Status::ok);
  }
  const auto after = database->components()[1];
  EXPECT_GE(*after.write_bytes - *before.write_bytes, 200U * 1000U);
  EXPECT_GE(*after.count - *before.count, 600U);  // heap, index, commit
}

TEST_F(Postgres, reports_the_cpu_time_of_its_server) {
  share();
  expect_the_cpu_time_of_the_server(*open());
}

TEST_F(Postgres, says_that_citus_is_not_available_and_why) {
  if (has_citus()) GTEST_SKIP() << "PostgreSQL has the extension here";
  share();
  set("citus", "true");
  const auto error = open_error();
  EXPECT_NE(error.find("not available, because the server has no extension citus"), std::string::npos) << error;
}

TEST_F(Postgres, citus_options_want_citus) {
  share();
  set("shard_count", "4");
  EXPECT_THROW((void)open(), UsageError);
}

// An emulated coordinator: a PostgreSQL server with functions that record Citus's calls. No shard is created.
TEST_F(Postgres, asks_a_recorded_coordinator_to_distribute_the_table) {
  start({"allow_system_table_mods=on"});
  (void)column(properties_, "INSERT INTO pg_extension SELECT 99999, 'citus', 10, 2200, true, '0 recorded', NULL, NULL");
  (void)column(properties_, "CREATE TABLE asked (words text)");
  (void)column(properties_,
               "CREATE FUNCTION create_distributed_table(regclass, text) RETURNS void LANGUAGE sql AS $$ INSERT INTO "
               "asked VALUES ($1::text || ' by ' || $2 || ', shards ' || current_setting('citus.shard_count') || "
               "', replicas ' || current_setting('citus.shard_replication_factor')) $$");
  (void)column(properties_,
               "CREATE FUNCTION run_command_on_placements(regclass, text, OUT result text) RETURNS SETOF text LANGUAGE "
               "sql AS 'SELECT NULL::text WHERE false'");
  set("citus", "true");
  set("shard_count", "8");
  set("shard_replication_factor", "2");
  const auto database = open();
  load(*database, 3);
  EXPECT_EQ(column(properties_, "SELECT words FROM asked"),
            std::vector<std::string>{"usertable by ycsb_key, shards 8, replicas 2"});
  EXPECT_EQ(database->options().at("citus"), "0 recorded");
  (void)open();
  EXPECT_EQ(column(properties_, "SELECT words FROM asked").size(), 1U) << "a table that is there is not distributed";
}

// A coordinator and two workers.
class Citus : public Postgres {
 protected:
  void SetUp() override {
    if (!has_citus())
      GTEST_SKIP() << "PostgreSQL has no extension citus here; EDGEJOULE_POSTGRES may name one that has";
    for (auto* server : {&server_, &workers_[0], &workers_[1]}) {
      *server = make_postgres({"shared_preload_libraries=citus", "citus.node_conninfo=sslmode=disable"});
      (void)column((*server)->properties(), "CREATE EXTENSION citus");
    }
    properties_ = server_->properties();
    for (const auto& worker : workers_) {
      (void)column(properties_, fmt::format("SELECT citus_add_node('127.0.0.1', {})", worker->port()));
    }
    set("citus", "true");
    set("shard_count", "6");
  }

  std::array<std::unique_ptr<TestServer>, 2> workers_;
};

TEST_F(Citus, rows_lie_at_the_workers_as_often_as_configured) {
  for (const int copies : {1, 2}) {
    (void)column(properties_, "DROP TABLE IF EXISTS usertable");
    set("shard_replication_factor", std::to_string(copies));
    const auto database = open();
    load(*database, 50);
    EXPECT_EQ(count(*database, "n_tup_ins"), 50U * static_cast<unsigned>(copies));
    EXPECT_EQ(column(properties_, "SELECT count(DISTINCT nodeport) FROM pg_dist_shard_placement")[0], "2");
    EXPECT_EQ(column(properties_, "SELECT count(*) FROM pg_dist_shard_placement")[0], std::to_string(6 * copies));
    EXPECT_EQ(database->options().at("shard_replication_factor"), std::to_string(copies));
  }
}

TEST_F(Citus, every_operation_works_over_shards) {
  const auto database = open();
  load(*database, 20);
  const auto session = database->session();
  const TestRow row(test_key(30));
  const auto key = test_key(30);
  const std::array records = {Record{key, row.fields()}};
  EXPECT_EQ(session->insert_batch(records), Status::ok) << session->error();
  EXPECT_EQ(session->insert(test_key(3), row.fields()), Status::error) << "the key is there";
  Row read;
  EXPECT_EQ(session->read(key, {}, read), Status::ok) << session->error();
  EXPECT_EQ(session->update(test_key(7), row.fields()), Status::ok) << session->error();
  EXPECT_EQ(session->update(test_key(77), row.fields()), Status::not_found);
  std::vector<Row> rows;
  EXPECT_EQ(session->scan(test_key(5), 8, {}, rows), Status::ok) << session->error();
  ASSERT_EQ(rows.size(), 8U);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(rows[static_cast<std::size_t>(i)].key, test_key(5 + i));
  EXPECT_EQ(session->remove(test_key(7)), Status::ok) << session->error();
  EXPECT_EQ(session->read(test_key(7), {}, read), Status::not_found);
}

TEST_F(Citus, a_worker_that_is_lost_fails_the_rows_it_has) {
  const auto database = open();
  load(*database, 60);
  workers_[0]->kill();
  const auto session = database->session();
  Row row;
  int read = 0;
  for (int number = 0; number < 60; ++number) read += session->read(test_key(number), {}, row) == Status::ok ? 1 : 0;
  EXPECT_GT(read, 0);
  EXPECT_LT(read, 60);
  EXPECT_FALSE(session->error().empty());
}

}  // namespace
}  // namespace edgejoule::driver
