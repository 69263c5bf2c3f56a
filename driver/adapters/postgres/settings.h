// The settings for PostgreSQL, derived from the options and the durability class.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "adapters/server/server_options.h"

namespace edgejoule::driver {

enum class PostgresKeyType : std::uint8_t { text, integer, blob };

struct PostgresCitus {
  std::string distribution_column;
  std::uint64_t shard_count = 0;
  std::uint64_t shard_replication_factor = 0;
};

struct PostgresSettings {
  ServerOptions server;
  std::string database;
  std::string table;
  std::vector<std::string> field_names;
  PostgresKeyType key_type = PostgresKeyType::text;
  bool blob_fields = false;
  std::string synchronous_commit;
  bool synchronous_commit_set = false;  // set by an option, not by the class
  bool copies = true;                   // batches use COPY
  std::optional<PostgresCitus> citus;
};

[[nodiscard]] const std::vector<OptionHelp>& postgres_option_help();

// Throws UsageError.
[[nodiscard]] PostgresSettings postgres_settings(const Properties& properties, Durability durability);

// A column's name in SQL, in lower case: PostgreSQL folds the names written by YCSB's JDBC binding. Throws UsageError.
[[nodiscard]] std::string postgres_column(std::string_view field);

}  // namespace edgejoule::driver
