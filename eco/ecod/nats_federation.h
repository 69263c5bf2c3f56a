// The federation by NATS. Three key-value buckets (JetStream), FED being the federation's name:
//
//   eco-FED-servers   key: a server's name; its ServerState, put at each beat; gone when it was silent for alive_ms
//   eco-FED-lease     key "master": who holds it, renewed at each beat; gone lease_ms after the last renewal
//   eco-FED-settings  key "settings": what the operator set
//
// The lease is taken by creating its key and renewed by an update of the revision that was written last, so no two
// hold it. A master's epoch is the lease's revision when it was taken; revisions of a bucket only grow. The master
// believes in its lease from before a renewal was sent for less than lease_ms, by a clock that runs while the process
// is stopped: it ends here before it ends there.
//
// Subjects: eco.FED.table (the master's word, at each beat; the servers in parts), eco.FED.settings (news of them),
// eco.FED.place.SERVER and eco.FED.report.SERVER (requests to the master; an empty answer: it is none).
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

// Throws std::runtime_error where the options cannot be used (a certificate that cannot be read). NATS servers need not
// be there yet.
[[nodiscard]] std::unique_ptr<Federation> make_nats_federation(const NatsOptions& options);

}  // namespace eco
