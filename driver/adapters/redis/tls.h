// TLS on a socket that hiredis has connected.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "../server/server_options.h"

namespace edgejoule::driver {

class RedisTls {
 public:
  // Shakes hands. Throws DatabaseError.
  RedisTls(int socket, const ServerOptions& options);
  ~RedisTls();
  RedisTls(const RedisTls&) = delete;
  RedisTls& operator=(const RedisTls&) = delete;

  // As send and recv: -1 with errno, EAGAIN at the time-out of the socket; 0: closed.
  [[nodiscard]] ssize_t send(const char* bytes, std::size_t size);
  [[nodiscard]] ssize_t receive(char* bytes, std::size_t size);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace edgejoule::driver
