#include "strict_toml.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <utility>

namespace eco::sim {

struct StrictToml::Node {
  std::shared_ptr<const toml::table> root;  // owns what `table` lies in
  const toml::table* table;
  std::string file, path;
};

StrictToml::StrictToml(std::unique_ptr<Node> node) : node_(std::move(node)) {}
StrictToml::~StrictToml() = default;
StrictToml::StrictToml(StrictToml&&) noexcept = default;
StrictToml& StrictToml::operator=(StrictToml&&) noexcept = default;

StrictToml::StrictToml(const std::filesystem::path& file) {
  if (!std::filesystem::is_regular_file(file))
    throw SpecError(fmt::format("{}: expected a file, there is none", file.string()));
  try {
    auto root = std::make_shared<toml::table>(toml::parse_file(file.string()));
    node_ = std::make_unique<Node>(Node{root, root.get(), file.string(), ""});
  } catch (const toml::parse_error& error) {
    throw SpecError(fmt::format("{}:{}: {}", file.string(), error.source().begin.line, error.description()));
  }
}

void StrictToml::fail(std::string_view key, std::string_view expected) const {
  const toml::node* at = node_->table->get(key);
  if (at == nullptr) at = node_->table;
  throw SpecError(fmt::format("{}:{}: {}{}: {}", node_->file, at->source().begin.line, node_->path, key, expected));
}

bool StrictToml::has(std::string_view key) const { return node_->table->contains(key); }

double StrictToml::number(std::string_view key, double least) {
  read_.emplace(key);
  const auto value = (*node_->table)[key].value<double>();
  if (!value || (*node_->table)[key].is_boolean() || !(*value >= least))
    fail(key, fmt::format("expected a number, {} or more", least));
  return *value;
}

double StrictToml::number(std::string_view key, double least, double otherwise) {
  return has(key) ? number(key, least) : otherwise;
}

std::string StrictToml::text(std::string_view key) {
  read_.emplace(key);
  const auto value = (*node_->table)[key].value<std::string>();
  if (!value || value->empty()) fail(key, "expected a text");
  return *value;
}

std::string StrictToml::text(std::string_view key, std::string otherwise) {
  return has(key) ? text(key) : std::move(otherwise);
}

std::vector<double> StrictToml::numbers(std::string_view key, double least, std::vector<double> otherwise) {
  if (!has(key)) return otherwise;
  read_.emplace(key);
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
  if (!has(key)) return otherwise;
  read_.emplace(key);
  const toml::array* array = node_->table->get(key)->as_array();
  std::vector<std::string> all;
  if (array != nullptr)
    for (const toml::node& one : *array) {
      const auto value = one.value<std::string>();
      if (!value) fail(key, "expected a list of texts");
      all.push_back(*value);
    }
  if (all.empty()) fail(key, "expected a list of texts");
  return all;
}

std::vector<StrictToml> StrictToml::tables(std::string_view key) {
  std::vector<StrictToml> all;
  if (!has(key)) return all;
  read_.emplace(key);
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
  read_.emplace(key);
  const toml::node* found = node_->table->get(key);
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

void StrictToml::done() const {
  for (const auto& [key, value] : *node_->table)
    if (!read_.contains(key.str())) fail(key.str(), "there is no such key");
}

}  // namespace eco::sim
