// Tests of MongoDB's adapter without a server: its options and its parsing of answers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "adapters/mongodb/server_status.h"
#include "adapters/mongodb/settings.h"
#include "bson_from_json.h"
#include "contract/properties.h"
#include "temporary_directory.h"

namespace edgejoule::driver {
namespace {

class MongodbSettings : public testing::Test {
 protected:
  void set(const std::string& option, const std::string& value) { properties_.set("mongodb." + option, value); }
  [[nodiscard]] MongoSettings settings(Durability durability = Durability::process) const {
    return mongo_settings(properties_, durability);
  }
  [[nodiscard]] std::string refusal() const {
    try {
      (void)settings();
    } catch (const UsageError& error) {
      return error.what();
    }
    return "it was taken";
  }
  [[nodiscard]] std::string all_that_is_shown() const {
    std::string all;
    for (const auto& [name, value] : shown(settings())) all += name + "=" + value + "\n";
    return all;
  }

  Properties properties_;
};

TEST_F(MongodbSettings, are_those_of_ycsb_when_nothing_is_said) {
  const auto found = settings();
  EXPECT_EQ(found.address, "127.0.0.1:27017");
  EXPECT_EQ(found.database, "ycsb");
  EXPECT_EQ(found.collection, "usertable");
  EXPECT_FALSE(found.text_fields);
  EXPECT_EQ(found.w, "1");
}

TEST_F(MongodbSettings, retry_nothing) {
  const auto found = settings();
  EXPECT_FALSE(mongoc_uri_get_option_as_bool(found.uri.get(), MONGOC_URI_RETRYWRITES, true));
  EXPECT_FALSE(mongoc_uri_get_option_as_bool(found.uri.get(), MONGOC_URI_RETRYREADS, true));
  set("uri", "mongodb://localhost/?retryWrites=true");
  EXPECT_NE(refusal().find("retrywrites=true"), std::string::npos) << refusal();
}

TEST_F(MongodbSettings, the_journal_is_synced_by_durability_class_unless_it_is_said) {
  EXPECT_FALSE(settings(Durability::none).journal);
  EXPECT_TRUE(settings(Durability::process).journal);
  EXPECT_TRUE(settings(Durability::power).journal);
  set("journal", "false");
  EXPECT_FALSE(settings(Durability::power).journal);
  EXPECT_TRUE(settings(Durability::power).journal_set);
}

TEST_F(MongodbSettings, come_from_the_connection_string_unless_an_option_says_otherwise) {
  set("uri",
      "mongodb://one.example:1111,two.example:2222/shop?replicaSet=r&w=majority&journal=false&wTimeoutMS=70"
      "&readPreference=secondaryPreferred&readConcernLevel=majority&connectTimeoutMS=123&socketTimeoutMS=456");
  auto found = settings(Durability::power);
  EXPECT_EQ(found.address, "one.example:1111,two.example:2222");
  EXPECT_FALSE(found.server.is_local());
  EXPECT_EQ(found.database, "shop");
  EXPECT_EQ(found.w, "majority");
  EXPECT_FALSE(found.journal);
  EXPECT_EQ(found.wtimeout_ms, 70U);
  EXPECT_EQ(found.read_preference, "secondaryPreferred");
  EXPECT_EQ(found.read_concern, "majority");
  EXPECT_EQ(found.server.connect_timeout_ms, 123U);
  EXPECT_EQ(found.server.timeout_ms, 456U);
  EXPECT_EQ(shown(found).at("replicaSet"), "r");
  set("w", "2");
  set("journal", "true");
  set("read_preference", "nearest");
  set("timeout_ms", "789");
  set("database", "other");
  found = settings(Durability::power);
  EXPECT_EQ(found.w, "2");
  EXPECT_TRUE(found.journal);
  EXPECT_EQ(found.read_preference, "nearest");
  EXPECT_EQ(mongoc_uri_get_option_as_int32(found.uri.get(), MONGOC_URI_SOCKETTIMEOUTMS, 0), 789);
  EXPECT_EQ(found.database, "other");
}

TEST_F(MongodbSettings, a_replica_set_is_local_when_all_of_its_hosts_are) {
  set("uri", "mongodb://127.0.0.1:1,127.0.0.1:2/?replicaSet=r");
  EXPECT_TRUE(settings().server.is_local());
  set("uri", "mongodb://far.example:1,127.0.0.1:2/?replicaSet=r");
  EXPECT_FALSE(settings().server.is_local());
}

TEST_F(MongodbSettings, a_property_file_of_ycsb_is_taken_as_it_is) {
  set("url", "mongodb://db.example:27018/ycsb?w=1");
  set("upsert", "true");
  properties_.set("table", "records");
  const auto found = settings();
  EXPECT_EQ(found.address, "db.example:27018");
  EXPECT_EQ(found.collection, "records");
  EXPECT_TRUE(found.upserts);
}

TEST_F(MongodbSettings, an_unacknowledged_write_is_refused) {
  set("w", "0");
  EXPECT_NE(refusal().find("cannot be counted"), std::string::npos) << refusal();
}

TEST_F(MongodbSettings, a_password_goes_to_the_server_and_is_shown_nowhere) {
  set("user", "tester");
  set("password", "a p@ss/word");
  EXPECT_STREQ(mongoc_uri_get_password(settings().uri.get()), "a p@ss/word");
  EXPECT_STREQ(mongoc_uri_get_auth_source(settings().uri.get()), "admin");
  EXPECT_EQ(all_that_is_shown().find("p@ss"), std::string::npos) << all_that_is_shown();
  EXPECT_NE(all_that_is_shown().find("user=tester"), std::string::npos) << all_that_is_shown();
  EXPECT_TRUE(settings().server.password.empty());
}

TEST_F(MongodbSettings, a_password_in_a_connection_string_is_shown_nowhere_either) {
  set("uri", "mongodb://tester:the-secret@localhost/ycsb");
  EXPECT_EQ(all_that_is_shown().find("the-secret"), std::string::npos) << all_that_is_shown();
  for (const char* wrong :
       {"mongodb://tester:the-secret@localhost/?w=many@", "mongo//tester:the-secret@localhost",
        "mongodb://tester:the-secret/@localhost/ycsb", "mongodb://tester:the-secret@localhost:x/"}) {
    set("uri", wrong);
    EXPECT_EQ(refusal().find("the-secret"), std::string::npos) << refusal();
  }
}

TEST_F(MongodbSettings, the_password_comes_from_a_file_or_the_environment) {
  const TemporaryDirectory folder;
  const auto file = (folder.path() / "password").string();
  std::ofstream(file) << "from-the-file\n";
  set("user", "tester");
  set("password_file", file);
  EXPECT_STREQ(mongoc_uri_get_password(settings().uri.get()), "from-the-file");
}

TEST_F(MongodbSettings, what_a_connection_string_says_is_not_said_again) {
  set("uri", "mongodb://localhost/");
  set("port", "1");
  EXPECT_NE(refusal().find("mongodb.port"), std::string::npos) << refusal();
}

TEST_F(MongodbSettings, wrong_ones_are_refused_by_name) {
  for (const auto& [option, value] : std::map<std::string, std::string>{{"read_concern", "strong"},
                                                                        {"read_preference", "fastest"},
                                                                        {"database", "a.b"},
                                                                        {"collection", "a$b"},
                                                                        {"tls_ca_file", "/nowhere"},
                                                                        {"timeout_ms", "0"},
                                                                        {"no_such_option", "1"}}) {
    Properties properties;
    properties.set("mongodb." + option, value);
    try {
      (void)mongo_settings(properties, Durability::process);
      ADD_FAILURE() << option << " was taken";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("mongodb." + option), std::string::npos) << error.what();
    }
  }
}

TEST_F(MongodbSettings, field_names_that_mean_something_else_are_refused) {
  properties_.set("fieldnameprefix", "$field");
  EXPECT_NE(refusal().find("fieldnameprefix"), std::string::npos) << refusal();
}

TEST_F(MongodbSettings, certificate_and_key_in_two_files_become_one_that_nobody_else_sees) {
  const TemporaryDirectory folder;
  const auto write = [&folder](const char* name, const char* text) {
    std::ofstream(folder.path() / name) << text;
    return (folder.path() / name).string();
  };
  set("tls", "true");
  set("tls_cert_file", write("certificate", "CERTIFICATE"));
  set("tls_key_file", write("key", "KEY"));
  const auto found = settings();
  const auto* const path = mongoc_uri_get_option_as_utf8(found.uri.get(), MONGOC_URI_TLSCERTIFICATEKEYFILE, "");
  ASSERT_TRUE(std::string(path).starts_with("/proc/self/fd/")) << path;
  std::ifstream both(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(both), {}), "CERTIFICATE\nKEY");
}

// The names are from MongoDB's manual and WiredTiger's statistics.
constexpr auto of_seven = R"json({"host": "h", "version": "7.0.14", "process": "/usr/bin/mongod",
  "pid": {"$numberLong": "42"}, "uptimeMillis": {"$numberLong": "9000"},
  "opcounters": {"insert": {"$numberLong": "5"}, "query": 6, "update": 7, "delete": 8, "getmore": 9, "command": 10},
  "storageEngine": {"name": "wiredTiger", "persistent": true}, "mem": {"resident": 90},
  "wiredTiger": {
    "cache": {"maximum bytes configured": 268435456},
    "log": {"log bytes written": 4096, "log sync operations": 3, "log write operations": 11},
    "transaction": {"transaction checkpoint currently running": 1, "transaction checkpoints": 12,
      "transaction checkpoint most recent time (msecs)": 30, "transaction checkpoint total time (msecs)": 340}}})json";
constexpr auto of_eight = R"json({"process": "mongod", "pid": 42, "wiredTiger": {"transaction": {},
  "checkpoint": {"total succeed number of checkpoints": 4, "total time (msecs)": 50, "progress state": 0}}})json";
// From mongo-java-server 1.47.
constexpr auto of_a_stand_in = R"({"version": "3.6.0", "process": "java", "pid": 42, "uptimeMillis": 10})";

TEST(MongodbStatus, is_read_where_the_server_tells_it) {
  const auto status = mongo_status(Bson(of_seven).get());
  EXPECT_EQ(status.process, "mongod");
  EXPECT_EQ(status.pid, 42);
  EXPECT_EQ(status.uptime_ms, 9000U);
  EXPECT_EQ(status.engine, "wiredTiger");
  EXPECT_EQ(status.is_persistent, true);
  EXPECT_EQ(status.operations.at("insert"), 5U);
  EXPECT_EQ(status.operations.at("delete"), 8U);
  ASSERT_TRUE(status.checkpoints);
  EXPECT_EQ(status.checkpoints->count, 12U);
  EXPECT_EQ(status.checkpoints->duration_ms, 340U);
  EXPECT_TRUE(status.checkpoints->running);
  EXPECT_EQ(status.journal_bytes, 4096U);
  EXPECT_EQ(status.journal_syncs, 3U);
  EXPECT_EQ(status.journal_writes, 11U);
  EXPECT_EQ(status.figures.at("wiredTiger.cache.maximum bytes configured"), "268435456");
}

TEST(MongodbStatus, finds_the_checkpoints_of_version_8_in_their_new_place) {
  const auto status = mongo_status(Bson(of_eight).get());
  ASSERT_TRUE(status.checkpoints);
  EXPECT_EQ(status.checkpoints->count, 4U);
  EXPECT_FALSE(status.checkpoints->running);
}

TEST(MongodbStatus, what_is_not_reported_is_absent_not_zero) {
  const auto status = mongo_status(Bson(of_a_stand_in).get());
  EXPECT_FALSE(status.checkpoints);
  EXPECT_FALSE(status.journal_bytes);
  EXPECT_FALSE(status.engine);
  EXPECT_TRUE(status.operations.empty());
}

TEST(MongodbStatus, a_stand_in_is_never_called_by_the_version_that_it_answers_with) {
  const Bson plain(R"({"version": "3.6.0"})");
  const Bson named(R"({"version": "3.6.0", "standIn": "mongo-java-server 1.47.0"})");
  const Bson real(R"({"version": "7.0.14", "gitVersion": "abc"})");
  const auto stand_in = mongo_status(Bson(of_a_stand_in).get());
  EXPECT_TRUE(is_stand_in(plain.get(), stand_in));
  EXPECT_EQ(mongo_version(plain.get(), stand_in), "stand-in: a java process that answers as 3.6.0, not MongoDB");
  EXPECT_EQ(mongo_version(named.get(), stand_in), "stand-in: mongo-java-server 1.47.0, not MongoDB");
  EXPECT_EQ(mongo_version(real.get(), mongo_status(Bson(of_seven).get())), "7.0.14");
  EXPECT_FALSE(is_stand_in(real.get(), {})) << "a user who may not ask for the status";
  EXPECT_TRUE(is_stand_in(plain.get(), {}));
}

TEST(MongodbStatus, a_server_without_journal_is_seen) {
  EXPECT_TRUE(keeps_journal(Bson(R"({"parsed": {}})").get()));
  EXPECT_FALSE(keeps_journal(Bson(R"({"parsed": {"storage": {"journal": {"enabled": false}}}})").get()));
  const auto configuration = mongo_configuration(
      Bson(R"({"parsed": {"storage": {"dbPath": "/d", "journal": {"commitIntervalMs": 50}}}})").get());
  EXPECT_EQ(configuration.at("storage.dbPath"), "/d");
  EXPECT_EQ(configuration.at("storage.journal.commitIntervalMs"), "50");
}

// What `edgejoule databases mongodb --record FILE` has written, with the answers in the order of the questions.
class Record {
 public:
  explicit Record(const std::filesystem::path& file) : record_(contents(file)) {}

  [[nodiscard]] const bson_t* whole() const { return record_.get(); }

  // Returns the answer of a step. Throws std::runtime_error if there is none.
  [[nodiscard]] MongoDocument& answer(const std::string& step) {
    for (int i = 0;; ++i) {
      const auto path = fmt::format("answers.{}", i);
      const auto name = text_at(record_.get(), (path + ".step").c_str());
      if (!name) throw std::runtime_error("no step " + step);
      if (*name != step) continue;
      bson_iter_t begin;
      bson_iter_t at;
      bson_iter_init(&begin, record_.get());
      bson_iter_find_descendant(&begin, (path + ".answer").c_str(), &at);
      const std::uint8_t* bytes = nullptr;
      std::uint32_t size = 0;
      bson_iter_document(&at, &size, &bytes);
      bson_t found;
      bson_init_static(&found, bytes, size);
      bson_copy_to(&found, answer_.taken());
      return answer_;
    }
  }

 private:
  static std::string contents(const std::filesystem::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  Bson record_;
  MongoDocument answer_;
};

std::vector<std::filesystem::path> recorded_servers() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(MONGODB_RECORDS)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

class MongodbRecords : public testing::TestWithParam<std::filesystem::path> {
 protected:
  [[nodiscard]] std::optional<std::int64_t> number(const std::string& step, const char* path) {
    return number_at(record_.answer(step).get(), path);
  }

  Record record_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Servers, MongodbRecords, testing::ValuesIn(recorded_servers()), [](const auto& server) {
  auto name = server.param.stem().string();
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
});

TEST_P(MongodbRecords, name_the_server_as_the_lab_does) {
  const auto status = mongo_status(record_.answer("serverStatus").get());
  const auto& build = record_.answer("buildInfo");
  EXPECT_EQ(mongo_version(build.get(), status), text_at(record_.whole(), "server"));
  EXPECT_EQ(is_stand_in(build.get(), status), truth_at(record_.whole(), "stand_in"));
}

TEST_P(MongodbRecords, of_a_mongod_have_every_figure_that_is_reported) {
  if (truth_at(record_.whole(), "stand_in").value_or(true)) GTEST_SKIP() << "a stand-in counts no checkpoints";
  const auto status = mongo_status(record_.answer("serverStatus settled").get());
  EXPECT_TRUE(status.pid && status.uptime_ms && status.engine && status.is_persistent);
  EXPECT_TRUE(status.checkpoints);
  EXPECT_TRUE(status.journal_writes && status.journal_bytes && status.journal_syncs);
  EXPECT_EQ(status.operations.size(), 6U);
  EXPECT_EQ(status.figures.size(), 10U);
}

TEST_P(MongodbRecords, answer_as_the_session_reads_it) {
  EXPECT_EQ(number("insert", "n"), 1);
  EXPECT_EQ(number("update", "n"), 1);
  EXPECT_EQ(number("upsert", "n"), 1);
  EXPECT_EQ(number("remove", "n"), 1);
  EXPECT_EQ(number("update of a missing key", "n"), 0);
  EXPECT_EQ(number("remove of a missing key", "n"), 0);
  EXPECT_EQ(number("insert of an existing key", "writeErrors.0.code"), 11000);
  EXPECT_EQ(number("batch with an existing key", "writeErrors.0.code"), 11000);
  EXPECT_EQ(number("count", "cursor.firstBatch.0.records"), 4);
  EXPECT_EQ(number("unknown command", "code"), 59);
  EXPECT_EQ(text_at(record_.answer("read").get(), "cursor.firstBatch.0._id"), "user1");
  EXPECT_EQ(text_at(record_.answer("scan").get(), "cursor.firstBatch.1._id"), "user2");
  EXPECT_EQ(text_at(record_.answer("read of a missing key").get(), "cursor.firstBatch.0._id"), std::nullopt);
}

}  // namespace
}  // namespace edgejoule::driver
