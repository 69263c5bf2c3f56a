#include "card_file.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "card_figures.h"

namespace bdtest {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::pair<const char*, std::uint32_t card_parameters::*> counts[] = {
    {"page_bytes", &card_parameters::page_bytes}, {"open_positions", &card_parameters::open_positions}};

}  // namespace

std::string card_to_text(const card_parameters& card) {
  Json json;
  for (const auto& [name, field] : counts) json[name] = card.*field;
  for (const auto& [name, field] : card_figures) json[name] = card.*field;
  return json.dump(2) + "\n";
}

card_parameters card_from_text(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) throw std::runtime_error("not a JSON object");
  card_parameters card{};
  const auto take = [&json](const char* name) {
    if (!json.contains(name)) throw std::runtime_error(std::string(name) + " is missing");
    const auto value = json[name];
    json.erase(name);
    if (!value.is_number() || value.get<double>() < 0 || !std::isfinite(value.get<double>()))
      throw std::runtime_error(std::string(name) + ": expected a number that is not negative");
    return value.get<double>();
  };
  for (const auto& [name, field] : card_figures) card.*field = take(name);
  for (const auto& [name, field] : counts) {
    const double value = take(name), most = field == &card_parameters::page_bytes ? 1 << 24 : CARD_POSITIONS_MAX;
    if (value < 1 || value > most || value != std::floor(value))
      throw std::runtime_error(std::string(name) + ": expected a whole number from 1 to " +
                               std::to_string(static_cast<int>(most)));
    card.*field = static_cast<std::uint32_t>(value);
  }
  if (!json.empty()) throw std::runtime_error("no parameter of a card: " + json.begin().key());
  return card;
}

}  // namespace bdtest
