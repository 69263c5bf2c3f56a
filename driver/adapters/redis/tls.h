// TLS on a socket that hiredis has connected.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "adapters/server/patient_socket.h"
#include "adapters/server/server_options.h"

namespace edgejoule::driver {

class RedisTls {
 public:
  // Performs the handshake. Throws DatabaseError. `socket` must outlive it.
  RedisTls(const PatientSocket& socket, const ServerOptions& options);
  ~RedisTls();
  RedisTls(const RedisTls&) = delete;
  RedisTls& operator=(const RedisTls&) = delete;

  // As PatientSocket's functions.
  [[nodiscard]] ssize_t send(const char* bytes, std::size_t size);
  [[nodiscard]] ssize_t receive(char* bytes, std::size_t size);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace edgejoule::driver
