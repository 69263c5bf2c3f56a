// The port for primaries' data connections. A connection starts with the ticket of its job.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "tcp.h"

namespace eco {

class DataPort {
 public:
  // Throws std::runtime_error if it cannot listen.
  DataPort(const std::string& host, int port);
  ~DataPort();
  DataPort(const DataPort&) = delete;
  DataPort& operator=(const DataPort&) = delete;

  [[nodiscard]] int port() const { return port_; }

  // One job's claim to the connection with its ticket.
  class Claim {
   public:
    explicit Claim(DataPort& port);
    ~Claim();
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;
    [[nodiscard]] const std::string& ticket() const { return ticket_; }
    // Waits for the connection; invalid: timeout.
    [[nodiscard]] Fd wait(int timeout_ms);

   private:
    DataPort& port_;
    std::string ticket_;
  };

 private:
  void listen();

  Fd listener_;
  int port_ = 0;
  std::mutex mutex_;
  std::condition_variable change_;
  std::map<std::string, Fd> claims_;  // by ticket; invalid until connected
  bool stop_ = false;
  std::thread thread_;
};

// Cryptographically random bytes.
[[nodiscard]] std::string random_bytes(std::size_t bytes);

}  // namespace eco
