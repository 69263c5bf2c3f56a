// A connection to a Redis server. Commands are appended and flushed together, and their replies read one by one.
//
// hiredis connects and implements the protocol. The bytes pass through this class, so that a broken connection raises
// no SIGPIPE, every wait has a time limit, and TLS works with every version of hiredis.
#pragma once

#include <hiredis/hiredis.h>

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "adapters/server/lost_server.h"
#include "adapters/server/patient_socket.h"
#include "settings.h"

namespace edgejoule::driver {

struct RedisReplyFree {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using RedisReply = std::unique_ptr<redisReply, RedisReplyFree>;

[[nodiscard]] inline std::string_view text_of(const redisReply& reply) { return {reply.str, reply.len}; }

class RedisTls;

class RedisConnection {
 public:
  explicit RedisConnection(const RedisSettings& settings);
  ~RedisConnection();
  RedisConnection(const RedisConnection&) = delete;
  RedisConnection& operator=(const RedisConnection&) = delete;

  // Connects or reconnects, authenticates and selects the database, all within redis.connect_timeout_ms and
  // time_limit_ms. Throws DatabaseError.
  void connect(std::uint64_t time_limit_ms = ~std::uint64_t{0});

  void append(std::span<const std::string_view> arguments);
  void append(std::initializer_list<std::string_view> arguments) {
    append(std::span(arguments.begin(), arguments.size()));
  }

  // Returns the next unread reply. Sends the appended commands first, which begins an operation: all its replies must
  // arrive within redis.timeout_ms. Throws LostServer.
  [[nodiscard]] RedisReply next();

  // Appends a command and returns its reply. The caller checks the reply for an error.
  [[nodiscard]] RedisReply ask(std::initializer_list<std::string_view> arguments);

 private:
  void greet();
  void check_greeting(std::string_view command, const redisReply& reply) const;
  void send_all();
  void receive();
  [[noreturn]] void lose(std::string_view doing, int code);

  struct ContextFree {
    void operator()(redisContext* context) const { redisFree(context); }
  };

  const RedisSettings& settings_;
  std::unique_ptr<redisContext, ContextFree> context_;
  PatientSocket socket_;
  std::unique_ptr<RedisTls> tls_;
  std::string out_;
  std::vector<const char*> argv_;
  std::vector<std::size_t> lengths_;
  std::uint64_t timeout_ms_ = 0;
  const char* timeout_option_ = "";  // name of the time limit's option, in brackets; empty: the limit is the caller's
  bool connecting_ = false;          // the time limit of a connection applies
  bool answered_ = false;            // a reply was received, on this connection or an earlier one
};

}  // namespace edgejoule::driver
