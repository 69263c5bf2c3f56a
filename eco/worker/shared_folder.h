// The primary's database folder where this server sees it, too (NFS): its tables, and the folder for the outputs of one
// job. Opened below what the worker's operator names, without following a link; nothing else there can be reached.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "eco.pb.h"
#include "tcp.h"

namespace eco {

// By the primary's folder, absolute: where this server sees it.
using SharedDirectories = std::map<std::string, std::string>;

// Fills in where a job's folder is here, by the longest of the directories that it lies in. False: in none, or the
// primary's path is none that a primary tells.
[[nodiscard]] bool locate(const SharedDirectories& directories, proto::Shared& shared);

class SharedFolder {
 public:
  // nullptr, and the reason: it is not there, or another one is.
  [[nodiscard]] static std::unique_ptr<SharedFolder> open(const proto::Shared& shared, std::string& why);

  // To read a table; invalid: it is not there, is no plain file or has another size than the primary's.
  [[nodiscard]] Fd table(const std::string& name, std::uint64_t bytes) const;
  // Makes an output, empty; false: it is there already, or cannot be made.
  [[nodiscard]] bool create(const std::string& name) const;
  // By which this process alone can open it.
  [[nodiscard]] std::string output(const std::string& name) const;

 private:
  SharedFolder(Fd database, Fd staging) : database_(std::move(database)), staging_(std::move(staging)) {}

  Fd database_, staging_;
};

}  // namespace eco
