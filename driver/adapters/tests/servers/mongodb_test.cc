// Guarantees of MongoDB's adapter beyond the contract, on a mongod if one is given or installed, otherwise on
// mongo-java-server, a stand-in. Tests skip features that the server lacks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <thread>

#include "../bson_from_json.h"
#include "adapters/mongodb/connection.h"
#include "adapters/mongodb/server_status.h"
#include "server_fixture.h"

namespace edgejoule::driver {

namespace {

// One command {NAME: VALUE} on the adapter's connection.
class Asked {
 public:
  explicit Asked(const Properties& properties) : settings_(mongo_settings(properties, Durability::process)) {
    connection_.connect();
  }

  const bson_t* ask(const std::string& database, const bson_t* command) {
    MongoRefusal refusal;
    if (!connection_.ask(database, command, reply_, refusal)) throw std::runtime_error(refusal.message);
    return reply_.get();
  }

  const bson_t* first_document() {
    MongoDocument everything;
    MongoDocument options;
    MongoRefusal refusal;
    if (!connection_.find(everything.get(), options.get(), found_, refusal)) throw std::runtime_error(refusal.message);
    return found_.at(0)->get();
  }

  [[nodiscard]] const MongoSettings& settings() const { return settings_; }

 private:
  MongoSettings settings_;
  MongoConnection connection_{settings_};
  MongoDocument reply_;
  MongoDocuments found_;
};

}  // namespace

void empty_mongodb(const Properties& properties) {
  Asked server(properties);
  const auto remove =
      fmt::format(R"({{"delete": "{}", "deletes": [{{"q": {{}}, "limit": 0}}]}})", server.settings().collection);
  (void)server.ask(server.settings().database, Bson(remove).get());
}

namespace {

class Mongodb : public ServerFixture {
 protected:
  Mongodb() : ServerFixture("mongodb", make_own_mongodb) {}

  static bool is_stand_in(const Database& database) { return database.options().contains("stand-in"); }
};

std::uint64_t count(const Database& database, const std::string& name) {
  return std::stoull(database.stats().at(fmt::format("opcounters.{}", name)));
}

// site.ycsb.db.MongoDbClient stores the key as string _id and each field as binary.
TEST_F(Mongodb, keeps_records_as_ycsb_s_binding_does) {
  share();
  load(*open(), 1);
  Asked server(properties_);
  const auto* const document = server.first_document();
  EXPECT_EQ(text_at(document, "_id"), test_key(0));
  bson_iter_t at;
  ASSERT_TRUE(bson_iter_init_find(&at, document, "field3"));
  ASSERT_TRUE(BSON_ITER_HOLDS_BINARY(&at));
  bson_subtype_t subtype;
  std::uint32_t size = 0;
  const std::uint8_t* bytes = nullptr;
  bson_iter_binary(&at, &subtype, &size, &bytes);
  EXPECT_EQ(subtype, BSON_SUBTYPE_BINARY);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes), size), TestRow::value(test_key(0), 3, 0));
}

TEST_F(Mongodb, reads_what_ycsb_s_binding_has_loaded) {
  share();
  Asked server(properties_);
  const auto insert = fmt::format(R"({{"insert": "{}", "documents": [{{"_id": "user1", "field0":
    {{"$binary": {{"base64": "b25l", "subType": "00"}}}}}}]}})",
                                  server.settings().collection);
  (void)server.ask(server.settings().database, Bson(insert).get());
  const auto database = open(Durability::process, false);
  const auto session = database->session();
  Row row;
  ASSERT_EQ(session->read("user1", {}, row), Status::ok);
  EXPECT_EQ(as_map(row), (std::map<std::string, std::string>{{"field0", "one"}}));
}

TEST_F(Mongodb, keeps_strings_where_they_are_asked_for_and_refuses_what_they_cannot_hold) {
  share();
  properties_.set("fieldtype", "text");
  const auto database = open();
  load(*database, 1);
  EXPECT_EQ(text_at(Asked(properties_).first_document(), "field3"), TestRow::value(test_key(0), 3, 0));
  const auto session = database->session();
  EXPECT_EQ(session->insert("user9", std::vector<Field>{{"field0", "\xff"}}), Status::error);
  EXPECT_NE(session->error().find("fieldtype=blob"), std::string::npos) << session->error();
}

TEST_F(Mongodb, numbers_are_keys_in_their_own_order) {
  share();
  properties_.set("keytype", "integer");
  const auto database = open();
  const auto session = database->session();
  for (const char* key : {"100", "20", "3"}) ASSERT_EQ(session->insert(key, TestRow(key).fields()), Status::ok);
  std::vector<Row> rows;
  ASSERT_EQ(session->scan("4", 10, {}, rows), Status::ok) << session->error();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].key, "20");
  EXPECT_EQ(rows[1].key, "100");
  EXPECT_EQ(session->insert("user1", {}), Status::error);
  EXPECT_NE(session->error().find("expected digits"), std::string::npos) << session->error();
  properties_.set("keytype", "text");
  EXPECT_NE(open_error().find("keytype"), std::string::npos) << open_error();
}

TEST_F(Mongodb, the_server_counts_the_operations_that_the_session_counts) {
  share();
  const auto database = open();
  if (!database->stats().contains("opcounters.insert")) GTEST_SKIP() << "the server counts none";
  load(*database, 50);
  const auto session = database->session();
  Row row;
  std::vector<Row> rows;
  const std::vector<Field> change = {{"field4", "changed"}};
  for (int number = 0; number < 7; ++number) ASSERT_EQ(session->read(test_key(number), {}, row), Status::ok);
  for (int number = 0; number < 5; ++number) ASSERT_EQ(session->update(test_key(number), change), Status::ok);
  for (int number = 0; number < 3; ++number) ASSERT_EQ(session->scan(test_key(number), 10, {}, rows), Status::ok);
  for (int number = 0; number < 2; ++number) ASSERT_EQ(session->remove(test_key(number)), Status::ok);
  EXPECT_EQ(count(*database, "insert"), 50U);
  EXPECT_EQ(count(*database, "update"), 5U);
  EXPECT_EQ(count(*database, "query"), 7U + 3U);
  EXPECT_EQ(count(*database, "delete"), 2U);
}

TEST_F(Mongodb, an_unordered_batch_has_its_other_records_when_one_is_there_already) {
  share();
  const auto database = open();
  load(*database, 3, 2);
  const auto session = database->session();
  std::vector<std::unique_ptr<TestRow>> values;
  std::vector<std::string> keys;
  std::vector<Record> records;
  for (int number = 0; number < 5; ++number) keys.push_back(test_key(number));
  for (const auto& key : keys) {
    values.push_back(std::make_unique<TestRow>(key));
    records.push_back({key, values.back()->fields()});
  }
  EXPECT_EQ(session->insert_batch(records), Status::error);
  EXPECT_NE(session->error().find("has an earlier run or load inserted it?"), std::string::npos) << session->error();
  Row row;
  for (const auto& key : keys) EXPECT_EQ(session->read(key, {}, row), Status::ok) << key;
}

TEST_F(Mongodb, a_key_that_exists_is_an_error_unless_upsert_is_set) {
  share();
  load(*open(), 1);
  const TestRow changed(test_key(0), 1);
  const auto database = open();
  const auto session = database->session();
  EXPECT_EQ(session->insert(test_key(0), changed.fields()), Status::error);
  EXPECT_NE(session->error().find("mongodb.upsert=true"), std::string::npos) << session->error();
  set("upsert", "true");
  const auto other = open();
  const auto upserting = other->session();
  EXPECT_EQ(upserting->insert(test_key(0), changed.fields()), Status::ok) << upserting->error();
  Row row;
  EXPECT_EQ(upserting->read(test_key(0), {}, row), Status::ok);
  EXPECT_EQ(as_map(row), as_map(changed));
}

TEST_F(Mongodb, a_document_that_is_no_record_is_unexpected_and_named) {
  share();
  Asked server(properties_);
  const auto insert = fmt::format(R"({{"insert": "{}", "documents": [{{"_id": "user1", "field0": 7}}]}})",
                                  server.settings().collection);
  (void)server.ask(server.settings().database, Bson(insert).get());
  const auto database = open();
  const auto session = database->session();
  Row row;
  EXPECT_EQ(session->read("user1", {}, row), Status::unexpected_state);
  EXPECT_NE(session->error().find("field0"), std::string::npos) << session->error();
}

TEST_F(Mongodb, a_restart_fails_one_operation_and_the_session_goes_on) {
  start();
  set("reconnect_ms", "120000");
  const auto database = open();
  load(*database, 5);
  ASSERT_EQ(database->flush(), Status::ok) << database->flush_error();
  expect_a_restart_to_fail_one_operation(*database);
  EXPECT_EQ(database->stats().at("client.connections_lost"), "1");
}

TEST_F(Mongodb, a_server_that_does_not_come_back_ends_the_run_in_time) {
  start();
  (void)error_of_a_lost_server(&TestServer::kill, 20'000'000'000U);
}

TEST_F(Mongodb, a_paused_server_hits_the_time_limit) {
  start();
  load(*open(), 5);  // the first answers of a Java server are slow
  set("timeout_ms", "2000");
  set("connect_timeout_ms", "2000");
  set("reconnect_ms", "400");
  set("watch_ms", "0");
  expect_a_paused_server_to_hit(2000, *open(), 1'800'000'000U, 60'000'000'000U);
}

TEST_F(Mongodb, a_refused_connection_says_where_and_what_to_do) { expect_a_refused_connection_to_say_what_to_do(); }

// A server without users, and the stand-in, refuse every password.
TEST_F(Mongodb, a_refused_password_is_reported_but_not_shown) {
  start();
  set("user", "tester");
  set("password", "a-wrong-secret");
  const auto error = open_error();
  EXPECT_NE(error.find("right password"), std::string::npos) << error;
  EXPECT_EQ(error.find("secret"), std::string::npos) << error;
}

TEST_F(Mongodb, speaks_tls_to_whom_its_authority_has_signed) {
  const TemporaryDirectory folder;
  const auto in = [&folder](const char* name) { return (folder.path() / name).string(); };
  make_certificates(folder.path().string());
  start();
  if (IsSkipped()) return;
  if (is_stand_in(*open())) {
    start({in("server.crt"), in("server.key")});
  } else {
    run_program({"sh", "-c", fmt::format("cat '{}' '{}' > '{}'", in("server.crt"), in("server.key"), in("both.pem"))});
    start({"--tlsMode", "requireTLS", "--tlsCertificateKeyFile", in("both.pem")});
  }
  EXPECT_NE(open_error().find("mongodb.tls=true"), std::string::npos) << open_error();
  set("tls", "true");
  EXPECT_NE(open_error().find("mongodb.tls_ca_file"), std::string::npos) << open_error();
  set("tls_ca_file", in("ca.crt"));
  set("tls_cert_file", in("server.crt"));  // the client's certificate; its key is in a separate file
  set("tls_key_file", in("server.key"));
  set("reconnect_ms", "0");
  const auto database = open();
  load(*database, 50);
  const auto session = database->session();
  Row row;
  EXPECT_EQ(session->read(test_key(7), {}, row), Status::ok) << session->error();
  server_->kill();
  EXPECT_NE(session->read(test_key(7), {}, row), Status::ok);
}

TEST_F(Mongodb, a_stand_in_says_what_it_is_wherever_it_shows) {
  share();
  const auto database = open(Durability::power);
  if (!is_stand_in(*database)) GTEST_SKIP() << "a real one: " << database->version();
  EXPECT_TRUE(database->version().starts_with("stand-in")) << database->version();
  EXPECT_NE(database->version().find("not MongoDB"), std::string::npos);
  EXPECT_NE(database->durability_how().find("stand-in"), std::string::npos);
  EXPECT_NE(database->durability_how().find("does not hold"), std::string::npos);
}

TEST_F(Mongodb, says_what_is_asked_of_the_server_for_a_class) {
  share();
  EXPECT_EQ(open(Durability::none)->options().at("j"), "false");
  EXPECT_EQ(open(Durability::power)->options().at("j"), "true");
  EXPECT_EQ(open(Durability::none)->durability_how().find("does not hold"), std::string::npos);
  set("journal", "false");
  EXPECT_NE(open(Durability::power)->durability_how().find("does not hold"), std::string::npos);
}

TEST_F(Mongodb, acknowledged_rows_are_there_after_kill) {
  start();
  if (IsSkipped()) return;
  if (is_stand_in(*open())) GTEST_SKIP() << "a stand-in without a journal promises nothing";
  load(*open(), 300);
  server_->kill();
  server_->start();
  const auto database = open(Durability::process, false);
  expect_rows(*database, 300);
}

TEST_F(Mongodb, what_was_settled_is_there_after_kill) {
  start();
  if (IsSkipped()) return;
  {
    const auto database = open(Durability::none);
    load(*database, 300);
    const auto settled = database->settle(60'000'000'000);
    ASSERT_TRUE(settled.complete) << settled.how;
  }
  server_->kill();
  server_->start();
  const auto database = open(Durability::none, false);
  expect_rows(*database, 300);
}

TEST_F(Mongodb, settling_makes_a_checkpoint_and_reports_it) {
  share();
  set("watch_ms", "0");
  const auto database = open();
  if (!database->components()[0].count) GTEST_SKIP() << "the server does not report checkpoints";
  const auto before = *database->components()[0].count;
  load(*database, 500);
  const auto settled = database->settle(60'000'000'000);
  EXPECT_TRUE(settled.complete) << settled.how;
  EXPECT_GT(*database->components()[0].count, before);
  const auto events = events_.take();
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events[0].kind, DatabaseEvent::Kind::checkpoint);
}

TEST_F(Mongodb, reports_the_cpu_time_of_its_server) {
  share();
  const auto database = open();
  if (!database->server_cpu_ns()) GTEST_SKIP() << "the server is elsewhere";
  expect_the_cpu_time_of_the_server(*database);
}

}  // namespace
}  // namespace edgejoule::driver
