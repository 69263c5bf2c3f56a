#include "measured_json.h"

#include <nlohmann/json.hpp>

namespace eco::calibrate {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const std::vector<Observation>& observations) {
  Json all = Json::array();
  for (const auto& [terms, observed] : observations) all.push_back({{"terms", terms}, {"observed", observed}});
  return all;
}

}  // namespace

Json json_of(const Plan& plan, const Measured& measured, const std::string& machine, const std::string& command) {
  Json codecs;
  for (const auto& [codec, of] : measured.codecs)
    codecs[codec] = {{"flushes", json_of(of.flushes)},
                     {"compactions", json_of(of.compactions)},
                     {"home", json_of(of.home)},
                     {"worker", json_of(of.worker)}};
  return {{"schema_version", 1},
          {"machine", machine},
          {"command", command},
          {"reference_codec", plan.codecs.front()},
          {"puts", json_of(measured.puts)},
          {"memtables", json_of(measured.memtables)},
          {"get_s", measured.get_s},
          {"get_s_per_file", measured.get_s_per_file},
          {"seek_s", measured.seek_s},
          {"seek_s_per_file", measured.seek_s_per_file},
          {"codecs", std::move(codecs)},
          {"stored", measured.stored},
          {"rounds", measured.rounds}};
}

}  // namespace eco::calibrate
