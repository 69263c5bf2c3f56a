// The built-in kinds of workload. The property `workload` chooses one. To add one, add a line to workload_kinds.cc.
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
  std::string name;  // value of the property `workload`
  std::string summary;
  std::vector<PropertyHelp> properties;  // of this kind, in addition to those of every run
  // Properties that the kind passes to the adapter about its rows (fieldcount, rowformat). A user cannot set them.
  std::map<std::string, std::string> row;
  std::function<std::unique_ptr<const Workload>(const Properties&, Command)> make;  // throws UsageError
  std::vector<PropertyHelp> ycsb_properties = {};  // more, with names and meanings from YCSB's manual
};

// YCSB's core workload comes first.
[[nodiscard]] const std::vector<WorkloadKind>& workload_kinds();

// The kind that the properties name, or YCSB's core workload if they name none. Throws UsageError for an unknown kind.
[[nodiscard]] const WorkloadKind& workload_kind(const Properties& properties);

// The kind's own properties and its YCSB properties.
[[nodiscard]] std::vector<PropertyHelp> properties_of(const WorkloadKind& kind);

}  // namespace edgejoule::driver
