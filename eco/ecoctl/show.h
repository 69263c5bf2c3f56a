// What ecoctl prints of an ecod's answers.
#pragma once

#include <string>

#include "eco.pb.h"

namespace eco {

[[nodiscard]] std::string show(const proto::FederationView& view);
[[nodiscard]] std::string show(const proto::DecisionLog& log, bool with_options);

// Whether each server of the table has said since that it obeys the kill switch (on), or no kill switch (off).
struct Confirmation {
  std::size_t confirmed = 0, servers = 0;
  std::string table;         // a line for each
  std::string own_switches;  // names of those that obey a kill switch of their own: `ecoctl resume` there ends it

  [[nodiscard]] bool complete() const { return servers > 0 && confirmed == servers; }
};
[[nodiscard]] Confirmation confirmation(const proto::FederationView& view, bool local_only);

}  // namespace eco
