#include "card_replay.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "card_figures.h"
#include "engine.h"

namespace lunar_bench {
namespace {

using Variant = std::pair<std::string, card_parameters>;

std::vector<Variant> variants() {
  std::vector<Variant> made{{"as published", card_sandisk_ultra}};
  const auto add = [&made](std::string name, auto change) {
    made.emplace_back(std::move(name), card_sandisk_ultra);
    change(made.back().second);
  };
  for (const auto& [name, field] : card_figures) {
    for (const double factor : {0.5, 1.5})
      add(std::string(name) + (factor < 1 ? " -50 %" : " +50 %"), [&](card_parameters& p) { p.*field *= factor; });
  }
  add("page_bytes 2048", [](card_parameters& p) { p.page_bytes = 2048; });
  add("page_bytes 8192", [](card_parameters& p) { p.page_bytes = 8192; });
  add("page_bytes 16384", [](card_parameters& p) { p.page_bytes = 16384; });
  add("open_positions 32", [](card_parameters& p) { p.open_positions = 32; });
  add("open_positions 4", [](card_parameters& p) { p.open_positions = 4; });
  add("no random penalty", [](card_parameters& p) { p.write_random_ns = 0; });
  add("a flush as dear as a random write of 4 KB", [](card_parameters& p) { p.flush_ns = 1879e3; });
  return made;
}

nlohmann::json charged(const Variant& variant, const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "r"), std::fclose);
  if (!file) throw BenchError(path + ": cannot be opened");
  card card{};
  card_start(&card, &variant.second);
  std::uint64_t line = 0;
  if (card_replay(&card, file.get(), &line) != 0)
    throw BenchError(path + ":" + std::to_string(line) + ": expected `R sector count`, `W sector count` or `F`");
  return {{"variant", variant.first},
          {"card_s", card.time_ns * 1e-9},
          {"card_j", card_energy_j(&card)},
          {"reads", card.reads},
          {"writes", card.writes},
          {"flushes", card.flushes},
          {"random_writes", card.random_writes},
          {"bytes_written", card.bytes_written},
          {"pages_written", card.pages_written}};
}

}  // namespace

nlohmann::json replay(const std::string& trace) {
  nlohmann::json results = nlohmann::json::array();
  for (const auto& variant : variants()) results.push_back(charged(variant, trace));
  return results;
}

}  // namespace lunar_bench
