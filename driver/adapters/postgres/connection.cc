#include "connection.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string>

#include "system/interruption.h"

namespace edgejoule::driver {
namespace {

using Clock = std::chrono::steady_clock;

// Leaves out libpq's question whether a server is running, which `hint` asks too.
std::string one_line(std::string_view message) {
  std::string joined;
  std::istringstream lines{std::string(message)};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("\tIs the server running")) continue;
    std::ranges::replace(line, '\t', ' ');
    joined += (joined.empty() ? "" : " ") + line;
  }
  return joined;
}

std::string hint(std::string_view message, const PostgresSettings& settings) {
  const auto contains = [message](std::string_view what) { return message.find(what) != std::string_view::npos; };
  if (contains("password authentication failed") || contains("no password supplied")) {
    return "is it the right password for the user? See postgres.user, postgres.password_env, postgres.password_file";
  }
  if (contains("database \""))
    return fmt::format("create it: CREATE DATABASE {}; or set postgres.database", settings.database);
  if (contains("role \"")) return "set postgres.user to an existing role";
  if (contains("certificate") || contains("SSL"))
    return "see postgres.tls, postgres.tls_ca_file and postgres.tls_verify";
  return how_to_reach("postgres", settings.server);
}

}  // namespace

bool is_ok(const PGresult* result) {
  const auto status = PQresultStatus(result);
  return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

std::string message_of(const PGresult* result) {
  const char* const message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  const char* const detail = PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL);
  auto line = one_line(message != nullptr ? message : PQresultErrorMessage(result));
  if (detail != nullptr) line += " (" + one_line(detail) + ")";
  return line;
}

void PostgresParameters::clear() {
  values_.clear();
  lengths_.clear();
  formats_.clear();
  texts_.clear();
}

void PostgresParameters::add_bytes(std::string_view bytes) {
  values_.push_back(bytes.data() == nullptr ? "" : bytes.data());
  lengths_.push_back(static_cast<int>(bytes.size()));
  formats_.push_back(1);
}

void PostgresParameters::add_text(const std::string& text) {
  texts_.push_back(std::make_unique<std::string>(text));
  values_.push_back(texts_.back()->c_str());
  lengths_.push_back(0);
  formats_.push_back(0);
}

void PostgresConnection::connect(std::uint64_t time_limit_ms) {
  const auto& server = settings_.server;
  const auto timeout_ms = std::min(server.connect_timeout_ms, time_limit_ms);
  std::vector<std::pair<const char*, std::string>> parameters = {
      {"host", server.host},
      {"port", std::to_string(server.port)},
      {"dbname", settings_.database},
      {"user", server.user},
      {"password", server.password},
      {"application_name", "edgejoule-driver"},
      {"client_encoding", "UTF8"},
      {"options", "-c synchronous_commit=" + settings_.synchronous_commit},
      {"sslmode", !server.tls         ? "disable"
                  : server.tls_verify ? "verify-full"
                                      : "require"},
      {"sslrootcert", server.tls_ca_file},
      {"sslcert", server.tls_cert_file},
      {"sslkey", server.tls_key_file},
      {"connect_timeout", std::to_string((server.connect_timeout_ms + 999) / 1000)}};  // for PQping; in s
  std::erase_if(parameters, [](const auto& parameter) { return parameter.second.empty(); });
  std::vector<const char*> names;
  std::vector<const char*> values;
  for (const auto& [name, value] : parameters) {
    names.push_back(name);
    values.push_back(value.c_str());
  }
  names.push_back(nullptr);
  values.push_back(nullptr);
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  connection_.reset();
  connection_.reset(PQconnectStartParams(names.data(), values.data(), 0));
  if (!connection_) throw std::bad_alloc();
  auto state = PQstatus(connection_.get()) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING;
  while (state != PGRES_POLLING_OK && state != PGRES_POLLING_FAILED) {
    if (!wait(state == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline)) {
      connection_.reset();
      throw DatabaseError(fmt::format("PostgreSQL at {}: no connection within {} ms (postgres.connect_timeout_ms); {}",
                                      server.address(), timeout_ms, how_to_reach("postgres", server)));
    }
    state = PQconnectPoll(connection_.get());
  }
  if (state == PGRES_POLLING_FAILED) {
    const auto failure = one_line(PQerrorMessage(connection_.get()));
    connection_.reset();
    if (interruption() == 0 && PQpingParams(names.data(), values.data(), 0) == PQPING_REJECT) {
      throw NotReady(fmt::format("PostgreSQL at {}: {}", server.address(), failure));
    }
    throw DatabaseError(fmt::format("PostgreSQL at {}: {}; {}", server.address(), failure, hint(failure, settings_)));
  }
  PQsetnonblocking(connection_.get(), 1);
  PQsetNoticeProcessor(
      connection_.get(), [](void*, const char*) {}, nullptr);
}

std::string PostgresConnection::server_version_name() const {
  const char* const name = PQparameterStatus(connection_.get(), "server_version");
  const std::string text = name == nullptr ? "unknown" : name;
  return text.substr(0, text.find(' '));
}

PostgresConnection::Deadline PostgresConnection::operation_deadline() const {
  return Clock::now() + std::chrono::milliseconds(settings_.server.timeout_ms);
}

// Returns false if the deadline has passed or an interruption came.
bool PostgresConnection::wait(short events, Deadline deadline) const {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return false;
    pollfd socket{PQsocket(connection_.get()), events, 0};
    const int ready = poll(&socket, 1, static_cast<int>(std::min(left, interruption_poll).count()));
    if (ready != 0) return true;  // libpq will report an error
    if (interruption() != 0) return false;
  }
}

void PostgresConnection::lose(bool timed_out) {
  timed_out = timed_out && interruption() == 0;
  const auto message = timed_out
                           ? fmt::format("PostgreSQL at {}: no answer within {} ms (postgres.timeout_ms)",
                                         settings_.server.address(), settings_.server.timeout_ms)
                           : fmt::format("PostgreSQL at {}: the connection broke: {}", settings_.server.address(),
                                         connection_ ? one_line(PQerrorMessage(connection_.get())) : "not connected");
  connection_.reset();
  throw LostServer(message, timed_out);
}

void PostgresConnection::flush(Deadline deadline) {
  for (;;) {
    const int left = PQflush(connection_.get());
    if (left == 0) return;
    if (left < 0) lose(false);
    if (!wait(POLLIN | POLLOUT, deadline)) lose(true);
    if (PQconsumeInput(connection_.get()) == 0) lose(false);
  }
}

PostgresResult PostgresConnection::next(Deadline deadline) {
  while (PQisBusy(connection_.get()) != 0) {
    if (!wait(POLLIN, deadline)) lose(true);
    if (PQconsumeInput(connection_.get()) == 0) lose(false);
  }
  return PostgresResult(PQgetResult(connection_.get()));
}

// Returns the first result that is an error, otherwise the last result.
PostgresResult PostgresConnection::last(Deadline deadline) {
  flush(deadline);
  PostgresResult kept;
  while (auto result = next(deadline)) {
    if (!kept || is_ok(kept.get())) kept = std::move(result);
    if (PQresultStatus(kept.get()) == PGRES_COPY_IN) break;
  }
  if (!kept || PQstatus(connection_.get()) == CONNECTION_BAD) lose(false);
  return kept;
}

void PostgresConnection::sent(int accepted) {
  if (accepted == 0) lose(false);
}

PostgresResult PostgresConnection::ask(const std::string& sql) {
  if (!connection_) lose(false);
  sent(PQsendQuery(connection_.get(), sql.c_str()));
  return last(operation_deadline());
}

PostgresResult PostgresConnection::prepare(const std::string& name, const std::string& sql) {
  if (!connection_) lose(false);
  sent(PQsendPrepare(connection_.get(), name.c_str(), sql.c_str(), 0, nullptr));
  return last(operation_deadline());
}

PostgresResult PostgresConnection::run(const std::string& name, const PostgresParameters& parameters) {
  if (!connection_) lose(false);
  sent(PQsendQueryPrepared(connection_.get(), name.c_str(), parameters.count(), parameters.values(),
                           parameters.lengths(), parameters.formats(), 1));
  return last(operation_deadline());
}

PostgresResult PostgresConnection::copy_in(const std::string& sql, std::string_view bytes) {
  constexpr std::size_t part_bytes = 65536;
  auto begun = ask(sql);
  if (PQresultStatus(begun.get()) != PGRES_COPY_IN) return begun;
  const auto deadline = operation_deadline();
  while (!bytes.empty()) {
    const auto part = bytes.substr(0, part_bytes);
    const int taken = PQputCopyData(connection_.get(), part.data(), static_cast<int>(part.size()));
    if (taken < 0) lose(false);
    if (taken == 0) {
      flush(deadline);
      continue;
    }
    bytes.remove_prefix(part.size());
  }
  for (int ended = 0; (ended = PQputCopyEnd(connection_.get(), nullptr)) != 1; flush(deadline)) {
    if (ended < 0) lose(false);
  }
  return last(deadline);
}

}  // namespace edgejoule::driver
