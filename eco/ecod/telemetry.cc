#include "telemetry.h"

#include <time.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace eco {
namespace {

// Figures of a small server, so that energies are comparable before any are declared.
constexpr double default_busy_core_w = 5, default_idle_w = 10;

constexpr double samples_wanted = 60;
constexpr double spread_wanted_cores = 0.5;  // with less spread the slope is noise

double thread_cpu_s() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

double measure_core_speed() {
  constexpr std::size_t entries = 8192, entry_bytes = 128, runs = 5;
  std::vector<std::string> keys;
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < entries; ++i) keys.push_back(std::to_string(random()));
  const std::string values(entries * entry_bytes, 'v');
  double best = 0;
  for (std::size_t run = 0; run < runs; ++run) {
    const double began_s = thread_cpu_s();
    std::vector<std::size_t> order(entries);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) -> const std::string& { return keys[i]; });
    std::string block;
    std::size_t hash = 0;
    for (const std::size_t i : order) {
      block.append(values, i * entry_bytes, entry_bytes);
      if (block.size() < 4096) continue;
      hash ^= std::hash<std::string>()(block);
      block.clear();
    }
    const double took_s = thread_cpu_s() - began_s + static_cast<double>(hash % 2) * 1e-12;  // hash must be used
    if (took_s > 0) best = std::max(best, static_cast<double>(values.size()) * 1e-6 / took_s);
  }
  return best;
}

PowerModel::PowerModel(const PowerConfig& declared) : declared_(declared) {}

void PowerModel::observe(double busy_cores, double power_w) {
  const bool first = model_.observations() == 0;
  least_busy_ = first ? busy_cores : std::min(least_busy_, busy_cores);
  most_busy_ = first ? busy_cores : std::max(most_busy_, busy_cores);
  model_.learn({1, busy_cores, 0}, power_w);
}

bool PowerModel::counted() const {
  const auto& coefficients = model_.state().coefficients;
  return model_.observations() >= samples_wanted && most_busy_ - least_busy_ >= spread_wanted_cores &&
         coefficients[0] >= 0 && coefficients[1] > 0;
}

Power PowerModel::power() const {
  const auto& coefficients = model_.state().coefficients;
  Power power{.transfer_j_per_byte = declared_.transfer_j_per_byte};
  power.busy_core_w = declared_.busy_core_w > 0 ? declared_.busy_core_w : default_busy_core_w;
  power.idle_w = declared_.idle_w > 0 ? declared_.idle_w : default_idle_w;
  if (counted()) power.busy_core_w = coefficients[1], power.idle_w = coefficients[0];
  return power;
}

std::string PowerModel::method() const {
  if (counted()) return "counted (RAPL)";
  return declared_.busy_core_w > 0 && declared_.idle_w > 0 ? "modelled (declared)" : "modelled (defaults)";
}

Sensors::Sensors(const Config& config, const std::filesystem::path& root)
    : config_(config.telemetry),
      root_(root),
      cpu_(root, config.telemetry.cgroup),
      network_(root, config.telemetry.network_interface),
      model_(config.power) {
  if (config.power.rapl) rapl_.emplace(root);
}

Telemetry Sensors::read(double now_s) {
  Telemetry now;
  now.cores = config_.cores > 0 ? std::optional(config_.cores) : cpu_.cores();
  now.busy_cores = cpu_.busy_cores(now_s);
  now.network_bytes_s = network_.bytes_s(now_s);
  now.link_bytes_s = config_.link_mbit_s > 0 ? std::optional(config_.link_mbit_s * 1e6 / 8) : network_.link_bytes_s();
  now.battery = battery_level(root_);
  const auto counted_w = rapl_ ? rapl_->power_w(now_s) : std::nullopt;
  if (counted_w && now.busy_cores) model_.observe(*now.busy_cores, *counted_w);
  now.power = model_.power(), now.power_method = model_.method();
  now.core_speed = core_speed_ * std::min(1.0, now.cores.value_or(1));
  if (counted_w)
    now.power_w = counted_w;
  else if (now.busy_cores)
    now.power_w = now.power.idle_w + now.power.busy_core_w * *now.busy_cores;
  return now;
}

}  // namespace eco
