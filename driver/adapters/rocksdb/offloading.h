// Runs compactions of level 0 on other servers, through eco. eco is loaded only on request, so that other runs do not
// pay for it.
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
  // The properties that request it.
  [[nodiscard]] static std::vector<OptionHelp> option_help();

  // Does nothing unless a property requests it. Throws UsageError, or DatabaseError if eco is not available.
  void attach(rocksdb::Options& options, const Properties& properties);

  // The property that requested it, "eco_worker=127.0.0.1:7070"; empty: none.
  [[nodiscard]] const std::string& asked() const { return asked_; }
  [[nodiscard]] eco::Statistics statistics() const { return statistics_(); }
  // Adds "eco.installed" and similar values if it was requested.
  void add_to(std::map<std::string, std::string>& stats) const;

 private:
  std::string asked_;
  std::function<eco::Statistics()> statistics_;
};

}  // namespace edgejoule::driver
