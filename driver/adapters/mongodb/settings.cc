#include "settings.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <sstream>

#include "adapters/adapter_options.h"
#include "contract/properties.h"

namespace edgejoule::driver {
namespace {

constexpr std::uint16_t mongo_port = 27017;
constexpr std::array<std::string_view, 6> read_concerns = {"",         "local",        "available",
                                                           "majority", "linearizable", "snapshot"};
constexpr std::array<std::string_view, 5> read_preferences = {"primary", "primarypreferred", "secondary",
                                                              "secondarypreferred", "nearest"};
constexpr std::array<std::string_view, 3> key_types = {"text", "integer", "blob"};
constexpr std::array<std::string_view, 2> field_types = {"text", "blob"};
constexpr std::uint64_t wait_ms_max = 3'600'000;

// An option of this adapter and its name in a connection string.
struct Pair {
  const char* option;
  const char* in_uri;
};

// Options that exclude a connection string.
constexpr std::array<const char*, 7> instead_of_uri = {
    "mongodb.host",         "mongodb.port",          "mongodb.user",         "mongodb.password",
    "mongodb.password_env", "mongodb.password_file", "mongodb.auth_database"};

// Initialises libmongoc once, and silences its messages on standard error.
void begin_library() {
  static const bool begun = [] {
    mongoc_log_set_handler(nullptr, nullptr);
    mongoc_init();
    return true;
  }();
  (void)begun;
}

std::string named_uri(const Properties& properties) {
  if (properties.has("mongodb.uri") && properties.has("mongodb.url")) {
    throw UsageError("expected one of mongodb.uri and mongodb.url (YCSB's name of it), not both");
  }
  return properties.get("mongodb.uri", properties.get("mongodb.url", ""));
}

// libmongoc's error messages may quote the string, and with it a password.
std::shared_ptr<mongoc_uri_t> parsed(const Properties& properties, const std::string& text) {
  const std::string option = properties.has("mongodb.uri") ? "mongodb.uri" : "mongodb.url";
  const auto refuse = [&](std::string_view why) {
    throw UsageError(fmt::format(
        "{}: property {} (not shown: it may hold a password): {}; expected "
        "mongodb://[USER:PASSWORD@]HOST[:PORT][,...][/DATABASE][?OPTION=VALUE&...], reserved characters as %XX",
        properties.origin(option), option, why));
  };
  bson_error_t error;
  std::shared_ptr<mongoc_uri_t> uri(mongoc_uri_new_with_error(text.c_str(), &error), mongoc_uri_destroy);
  if (!uri) refuse("not a MongoDB connection string");
  for (const char* const name : {MONGOC_URI_RETRYWRITES, MONGOC_URI_RETRYREADS}) {
    if (mongoc_uri_get_option_as_bool(uri.get(), name, false)) {
      refuse(fmt::format("{}=true: a retried operation would be counted once", name));
    }
  }
  for (const char* const option_there : instead_of_uri) {
    if (properties.has(option_there)) refuse(fmt::format("it repeats {}; set only one", option_there));
  }
  return uri;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    const bool plain = std::isalnum(byte) != 0 || letter == '-' || letter == '.' || letter == '_';
    out += plain ? std::string(1, letter) : fmt::format("%{:02X}", byte);
  }
  return out;
}

std::shared_ptr<mongoc_uri_t> built(const Properties& properties, const ServerOptions& server) {
  const bool is_ip6 = !server.is_socket() && server.host.find(':') != std::string::npos;
  const auto host = is_ip6               ? fmt::format("[{}]:{}", server.host, server.port)
                    : server.is_socket() ? escaped(server.host)
                                         : fmt::format("{}:{}", server.host, server.port);
  bson_error_t error;
  std::shared_ptr<mongoc_uri_t> uri(mongoc_uri_new_with_error(("mongodb://" + host + "/").c_str(), &error),
                                    mongoc_uri_destroy);
  if (!uri) throw UsageError(fmt::format("mongodb.host={}: {}", server.host, error.message));
  if (!server.user.empty()) {
    mongoc_uri_set_username(uri.get(), server.user.c_str());
    mongoc_uri_set_password(uri.get(), server.password.c_str());
    mongoc_uri_set_auth_source(uri.get(), properties.get("mongodb.auth_database", "admin").c_str());
  } else if (!server.password.empty()) {
    throw UsageError("a password needs a user: set mongodb.user too");
  }
  return uri;
}

// An option takes precedence over the connection string, and both over the default.
void take_time(const Properties& properties, mongoc_uri_t* uri, Pair pair, std::uint64_t& value_ms) {
  if (!properties.has(pair.option) && mongoc_uri_has_option(uri, pair.in_uri)) {
    value_ms = static_cast<std::uint64_t>(std::max(1, mongoc_uri_get_option_as_int32(uri, pair.in_uri, 1)));
  }
  mongoc_uri_set_option_as_int32(uri, pair.in_uri, static_cast<std::int32_t>(value_ms));
}

void take_hosts(MongoSettings& settings) {
  bool is_local = true;
  for (const auto* host = mongoc_uri_get_hosts(settings.uri.get()); host != nullptr; host = host->next) {
    if (!settings.address.empty()) settings.address += ',';
    settings.address += host->host_and_port;
    settings.server.host = host->host;
    settings.server.port = host->port;
    is_local = is_local && settings.server.is_local();
  }
  // Some hosts are on other machines.
  if (!is_local && settings.server.is_local()) settings.server.host = settings.address;
  if (const char* const service = mongoc_uri_get_srv_hostname(settings.uri.get())) {
    settings.server.host = settings.address = service;
  }
}

// libmongoc reads certificate and key from one file. This creates it in memory, where no other process can open it.
std::shared_ptr<int> joined(const std::string& certificate, const std::string& key) {
  const std::shared_ptr<int> file(new int(memfd_create("edgejoule-tls", MFD_CLOEXEC)), [](int* descriptor) {
    if (*descriptor >= 0) close(*descriptor);
    delete descriptor;
  });
  std::ostringstream both;
  both << std::ifstream(certificate).rdbuf() << '\n' << std::ifstream(key).rdbuf();
  const auto bytes = std::move(both).str();
  if (*file < 0 || write(*file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    throw UsageError(fmt::format("mongodb.tls_key_file={}: cannot be kept in memory", key));
  }
  return file;
}

void take_tls(const Properties& properties, MongoSettings& settings) {
  auto& server = settings.server;
  auto* const uri = settings.uri.get();
  if (!properties.has("mongodb.tls")) server.tls = mongoc_uri_get_tls(uri);
  for (const char* name : {"mongodb.tls_ca_file", "mongodb.tls_cert_file", "mongodb.tls_key_file"}) {
    if (properties.has(name) && !server.tls) {
      throw UsageError(
          fmt::format("{}: property {} has no effect without mongodb.tls=true", properties.origin(name), name));
    }
  }
  if (!server.tls_key_file.empty() && server.tls_cert_file.empty()) {
    throw UsageError("mongodb.tls_key_file is the key of a certificate: set mongodb.tls_cert_file too");
  }
  if (!server.tls) return;
  mongoc_uri_set_option_as_bool(uri, MONGOC_URI_TLS, true);
  if (!server.tls_verify) mongoc_uri_set_option_as_bool(uri, MONGOC_URI_TLSINSECURE, true);
  if (!server.tls_ca_file.empty()) {
    mongoc_uri_set_option_as_utf8(uri, MONGOC_URI_TLSCAFILE, server.tls_ca_file.c_str());
  }
  auto certificate = server.tls_cert_file;
  if (!server.tls_key_file.empty()) {
    settings.certificate = joined(certificate, server.tls_key_file);
    certificate = fmt::format("/proc/self/fd/{}", *settings.certificate);
  }
  if (!certificate.empty()) mongoc_uri_set_option_as_utf8(uri, MONGOC_URI_TLSCERTIFICATEKEYFILE, certificate.c_str());
}

std::string nodes_in(const mongoc_uri_t* uri) {
  const auto* const concern = mongoc_uri_get_write_concern(uri);
  if (mongoc_write_concern_get_wmajority(concern)) return "majority";
  if (const char* const name = mongoc_write_concern_get_wtag(concern)) return name;
  return fmt::format("{}", mongoc_uri_has_option(uri, MONGOC_URI_W) ? mongoc_write_concern_get_w(concern) : 1);
}

void take_write_concern(const Properties& properties, Durability durability, MongoSettings& settings) {
  const auto* const in_uri = mongoc_uri_get_write_concern(settings.uri.get());
  settings.w = properties.get("mongodb.w", nodes_in(settings.uri.get()));
  if (settings.w.empty() || settings.w == "0" || settings.w.starts_with('-')) {
    throw UsageError(
        fmt::format("mongodb.w={}: an unacknowledged write cannot be counted; expected a number "
                    "of nodes (at least 1), majority, or a write concern that the replica set defines",
                    settings.w));
  }
  settings.journal_set = properties.has("mongodb.journal") || mongoc_write_concern_journal_is_set(in_uri);
  settings.journal = mongoc_write_concern_journal_is_set(in_uri) ? mongoc_write_concern_get_journal(in_uri)
                                                                 : durability != Durability::none;
  settings.journal = properties.get_bool("mongodb.journal", settings.journal);
  const auto timeout_ms = std::max<std::int64_t>(0, mongoc_write_concern_get_wtimeout_int64(in_uri));
  settings.wtimeout_ms =
      bounded_option(properties, "mongodb.wtimeout_ms", static_cast<std::uint64_t>(timeout_ms), 0, wait_ms_max);
}

void take_reads(const Properties& properties, MongoSettings& settings) {
  const char* const level = mongoc_read_concern_get_level(mongoc_uri_get_read_concern(settings.uri.get()));
  settings.read_concern =
      choice_option(properties, "mongodb.read_concern", level == nullptr ? "" : level, read_concerns);
  constexpr std::array<Pair, 5> modes = {{{"primary", "primary"},
                                          {"primarypreferred", "primaryPreferred"},
                                          {"secondary", "secondary"},
                                          {"secondarypreferred", "secondaryPreferred"},
                                          {"nearest", "nearest"}}};
  const char* const in_uri = mongoc_uri_get_option_as_utf8(settings.uri.get(), MONGOC_URI_READPREFERENCE, "primary");
  const auto chosen = choice_option(properties, "mongodb.read_preference", in_uri, read_preferences);
  for (const auto& [lower, spelled] : modes) {
    if (chosen == lower) settings.read_preference = spelled;
  }
}

void check_name(std::string_view option, const std::string& name, std::string_view forbidden) {
  const bool wrong = name.empty() || name.find_first_of(forbidden) != std::string::npos ||
                     name.find('\0') != std::string::npos || name.starts_with("system.");
  if (wrong) throw UsageError(fmt::format("{}={}: MongoDB does not allow this name", option, name));
}

void check_field(const std::string& name) {
  if (name != "_id" && !name.starts_with('$') && name.find('.') == std::string::npos) return;
  throw UsageError(fmt::format("field name \"{}\": MongoDB reserves it; see fieldnameprefix", name));
}

}  // namespace

std::string_view mongo_field(std::string_view name) { return name.empty() ? "value" : name; }

const std::vector<OptionHelp>& mongo_option_help() {
  static const auto options = [] {
    auto all = server_option_help("mongodb", mongo_port);
    all.insert(
        all.end(),
        {{"mongodb.uri", "connection string instead of host, port and user: mongodb://HOST,HOST/?replicaSet=NAME", ""},
         {"mongodb.url", "YCSB's name for mongodb.uri", ""},
         {"mongodb.database", "name of the database", "the connection string's, else ycsb"},
         {"mongodb.collection", "name of the collection", "property table, else usertable"},
         {"mongodb.auth_database", "database in which the user is defined", "admin"},
         {"mongodb.w", "nodes that must confirm a write before it is acknowledged, or majority", "1"},
         {"mongodb.journal", "acknowledge a write after the journal is synced (j)", "by durability class"},
         {"mongodb.wtimeout_ms", "time limit for the confirmations of mongodb.w; 0: that of the operation", "0"},
         {"mongodb.read_concern", "local, available, majority, linearizable or snapshot", "the server's"},
         {"mongodb.read_preference", "primary, primaryPreferred, secondary, secondaryPreferred or nearest", "primary"},
         {"mongodb.max_time_ms", "time limit of a read in the server (maxTimeMS); 0: none", "0"},
         {"mongodb.upsert", "an insert replaces a record with the same key, like YCSB's mongodb.upsert", "false"}});
    return all;
  }();
  return options;
}

MongoSettings mongo_settings(const Properties& properties, Durability durability) {
  refuse_unknown_options(properties, "mongodb", mongo_option_help());
  begin_library();
  MongoSettings settings;
  settings.server = server_options(properties, "mongodb", mongo_port);
  const auto text = named_uri(properties);
  settings.uri = text.empty() ? built(properties, settings.server) : parsed(properties, text);
  auto* const uri = settings.uri.get();
  settings.server.password.clear();
  if (const char* const user = mongoc_uri_get_username(uri)) settings.server.user = user;
  take_hosts(settings);
  take_tls(properties, settings);
  take_time(properties, uri, {"mongodb.connect_timeout_ms", MONGOC_URI_CONNECTTIMEOUTMS},
            settings.server.connect_timeout_ms);
  take_time(properties, uri, {"mongodb.timeout_ms", MONGOC_URI_SOCKETTIMEOUTMS}, settings.server.timeout_ms);
  mongoc_uri_set_option_as_int32(uri, MONGOC_URI_SERVERSELECTIONTIMEOUTMS,
                                 static_cast<std::int32_t>(settings.server.connect_timeout_ms));
  mongoc_uri_set_option_as_bool(uri, MONGOC_URI_RETRYWRITES, false);
  mongoc_uri_set_option_as_bool(uri, MONGOC_URI_RETRYREADS, false);
  mongoc_uri_set_appname(uri, "edgejoule-driver");
  const char* const in_uri = mongoc_uri_get_database(uri);
  settings.database = properties.get("mongodb.database", in_uri == nullptr ? "ycsb" : in_uri);
  settings.collection = properties.get("mongodb.collection", properties.get("table", "usertable"));
  check_name("mongodb.database", settings.database, "/\\. \"$");
  check_name("mongodb.collection", settings.collection, "$");
  const auto names = workload_field_names(properties);
  settings.raw_rows = names.size() == 1 && names.front().empty();
  for (const auto& name : names) check_field(name);
  const auto key_type = choice_option(properties, "keytype", "text", key_types);
  settings.key_type = key_type == "text"      ? MongoKeyType::text
                      : key_type == "integer" ? MongoKeyType::integer
                                              : MongoKeyType::blob;
  settings.text_fields = choice_option(properties, "fieldtype", "blob", field_types) == "text";
  take_write_concern(properties, durability, settings);
  take_reads(properties, settings);
  settings.max_time_ms = bounded_option(properties, "mongodb.max_time_ms", 0, 0, wait_ms_max);
  settings.upserts = properties.get_bool("mongodb.upsert", false);
  return settings;
}

std::map<std::string, std::string> shown(const MongoSettings& settings) {
  auto all = shown(settings.server);
  all["address"] = settings.address;
  all["database"] = settings.database;
  all["collection"] = settings.collection;
  all["w"] = settings.w;
  all["j"] = settings.journal ? "true" : "false";
  if (settings.wtimeout_ms > 0) all["wtimeout"] = std::to_string(settings.wtimeout_ms);
  all["readConcern"] = settings.read_concern.empty() ? "the server's" : settings.read_concern;
  all["readPreference"] = settings.read_preference;
  if (settings.max_time_ms > 0) all["maxTimeMS"] = std::to_string(settings.max_time_ms);
  all["retryWrites"] = all["retryReads"] = "false";
  if (settings.upserts) all["upsert"] = "true";
  const char* const replica_set = mongoc_uri_get_replica_set(settings.uri.get());
  if (replica_set != nullptr) all["replicaSet"] = replica_set;
  return all;
}

}  // namespace edgejoule::driver
