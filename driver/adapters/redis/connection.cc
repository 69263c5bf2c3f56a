#include "connection.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "tls.h"

namespace edgejoule::driver {

RedisConnection::RedisConnection(const RedisSettings& settings) : settings_(settings) {}

RedisConnection::~RedisConnection() = default;

void RedisConnection::connect(std::uint64_t time_limit_ms) {
  const auto& server = settings_.server;
  timeout_ms_ = std::min(server.connect_timeout_ms, time_limit_ms);
  timeout_option_ = server.connect_timeout_ms <= time_limit_ms ? " (redis.connect_timeout_ms)" : "";
  connecting_ = true;
  out_.clear();
  tls_.reset();
  context_.reset();  // close the old connection before opening a new one
  context_.reset(server.is_socket() ? redisConnectUnixNonBlock(server.host.c_str())
                                    : redisConnectNonBlock(server.host.c_str(), server.port));
  if (!context_) throw std::bad_alloc();
  const int failure = context_->err != 0 ? 0 : socket_.connect(context_->fd, timeout_ms_);
  if (context_->err != 0 || failure != 0) {
    const std::string message =
        failure == ETIMEDOUT
            ? fmt::format("no connection within {} ms{}", timeout_ms_, timeout_option_)
            : fmt::format("cannot connect: {}", failure != 0 ? std::strerror(failure) : context_->errstr);
    throw DatabaseError(fmt::format("Redis at {}: {}; {}", server.address(), message, how_to_reach("redis", server)));
  }
  if (!server.is_socket()) {
    const int on = 1;
    setsockopt(context_->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  socket_.set_timeout(timeout_ms_);
  if (server.tls) tls_ = std::make_unique<RedisTls>(socket_, server);
  try {
    greet();
  } catch (const LostServer& lost) {
    if (answered_) throw DatabaseError(fmt::format("{}; it no longer answers", lost.what()));
    throw DatabaseError(fmt::format("{}; does it listen to Redis's protocol there{}?", lost.what(),
                                    server.tls ? "" : ", or only to TLS (redis.tls=true)"));
  }
  connecting_ = false;
  answered_ = true;
  timeout_ms_ = server.timeout_ms;
  timeout_option_ = " (redis.timeout_ms)";
  socket_.set_timeout(timeout_ms_);
}

void RedisConnection::greet() {
  const auto& server = settings_.server;
  if (!server.password.empty()) {
    const auto reply =
        server.user.empty() ? ask({"AUTH", server.password}) : ask({"AUTH", server.user, server.password});
    check_greeting("AUTH", *reply);
  }
  if (settings_.database > 0) check_greeting("SELECT", *ask({"SELECT", std::to_string(settings_.database)}));
  check_greeting("PING", *ask({"PING"}));
}

void RedisConnection::check_greeting(std::string_view command, const redisReply& reply) const {
  if (reply.type != REDIS_REPLY_ERROR) return;
  const auto message = text_of(reply);
  std::string way_out;
  if (message.starts_with("NOAUTH"))
    way_out = "; it requires a password: set redis.password_env or redis.password_file";
  if (message.starts_with("WRONGPASS") || message.starts_with("ERR invalid password")) {
    way_out = "; is it the right password for the user? See redis.user, redis.password_env, redis.password_file";
  }
  if (command == "SELECT") way_out = fmt::format("; is redis.database={} one of its databases?", settings_.database);
  const auto failure = fmt::format("Redis at {}: {}: {}{}", settings_.server.address(), command, message, way_out);
  if (message.starts_with("LOADING")) throw NotReady(failure);
  throw DatabaseError(failure);
}

void RedisConnection::append(std::span<const std::string_view> arguments) {
  argv_.clear();
  lengths_.clear();
  for (const auto argument : arguments) {
    argv_.push_back(argument.data());
    lengths_.push_back(argument.size());
  }
  char* command = nullptr;
  const int size = redisFormatCommandArgv(&command, static_cast<int>(arguments.size()), argv_.data(), lengths_.data());
  if (size < 0) throw std::bad_alloc();
  out_.append(command, static_cast<std::size_t>(size));
  redisFreeCommand(command);
}

void RedisConnection::lose(std::string_view doing, int code) {
  const bool timed_out = code == EAGAIN || code == EWOULDBLOCK || code == ETIMEDOUT;
  tls_.reset();
  context_.reset();
  throw LostServer(timed_out ? fmt::format("Redis at {}: no answer within {} ms{}", settings_.server.address(),
                                           timeout_ms_, timeout_option_)
                             : fmt::format("Redis at {}: the connection broke while {}: {}", settings_.server.address(),
                                           doing, code == 0 ? "the server closed it" : std::strerror(code)),
                   timed_out);
}

void RedisConnection::send_all() {
  if (!connecting_) socket_.begin();
  std::size_t sent = 0;
  while (sent < out_.size()) {
    if (sent > 0 && socket_.is_over()) lose("sending", ETIMEDOUT);
    const auto moved = tls_ ? tls_->send(out_.data() + sent, out_.size() - sent)
                            : socket_.send(out_.data() + sent, out_.size() - sent);
    if (moved < 0) lose("sending", errno);
    sent += static_cast<std::size_t>(moved);
  }
  out_.clear();
}

void RedisConnection::receive() {
  std::array<char, 16384> bytes;
  const auto moved = tls_ ? tls_->receive(bytes.data(), bytes.size()) : socket_.receive(bytes.data(), bytes.size());
  if (moved <= 0) lose("waiting for its answer", moved == 0 ? 0 : errno);
  redisReaderFeed(context_->reader, bytes.data(), static_cast<std::size_t>(moved));
}

RedisReply RedisConnection::next() {
  if (!context_) throw LostServer(fmt::format("Redis at {}: not connected", settings_.server.address()), false);
  if (!out_.empty()) send_all();
  for (bool received = false;; received = true) {
    void* reply = nullptr;
    if (redisReaderGetReply(context_->reader, &reply) != REDIS_OK) {
      const std::string message = context_->reader->errstr;
      tls_.reset();
      context_.reset();
      throw LostServer(fmt::format("Redis at {}: no Redis protocol: {}", settings_.server.address(), message), false);
    }
    if (reply != nullptr) return RedisReply(static_cast<redisReply*>(reply));
    if (received && socket_.is_over()) lose("waiting for its answer", ETIMEDOUT);
    receive();
  }
}

RedisReply RedisConnection::ask(std::initializer_list<std::string_view> arguments) {
  append(arguments);
  return next();
}

}  // namespace edgejoule::driver
