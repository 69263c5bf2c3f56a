// Shared by the tests of all server adapters: a server, the properties to connect to it, and common checks.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "../open_database.h"
#include "adapters/registry.h"
#include "system/system.h"
#include "test_server.h"

namespace edgejoule::driver {

class ServerFixture : public testing::Test {
 protected:
  using Make = std::unique_ptr<TestServer> (*)(TestServer::Arguments);

  ServerFixture(std::string adapter, Make make) : adapter_(std::move(adapter)), make_(make) {}

  // Starts a server for this test, which the test may kill.
  void start(TestServer::Arguments more = {}) {
    server_ = make_(std::move(more));
    if (!server_) GTEST_SKIP() << "no server of " << adapter_ << " is installed (make servers)";
    properties_ = server_->properties();
  }

  // Uses the server that all tests share, after emptying it.
  void share() { properties_ = emptied_server(adapter_).properties(); }

  void set(const std::string& option, const std::string& value) { properties_.set(adapter_ + "." + option, value); }

  std::unique_ptr<Database> open(Durability durability = Durability::process, bool create = true) {
    auto database = find_adapter(adapter_)->make();
    database->open(properties_, durability, create, events_.sink());
    return database;
  }

  std::string open_error() {
    try {
      (void)open();
    } catch (const DatabaseError& error) {
      return error.what();
    }
    return "it opened";
  }

  static void load(Database& database, int end, int begin = 0) {
    const auto session = database.session();
    for (int number = begin; number < end; ++number) {
      ASSERT_EQ(session->insert(test_key(number), TestRow(test_key(number)).fields()), Status::ok) << session->error();
    }
  }

  static void expect_rows(Database& database, int end) {
    const auto session = database.session();
    Row row;
    for (int number = 0; number < end; ++number) {
      ASSERT_EQ(session->read(test_key(number), {}, row), Status::ok) << number;
    }
  }

  std::string address() const { return "127.0.0.1:" + properties_.get(adapter_ + ".port", ""); }

  void expect_a_restart_to_fail_one_operation(Database& database) {
    const auto session = database.session();
    Row row;
    ASSERT_EQ(session->read(test_key(1), {}, row), Status::ok);
    server_->kill();
    // A server ends with the thread that started it.
    std::thread reader([&] { EXPECT_EQ(session->read(test_key(1), {}, row), Status::busy) << session->error(); });
    server_->start();
    reader.join();
    EXPECT_NE(session->error().find("the connection broke"), std::string::npos) << session->error();
    EXPECT_EQ(session->read(test_key(1), {}, row), Status::ok) << session->error();
    const auto stats = database.stats();
    EXPECT_EQ(stats.at("client.reconnections"), "1");
    EXPECT_EQ(stats.at("server.restarted"), "true");
  }

  // `end` ends the server. Returns the session's error.
  std::string error_of_a_lost_server(void (TestServer::*end)(), std::uint64_t within_ns) {
    set("reconnect_ms", "300");
    const auto database = open();
    load(*database, 5);
    const auto session = database->session();
    (server_.get()->*end)();
    Row row;
    const auto begin_ns = now_monotonic_ns();
    EXPECT_EQ(session->read(test_key(1), {}, row), Status::error);
    EXPECT_LT(now_monotonic_ns() - begin_ns, within_ns);
    EXPECT_NE(session->error().find("not back within 300 ms"), std::string::npos) << session->error();
    EXPECT_NE(session->error().find(address()), std::string::npos) << session->error();
    return session->error();
  }

  // Checks the time limit and the range of times in which a read must end.
  void expect_a_paused_server_to_hit(int timeout_ms, Database& database, std::uint64_t least_ns,
                                     std::uint64_t most_ns) {
    const auto session = database.session();
    Row row;
    ASSERT_EQ(session->read(test_key(1), {}, row), Status::ok);
    server_->pause();
    const auto begin_ns = now_monotonic_ns();
    const auto status = session->read(test_key(1), {}, row);
    const auto took_ns = now_monotonic_ns() - begin_ns;
    server_->resume();
    EXPECT_EQ(status, Status::error);
    const auto message = "no answer within " + std::to_string(timeout_ms) + " ms";
    EXPECT_NE(session->error().find(message), std::string::npos) << session->error();
    EXPECT_GE(took_ns, least_ns);
    EXPECT_LT(took_ns, most_ns);
    EXPECT_EQ(database.stats().at("client.timeouts"), "1");
  }

  void expect_a_refused_connection_to_say_what_to_do() {
    set("port", std::to_string(free_port()));
    const auto error = open_error();
    EXPECT_NE(error.find(address()), std::string::npos) << error;
    EXPECT_NE(error.find("Set " + adapter_ + ".host and " + adapter_ + ".port"), std::string::npos) << error;
  }

  // Only if the server is on this machine.
  void expect_the_cpu_time_of_the_server(Database& database) {
    const auto before = database.server_cpu_ns();
    load(database, 3000);
    const auto after = database.server_cpu_ns();
    ASSERT_TRUE(before && after);
    EXPECT_GT(*after, *before);
    EXPECT_LT(*after - *before, 60'000'000'000U);
  }

  std::string adapter_;
  Make make_;
  std::unique_ptr<TestServer> server_;
  Properties properties_;
  EventList events_;
};

}  // namespace edgejoule::driver
