// Compactions of level 0 at other servers: eco, which is loaded only where it is asked for, so that a run without it
// pays nothing for it.
#pragma once

#include <rocksdb/options.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "../../../eco/offload/statistics.h"
#include "contract/adapter.h"

namespace edgejoule::driver {

class Offloading {
 public:
  // The properties that ask for it.
  [[nodiscard]] static std::vector<OptionHelp> option_help();

  // Changes nothing when no property asks for it. Throws UsageError, or DatabaseError when eco cannot be had.
  void attach(rocksdb::Options& options, const Properties& properties);

  // What asked for it, "eco_worker=127.0.0.1:7070"; empty: nothing did.
  [[nodiscard]] const std::string& asked() const { return asked_; }
  [[nodiscard]] eco::Statistics statistics() const { return statistics_(); }
  // Adds "eco.installed" and the like; nothing when it was not asked for.
  void add_to(std::map<std::string, std::string>& stats) const;

 private:
  std::string asked_;
  std::function<eco::Statistics()> statistics_;
};

}  // namespace edgejoule::driver
