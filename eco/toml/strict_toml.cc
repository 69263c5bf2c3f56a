#include "strict_toml.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace eco {

struct StrictToml::Node {
  std::shared_ptr<const toml::table> root;  // owns `table`
  const toml::table* table;
  std::string file, path;
  std::vector<std::string> known{}, retired{};

  // The key's value; nullptr: absent. Marks the key as known.
  const toml::node* get(std::string_view key) {
    if (std::ranges::find(known, key) == known.end()) known.emplace_back(key);
    return table->get(key);
  }
};

StrictToml::StrictToml(std::unique_ptr<Node> node) : node_(std::move(node)) {}
StrictToml::~StrictToml() = default;
StrictToml::StrictToml(StrictToml&&) noexcept = default;
StrictToml& StrictToml::operator=(StrictToml&&) noexcept = default;

namespace {

template <typename Parse>
std::shared_ptr<const toml::table> parsed(const std::string& file, Parse parse) {
  try {
    return std::make_shared<const toml::table>(parse());
  } catch (const toml::parse_error& error) {
    throw TomlError(fmt::format("{}:{}: {}", file, error.source().begin.line, error.description()));
  }
}

}  // namespace

StrictToml::StrictToml(const std::filesystem::path& file) {
  if (std::filesystem::is_directory(file)) throw TomlError(fmt::format("{}: is a directory", file.string()));
  if (!std::filesystem::is_regular_file(file)) throw TomlError(fmt::format("{}: no such file", file.string()));
  const auto root = parsed(file.string(), [&] { return toml::parse_file(file.string()); });
  node_ = std::make_unique<Node>(Node{root, root.get(), file.string(), ""});
}

StrictToml StrictToml::parse(const std::string& text, const std::string& file) {
  const auto root = parsed(file, [&] { return toml::parse(text); });
  return StrictToml(std::make_unique<Node>(Node{root, root.get(), file, ""}));
}

std::string StrictToml::where(std::string_view key) const {
  const toml::node* at = node_->table->get(key);
  return fmt::format("{}:{}", node_->file, (at == nullptr ? node_->table : at)->source().begin.line);
}

void StrictToml::fail(std::string_view key, std::string_view expected) const {
  throw TomlError(fmt::format("{}: {}{}: {}", where(key), node_->path, key, expected));
}

bool StrictToml::has(std::string_view key) { return node_->get(key) != nullptr; }

double StrictToml::number(std::string_view key, double least) {
  const toml::node* node = node_->get(key);
  const auto value = node != nullptr && node->is_number() ? node->value<double>() : std::nullopt;
  if (!value || !(*value >= least)) fail(key, fmt::format("expected a number, {} or more", least));
  return *value;
}

double StrictToml::number(std::string_view key, double least, double otherwise) {
  return has(key) ? number(key, least) : otherwise;
}

std::string StrictToml::text(std::string_view key) {
  std::string value;
  if (!read(key, value) || value.empty()) fail(key, "expected a string that is not empty");
  return value;
}

std::string StrictToml::text(std::string_view key, std::string otherwise) {
  return has(key) ? text(key) : std::move(otherwise);
}

std::vector<double> StrictToml::numbers(std::string_view key, double least, std::vector<double> otherwise) {
  if (!has(key)) return otherwise;
  std::vector<double> all;
  const auto take = [&](const toml::node& node) {
    const auto value = node.value<double>();
    if (!value || !(*value >= least)) fail(key, fmt::format("expected numbers, {} or more", least));
    all.push_back(*value);
  };
  const toml::node& node = *node_->table->get(key);
  if (const toml::array* array = node.as_array())
    for (const toml::node& one : *array) take(one);
  else
    take(node);
  if (all.empty()) fail(key, "expected at least one number");
  return all;
}

std::vector<std::string> StrictToml::texts(std::string_view key, std::vector<std::string> otherwise) {
  std::vector<std::string> all;
  if (!read(key, all)) return otherwise;
  if (all.empty()) fail(key, "expected at least one string");
  return all;
}

std::vector<StrictToml> StrictToml::tables(std::string_view key) {
  std::vector<StrictToml> all;
  if (!has(key)) return all;
  const toml::array* array = node_->table->get(key)->as_array();
  if (array == nullptr || !array->is_homogeneous(toml::node_type::table))
    fail(key, fmt::format("expected [[{}]]", key));
  for (const toml::node& one : *array)
    all.push_back(StrictToml(std::make_unique<Node>(
        Node{node_->root, one.as_table(), node_->file, fmt::format("{}{}[{}].", node_->path, key, all.size())})));
  return all;
}

StrictToml StrictToml::table(std::string_view key) {
  static const toml::table empty;
  const toml::node* found = node_->get(key);
  if (found != nullptr && !found->is_table()) fail(key, fmt::format("expected a table, [{}]", key));
  return StrictToml(std::make_unique<Node>(Node{node_->root, found == nullptr ? &empty : found->as_table(), node_->file,
                                                fmt::format("{}{}.", node_->path, key)}));
}

std::map<std::string, StrictToml> StrictToml::named_tables(std::string_view key) {
  std::map<std::string, StrictToml> all;
  StrictToml outer = table(key);
  for (const auto& [name, value] : *outer.node_->table) all.emplace(name.str(), outer.table(name.str()));
  return all;
}

std::map<std::string, std::string> StrictToml::named_texts(std::string_view key) {
  std::map<std::string, std::string> all;
  StrictToml outer = table(key);
  for (const auto& [name, value] : *outer.node_->table) all.emplace(name.str(), outer.text(name.str()));
  return all;
}

bool StrictToml::read(std::string_view key, std::string& field) {
  const toml::node* node = node_->get(key);
  if (node == nullptr) return false;
  if (!node->is_string()) fail(key, "expected a string, in quotes");
  field = *node->value<std::string>();
  return true;
}

bool StrictToml::read(std::string_view key, bool& field) {
  const toml::node* node = node_->get(key);
  if (node == nullptr) return false;
  if (!node->is_boolean()) fail(key, "expected true or false");
  field = *node->value<bool>();
  return true;
}

bool StrictToml::read(std::string_view key, std::int64_t& field) {
  const toml::node* node = node_->get(key);
  if (node == nullptr) return false;
  if (!node->is_integer() || *node->value<std::int64_t>() < 0) fail(key, "expected a whole number, 0 or more");
  field = *node->value<std::int64_t>();
  return true;
}

bool StrictToml::read(std::string_view key, double& field) {
  if (!has(key)) return false;
  const double value = number(key, 0);
  if (!std::isfinite(value)) fail(key, "expected a number, 0 or more");
  field = value;
  return true;
}

bool StrictToml::read(std::string_view key, std::vector<std::string>& field) {
  const toml::node* node = node_->get(key);
  if (node == nullptr) return false;
  const toml::array* array = node->as_array();
  if (array == nullptr) fail(key, "expected a list of strings");
  field.clear();
  for (const toml::node& one : *array) {
    if (!one.is_string()) fail(key, "expected a list of strings");
    field.push_back(*one.value<std::string>());
  }
  return true;
}

bool StrictToml::read(std::string_view key, std::map<std::string, std::string>& field) {
  if (!has(key)) return false;
  StrictToml table_of_strings = table(key);
  field.clear();
  for (const auto& [name, value] : *table_of_strings.node_->table)
    table_of_strings.read(name.str(), field[std::string(name.str())]);
  return true;
}

void StrictToml::retired(std::string_view key, std::string_view why, std::vector<std::string>& warnings) {
  node_->retired.emplace_back(key);
  if (node_->table->contains(key))
    warnings.push_back(fmt::format("{}: {}{}: has no effect, {}; remove the line", where(key), node_->path, key, why));
}

void StrictToml::done() const {
  const auto is_in = [](const std::vector<std::string>& keys, std::string_view key) {
    return std::ranges::find(keys, key) != keys.end();
  };
  const std::string& path = node_->path;
  const std::string table = path.empty() ? "the top of the file" : fmt::format("[{}]", path.substr(0, path.size() - 1));
  for (const auto& [key, value] : *node_->table)
    if (!is_in(node_->known, key.str()) && !is_in(node_->retired, key.str()))
      fail(key.str(), fmt::format("unknown key; {} knows {}", table, fmt::join(node_->known, ", ")));
}

}  // namespace eco
