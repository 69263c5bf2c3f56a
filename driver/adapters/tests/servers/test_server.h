// A real database server on loopback: on a free port, in a temporary folder, ended with the test.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../temporary_directory.h"
#include "contract/properties.h"

namespace edgejoule::driver {

class TestServer {
 public:
  using Arguments = std::vector<std::string>;

  // How one is started and told to be ready. `prepare` may make files below the folder.
  struct Kind {
    std::string adapter;
    std::function<void(const TestServer&)> prepare;
    std::function<Arguments(const TestServer&)> command;
    std::function<bool(const TestServer&)> ready = {};  // once it takes connections
  };

  TestServer(Kind kind, Arguments more = {});
  ~TestServer();
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  void start();   // until it takes connections
  void launch();  // without waiting for it
  void kill();    // SIGKILL
  void stop();    // SIGINT, which PostgreSQL obeys without waiting for clients
  void pause();
  void resume();

  // For the next start.
  void add(const std::string& argument) { more_.push_back(argument); }
  // Copies a file below its folder, readable by the server alone.
  void take_file(const std::string& from, const std::string& name) const;

  [[nodiscard]] bool is_ours() const { return static_cast<bool>(kind_.command); }
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::string folder() const { return directory_.path().string(); }
  [[nodiscard]] const Arguments& more() const { return more_; }
  // Where it is, as the adapter's options, with short waits.
  [[nodiscard]] Properties properties() const;

 private:
  void signal_all(int number) const;

  Kind kind_;
  Arguments more_;
  TemporaryDirectory directory_;
  int port_;
  pid_t process_ = -1;
};

// nullptr where the server is not installed. MongoDB: that of EDGEJOULE_MONGODB_URI, which nothing here starts or
// stops; a mongod on the PATH; else mongo-java-server, a stand-in.
[[nodiscard]] std::unique_ptr<TestServer> make_mongodb(TestServer::Arguments more = {});
[[nodiscard]] std::unique_ptr<TestServer> make_own_mongodb(TestServer::Arguments more = {});
[[nodiscard]] std::string given_mongodb();
[[nodiscard]] std::unique_ptr<TestServer> make_redis(TestServer::Arguments more = {});
[[nodiscard]] std::unique_ptr<TestServer> make_postgres(TestServer::Arguments more = {});

// Has PostgreSQL the extension?
[[nodiscard]] bool has_citus();

// The server that the tests of an adapter share, emptied. Throws when it is not installed.
[[nodiscard]] TestServer& emptied_server(const std::string& adapter);

// By the adapter's own library.
void empty_mongodb(const Properties& properties);
void empty_redis(const Properties& properties);
void empty_postgres(const Properties& properties);

// Runs a program to its end; throws when it fails.
void run_program(const TestServer::Arguments& words);

[[nodiscard]] int free_port();

// The server's certificate is signed by the authority; for 127.0.0.1 and localhost. Names: ca.crt, server.crt,
// server.key.
void make_certificates(const std::string& folder);

}  // namespace edgejoule::driver
