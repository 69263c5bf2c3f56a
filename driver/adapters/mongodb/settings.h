// The settings for MongoDB, derived from the options.
#pragma once

#include <mongoc/mongoc.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "adapters/server/server_options.h"

namespace edgejoule::driver {

enum class MongoKeyType : std::uint8_t { text, integer, blob };

struct MongoSettings {
  ServerOptions server;               // of the first host; `password` is in `uri`
  std::shared_ptr<mongoc_uri_t> uri;  // may contain a password, so it is never shown
  std::shared_ptr<int> certificate;   // descriptor of the file named in `uri`
  std::string address;                // of all hosts
  std::string database;
  std::string collection;
  MongoKeyType key_type = MongoKeyType::text;
  bool text_fields = false;  // strings; otherwise binary values, as in YCSB's binding
  bool raw_rows = false;     // one field without a name
  std::string w;             // a number of nodes, "majority", or a name defined in the replica set
  bool journal = false;
  bool journal_set = false;
  std::uint64_t wtimeout_ms = 0;
  std::string read_concern;  // "": the server's default
  std::string read_preference;
  std::uint64_t max_time_ms = 0;
  bool upserts = false;  // inserts are performed as upserts
};

[[nodiscard]] const std::vector<OptionHelp>& mongo_option_help();

// Throws UsageError.
[[nodiscard]] MongoSettings mongo_settings(const Properties& properties, Durability durability);

// The field's name in a document.
[[nodiscard]] std::string_view mongo_field(std::string_view name);

// For Database::options(), without credentials.
[[nodiscard]] std::map<std::string, std::string> shown(const MongoSettings& settings);

}  // namespace edgejoule::driver
