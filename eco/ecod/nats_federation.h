// Implements the federation with NATS. It uses three key-value buckets (JetStream); FED is the federation's name:
//
//   eco-FED-servers   key: server name; its ServerState, written at each beat; expires after alive_ms of silence
//   eco-FED-lease     key "master": its holder, renewed at each beat; expires lease_ms after the last renewal
//   eco-FED-settings  key "settings": the operator's settings
//
// A server takes the lease by creating its key and renews it by updating the last revision that it wrote, so that two
// servers never hold it. A master's epoch is at least the lease's revision when it was taken. The master counts its
// lease from before it sent a renewal, for less than lease_ms, by a clock that continues while the process is stopped:
// the lease ends here before it ends in NATS.
//
// Subjects: eco.FED.table (the master's table, at each beat; the servers in parts), eco.FED.settings (changes),
// eco.FED.place.SERVER and eco.FED.report.SERVER (requests to the master; an empty answer means that it is not the
// master).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config.h"
#include "federation.h"

namespace eco {

struct NatsOptions {
  std::string server;  // this one's name
  FederationConfig federation;
  TlsFiles tls;
};

// Throws std::runtime_error if the options are unusable, for example an unreadable certificate. The NATS servers may
// start later.
[[nodiscard]] std::unique_ptr<Federation> make_nats_federation(const NatsOptions& options);

}  // namespace eco
