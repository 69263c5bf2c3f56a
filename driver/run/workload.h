// What a load or a run is asked to do: its kind is chosen by the property `workload`, what it means is read from
// properties and checked, and it begins as Work that the clients share.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "work.h"

namespace edgejoule::driver {

class Workload {
 public:
  virtual ~Workload() = default;

  std::uint64_t operations = 0;                 // of the command, all clients; 0: until the time is over
  std::uint64_t seconds_max = 0;                // 0: no limit
  bool verify = false;                          // rows that are read are checked
  bool creates = false;                         // a run may begin without a database
  std::map<std::string, std::string> in_force;  // every property of the workload, defaults included
  bool clients_end = false;                     // each client does a share of its own, and ends by itself
  bool each_key_once = false;                   // a load: no two of its inserts have the same key

  // Properties of the run that hold where the user gave none: its durability, options of an adapter.
  std::map<std::string, std::string> defaults;

  // verify: false where the database keeps nothing to check.
  [[nodiscard]] virtual std::unique_ptr<Work> begin(std::uint64_t seed, unsigned threads, bool verify) const = 0;
};

}  // namespace edgejoule::driver
