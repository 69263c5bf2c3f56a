// A server's state, from its sensors and its configuration.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "config.h"
#include "linear_model.h"
#include "sensors.h"
#include "server.h"

namespace eco {

// Power of one busy core and of the idle server: declared, or learnt from RAPL once the load has varied.
class PowerModel {
 public:
  explicit PowerModel(const PowerConfig& declared);

  // Adds RAPL's power at this number of busy cores.
  void observe(double busy_cores, double power_w);

  [[nodiscard]] bool counted() const;
  [[nodiscard]] Power power() const;
  // "counted (RAPL)", "modelled (declared)", "modelled (defaults)"
  [[nodiscard]] std::string method() const;

 private:
  PowerConfig declared_;
  LinearModel model_{0.999};
  double least_busy_ = 0, most_busy_ = 0;
};

struct Telemetry {
  std::optional<double> cores, busy_cores, network_bytes_s, link_bytes_s, power_w, battery;
  Power power;
  std::string power_method;  // of `power`
  double core_speed = 0;     // of the core share that a job gets
};

// Measures a core's speed at a compaction's work (merging, copying, checksums), in MB per CPU second: the best of a few
// runs of some milliseconds.
[[nodiscard]] double measure_core_speed();

class Sensors {
 public:
  explicit Sensors(const Config& config, const std::filesystem::path& root = {});

  // now_s: from a monotonic clock.
  [[nodiscard]] Telemetry read(double now_s);
  // Empty: none exists.
  [[nodiscard]] std::string interface() const { return network_.interface(); }

 private:
  TelemetryConfig config_;
  std::filesystem::path root_;
  CpuUse cpu_;
  NetworkUse network_;
  std::optional<Rapl> rapl_;
  PowerModel model_;
  double core_speed_ = measure_core_speed();
};

}  // namespace eco
