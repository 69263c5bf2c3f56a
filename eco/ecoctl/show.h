// Formats an ecod's answers for ecoctl.
#pragma once

#include <string>

#include "eco.pb.h"

namespace eco {

[[nodiscard]] std::string show(const proto::FederationView& view);
[[nodiscard]] std::string show(const proto::DecisionLog& log, bool with_options);

// Whether each server of the table has confirmed the kill switch (on) or its end (off).
struct Confirmation {
  std::size_t confirmed = 0, servers = 0;
  std::string table;         // one line per server
  std::string own_switches;  // servers with a local kill switch, which `ecoctl resume` there ends

  [[nodiscard]] bool complete() const { return servers > 0 && confirmed == servers; }
};
[[nodiscard]] Confirmation confirmation(const proto::FederationView& view, bool local_only);

}  // namespace eco
