// A real database server on loopback, on a free port and in a temporary folder. It ends with the test.
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

  // How to start a server and check that it is ready. `prepare` may create files below the folder.
  struct Kind {
    std::string adapter;
    std::function<void(const TestServer&)> prepare;
    std::function<Arguments(const TestServer&)> command;
    std::function<bool(const TestServer&)> ready = {};  // true once it accepts connections
  };

  TestServer(Kind kind, Arguments more = {});
  ~TestServer();
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  void start();   // waits until it accepts connections
  void launch();  // does not wait
  void kill();    // SIGKILL
  void stop();    // SIGINT, on which PostgreSQL does not wait for clients
  void pause();
  void resume();

  // An argument for the next start.
  void add(const std::string& argument) { more_.push_back(argument); }
  // Copies a file into its folder, readable only by the server.
  void take_file(const std::string& from, const std::string& name) const;

  [[nodiscard]] bool is_ours() const { return static_cast<bool>(kind_.command); }
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::string folder() const { return directory_.path().string(); }
  [[nodiscard]] const Arguments& more() const { return more_; }
  // The adapter's options to connect to it, with short time limits.
  [[nodiscard]] Properties properties() const;

 private:
  void signal_all(int number) const;

  Kind kind_;
  Arguments more_;
  TemporaryDirectory directory_;
  int port_;
  pid_t process_ = -1;
};

// nullptr if the server is not installed. MongoDB: the server in EDGEJOULE_MONGODB_URI, which the tests neither start
// nor stop; otherwise mongod from the PATH; otherwise mongo-java-server, a stand-in.
[[nodiscard]] std::unique_ptr<TestServer> make_mongodb(TestServer::Arguments more = {});
[[nodiscard]] std::unique_ptr<TestServer> make_own_mongodb(TestServer::Arguments more = {});
[[nodiscard]] std::string given_mongodb();
[[nodiscard]] std::unique_ptr<TestServer> make_redis(TestServer::Arguments more = {});
[[nodiscard]] std::unique_ptr<TestServer> make_postgres(TestServer::Arguments more = {});

// True if PostgreSQL has the extension.
[[nodiscard]] bool has_citus();

// The server that an adapter's tests share, emptied. Throws if it is not installed.
[[nodiscard]] TestServer& emptied_server(const std::string& adapter);

// With the adapter's own library.
void empty_mongodb(const Properties& properties);
void empty_redis(const Properties& properties);
void empty_postgres(const Properties& properties);

// Runs a program to its end. Throws if it fails.
void run_program(const TestServer::Arguments& arguments);

[[nodiscard]] int free_port();

// Creates a server certificate for 127.0.0.1 and localhost, signed by an authority: ca.crt, server.crt, server.key.
void make_certificates(const std::string& folder);

}  // namespace edgejoule::driver
