// A workload, chosen by the property `workload`: its settings, read from properties and checked. begin() starts an
// execution, whose state the clients share as Work.
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

  std::uint64_t operations = 0;                 // of all clients; 0: until the time is over
  std::uint64_t seconds_max = 0;                // 0: no limit
  bool verify = false;                          // rows read are checked
  bool creates = false;                         // a run may begin without a database
  std::map<std::string, std::string> in_force;  // every property of the workload, defaults included
  bool clients_end = false;                     // each client has a share of the operations and ends by itself
  bool each_key_once = false;                   // a load without two inserts of the same key
  bool has_updates = false;                     // some operations are updates
  bool update_replaces = false;                 // updates call Session::replace

  // Properties that the workload sets if the user does not: its durability, options of an adapter.
  std::map<std::string, std::string> defaults;

  // verify: false if the database stores nothing to check.
  [[nodiscard]] virtual std::unique_ptr<Work> begin(std::uint64_t seed, unsigned threads, bool verify) const = 0;
};

}  // namespace edgejoule::driver
