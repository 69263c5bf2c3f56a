#include "settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "adapters/adapter_options.h"
#include "contract/properties.h"

namespace edgejoule::driver {
namespace {

constexpr std::uint16_t postgres_port = 5432;
constexpr std::array<std::string_view, 5> commits = {"off", "local", "remote_write", "on", "remote_apply"};
constexpr std::array<std::string_view, 2> batches = {"copy", "insert"};
constexpr std::array<std::string_view, 3> key_types = {"text", "integer", "blob"};
constexpr std::array<std::string_view, 2> field_types = {"text", "blob"};

bool is_of_a_word(unsigned char letter) { return std::isalnum(letter) != 0 || letter == '_'; }

std::string table_of(const Properties& properties) {
  auto table = properties.get("table", "usertable");
  if (table.empty() || !std::ranges::all_of(table, is_of_a_word)) {
    throw UsageError(fmt::format("{}: property table={}: expected letters, digits and underscores",
                                 properties.origin("table"), table));
  }
  std::ranges::transform(table, table.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return table;
}

std::optional<PostgresCitus> citus_of(const Properties& properties) {
  constexpr std::array<const char*, 3> names = {"postgres.distribution_column", "postgres.shard_count",
                                                "postgres.shard_replication_factor"};
  if (properties.get_bool("postgres.citus", false)) {
    return PostgresCitus{postgres_column(properties.get(names[0], "YCSB_KEY")),
                         bounded_option(properties, names[1], 32, 1, 64000),
                         bounded_option(properties, names[2], 1, 1, 100)};
  }
  for (const char* name : names) {
    if (properties.has(name)) {
      throw UsageError(
          fmt::format("{}: property {} belongs to Citus; set postgres.citus=true too", properties.origin(name), name));
    }
  }
  return std::nullopt;
}

}  // namespace

std::string postgres_column(std::string_view field) {
  if (field.empty()) return "\"value\"";  // for a raw row
  std::string name(field);
  if (!std::ranges::all_of(name, is_of_a_word)) {
    throw UsageError(fmt::format("field name \"{}\": expected letters, digits and underscores", field));
  }
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return fmt::format("\"{}\"", name);
}

const std::vector<OptionHelp>& postgres_option_help() {
  static const auto options = [] {
    auto all = server_option_help("postgres", postgres_port);
    all.insert(
        all.end(),
        {{"postgres.database", "name of the database", "ycsb"},
         {"postgres.synchronous_commit", "off, local, remote_write, on or remote_apply", "by durability class"},
         {"postgres.batch", "how a batch is written: copy (COPY) or insert (INSERTs in one transaction)", "copy"},
         {"postgres.citus", "distribute the table over the workers of a Citus coordinator", "false"},
         {"postgres.distribution_column", "column whose hash selects the shard (Citus)", "YCSB_KEY"},
         {"postgres.shard_count", "shards of the table (Citus)", "32"},
         {"postgres.shard_replication_factor", "copies of each shard, on different workers (Citus)", "1"}});
    return all;
  }();
  return options;
}

PostgresSettings postgres_settings(const Properties& properties, Durability durability) {
  refuse_unknown_options(properties, "postgres", postgres_option_help());
  PostgresSettings settings;
  settings.server = server_options(properties, "postgres", postgres_port);
  settings.database = properties.get("postgres.database", "ycsb");
  settings.table = table_of(properties);
  settings.field_names = workload_field_names(properties);
  for (const auto& name : settings.field_names) (void)postgres_column(name);
  const auto key_type = choice_option(properties, "keytype", "text", key_types);
  settings.key_type = key_type == "text"      ? PostgresKeyType::text
                      : key_type == "integer" ? PostgresKeyType::integer
                                              : PostgresKeyType::blob;
  settings.blob_fields = choice_option(properties, "fieldtype", "text", field_types) == "blob";
  settings.synchronous_commit =
      choice_option(properties, "postgres.synchronous_commit", durability == Durability::none ? "off" : "on", commits);
  settings.synchronous_commit_set = properties.has("postgres.synchronous_commit");
  settings.copies = choice_option(properties, "postgres.batch", "copy", batches) == "copy";
  settings.citus = citus_of(properties);
  return settings;
}

}  // namespace edgejoule::driver
