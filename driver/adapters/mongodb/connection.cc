#include "connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace edgejoule::driver {
namespace {

// Error codes of the server (error_codes.yml in its sources).
constexpr std::int64_t authentication_failed = 18;
constexpr std::int64_t unauthorized = 13;
constexpr std::array<std::int64_t, 8> busy_codes = {24, 46, 50, 112, 202, 262, 11601, 290};
// The server shuts down or is no longer primary.
constexpr std::array<std::int64_t, 7> leaving_codes = {91, 189, 10107, 11600, 11602, 13435, 13436};

bool is_one_of(std::span<const std::int64_t> codes, std::int64_t code) {
  return std::ranges::find(codes, code) != codes.end();
}

mongoc_read_mode_t mode_of(const std::string& preference) {
  if (preference == "primaryPreferred") return MONGOC_READ_PRIMARY_PREFERRED;
  if (preference == "secondary") return MONGOC_READ_SECONDARY;
  if (preference == "secondaryPreferred") return MONGOC_READ_SECONDARY_PREFERRED;
  return preference == "nearest" ? MONGOC_READ_NEAREST : MONGOC_READ_PRIMARY;
}

bool is_of_the_way(const bson_error_t& error) {
  return error.domain == MONGOC_ERROR_STREAM || error.domain == MONGOC_ERROR_SERVER_SELECTION ||
         error.domain == MONGOC_ERROR_PROTOCOL;
}

std::string message_of(const bson_error_t& error) { return error.message; }

}  // namespace

bool MongoRefusal::is_busy() const { return is_one_of(busy_codes, code); }

MongoConnection::MongoConnection(const MongoSettings& settings)
    : settings_(settings), preference_(mongoc_read_prefs_new(mode_of(settings.read_preference))) {
  auto* const concern = write_concern_.get();
  std::int32_t nodes = 0;
  const auto* const end = settings.w.data() + settings.w.size();
  const auto [parsed, failure] = std::from_chars(settings.w.data(), end, nodes);
  if (failure == std::errc{} && parsed == end) {
    bson_append_int32(concern, "w", 1, nodes);
  } else {
    append(concern, "w", std::string_view(settings.w));
  }
  append(concern, "j", settings.journal);
  if (settings.wtimeout_ms > 0) append(concern, "wtimeout", static_cast<std::int64_t>(settings.wtimeout_ms));
}

// Creates a new client each time, because libmongoc waits seconds before it retries a server that was away.
void MongoConnection::connect() {
  collection_.reset();
  client_.reset();
  client_.reset(mongoc_client_new_from_uri(settings_.uri.get()));
  const auto& server = settings_.server;
  if (!client_) {
    throw DatabaseError(
        fmt::format("mongodb: server at {}: TLS: do mongodb.tls_ca_file, mongodb.tls_cert_file and "
                    "mongodb.tls_key_file hold what their names say?",
                    settings_.address));
  }
  mongoc_client_set_error_api(client_.get(), MONGOC_ERROR_API_VERSION_2);
  collection_.reset(
      mongoc_client_get_collection(client_.get(), settings_.database.c_str(), settings_.collection.c_str()));
  MongoDocument ping;
  MongoDocument reply;
  bson_append_int32(ping.get(), "ping", 4, 1);
  bson_error_t error{};
  if (mongoc_client_command_simple(client_.get(), "admin", ping.get(), preference_.get(), reply.taken(), &error))
    return;
  const auto message = message_of(error);
  if (error.domain == MONGOC_ERROR_SERVER && is_one_of(leaving_codes, error.code)) {
    throw NotReady(fmt::format("mongodb: server at {}: {}", settings_.address, message));
  }
  if (is_of_the_way(error)) {
    const bool tls = server.tls && message.find("TLS") != std::string::npos;
    throw DatabaseError(
        fmt::format("mongodb: server at {}: cannot connect: {}; {}", settings_.address, message,
                    tls ? "is it a TLS port, and does mongodb.tls_ca_file hold who signed its certificate?"
                        : how_to_reach("mongodb", server) +
                              (server.tls ? "" : "; or does it listen to TLS only (mongodb.tls=true)?")));
  }
  const bool credentials = error.code == MONGOC_ERROR_CLIENT_AUTHENTICATE || error.code == authentication_failed ||
                           error.code == unauthorized || error.domain == MONGOC_ERROR_SCRAM ||
                           error.domain == MONGOC_ERROR_SASL;
  throw DatabaseError(
      fmt::format("mongodb: server at {}: {}{}", settings_.address, message,
                  credentials ? "; is it the right password for the user? See mongodb.user, mongodb.password_env, "
                                "mongodb.password_file, mongodb.auth_database"
                              : ""));
}

MongoRefusal MongoConnection::refused(const bson_error_t& error, Clock::time_point begin) {
  const bool leaving = error.domain == MONGOC_ERROR_SERVER && is_one_of(leaving_codes, error.code);
  if (!is_of_the_way(error) && !leaving) return {error.code, message_of(error)};
  const auto& server = settings_.server;
  // libmongoc reports "socket error or timeout" for both, and its clock is coarse.
  const bool timed_out =
      !leaving && Clock::now() - begin >= std::chrono::milliseconds(server.timeout_ms - server.timeout_ms / 10);
  throw LostServer(
      timed_out ? fmt::format("mongodb: server at {}: no answer within {} ms (mongodb.timeout_ms)", settings_.address,
                              server.timeout_ms)
                : fmt::format("mongodb: server at {}: the connection broke: {}", settings_.address, message_of(error)),
      timed_out);
}

bool MongoConnection::ask(const std::string& database, const bson_t* command, MongoDocument& reply,
                          MongoRefusal& refusal) {
  if (!client_) throw LostServer(fmt::format("mongodb: server at {}: not connected", settings_.address), false);
  const auto begin = Clock::now();
  bson_error_t error{};
  if (mongoc_client_command_simple(client_.get(), database.c_str(), command, preference_.get(), reply.taken(),
                                   &error)) {
    return true;
  }
  refusal = refused(error, begin);
  return false;
}

bool MongoConnection::find(const bson_t* filter, const bson_t* options, MongoDocuments& found, MongoRefusal& refusal) {
  found.clear();
  if (!client_) throw LostServer(fmt::format("mongodb: server at {}: not connected", settings_.address), false);
  const auto begin = Clock::now();
  const std::unique_ptr<mongoc_cursor_t, decltype(&mongoc_cursor_destroy)> cursor(
      mongoc_collection_find_with_opts(collection_.get(), filter, options, preference_.get()), mongoc_cursor_destroy);
  for (const bson_t* document = nullptr; mongoc_cursor_next(cursor.get(), &document);) {
    found.push_back(std::make_unique<MongoDocument>());
    bson_copy_to(document, found.back()->taken());
  }
  bson_error_t error{};
  if (!mongoc_cursor_error(cursor.get(), &error)) return true;
  refusal = refused(error, begin);
  return false;
}

MongoConnection::Batch MongoConnection::batch(bool ordered) {
  if (!client_) throw LostServer(fmt::format("mongodb: server at {}: not connected", settings_.address), false);
  MongoDocument options;
  append(options.get(), "ordered", ordered);
  append(options.get(), "writeConcern", write_concern());
  Batch batch;
  batch.bulk_.reset(mongoc_collection_create_bulk_operation_with_opts(collection_.get(), options.get()));
  return batch;
}

void MongoConnection::Batch::insert(const bson_t* document) {
  if (!failed_) failed_ = !mongoc_bulk_operation_insert_with_opts(bulk_.get(), document, nullptr, &error_);
}

void MongoConnection::Batch::replace(const bson_t* filter, const bson_t* document) {
  MongoDocument options;
  append(options.get(), "upsert", true);
  if (failed_) return;
  failed_ = !mongoc_bulk_operation_replace_one_with_opts(bulk_.get(), filter, document, options.get(), &error_);
}

bool MongoConnection::run(Batch& batch, MongoRefusal& refusal) {
  const auto begin = Clock::now();
  if (!batch.failed_) {
    MongoDocument reply;
    batch.failed_ = mongoc_bulk_operation_execute(batch.bulk_.get(), reply.taken(), &batch.error_) == 0;
  }
  if (!batch.failed_) return true;
  refusal = refused(batch.error_, begin);
  return false;
}

}  // namespace edgejoule::driver
