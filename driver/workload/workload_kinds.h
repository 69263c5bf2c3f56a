// The kinds of workload built in; the property `workload` chooses one. A further one is one line in workload_kinds.cc.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "contract/properties.h"
#include "property_help.h"
#include "run/workload.h"

namespace edgejoule::driver {

struct WorkloadKind {
  std::string name;  // of the property `workload`
  std::string summary;
  std::vector<PropertyHelp> properties;  // of the kind, beside those of every run
  // What the kind tells the adapter about its rows (fieldcount, rowformat); a user cannot set these.
  std::map<std::string, std::string> row;
  std::function<std::unique_ptr<const Workload>(const Properties&, Command)> make;  // throws UsageError
  std::vector<PropertyHelp> ycsb_properties = {};  // further ones, of which YCSB's manual has names and meanings
};

// YCSB's core workload first.
[[nodiscard]] const std::vector<WorkloadKind>& workload_kinds();

// The kind that the properties name, YCSB's core workload when they name none. Throws UsageError for an unknown one.
[[nodiscard]] const WorkloadKind& workload_kind(const Properties& properties);

// Its own and YCSB's.
[[nodiscard]] std::vector<PropertyHelp> properties_of(const WorkloadKind& kind);

}  // namespace edgejoule::driver
