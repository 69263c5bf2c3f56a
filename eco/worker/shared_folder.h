// The primary's database folder as this server sees it (NFS): its tables and the output folder of one job. Opened below
// a directory that the worker's operator configures, without following links; nothing else there can be reached.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "eco.pb.h"
#include "tcp.h"

namespace eco {

// Local directory by the primary's directory, both absolute.
using SharedDirectories = std::map<std::string, std::string>;

// Sets the local path of a job's folder, by the longest matching directory. False: no directory matches, or the
// primary's path is invalid.
[[nodiscard]] bool locate(const SharedDirectories& directories, proto::Shared& shared);

class SharedFolder {
 public:
  // Returns nullptr and the reason if the folder is missing or is another one.
  [[nodiscard]] static std::unique_ptr<SharedFolder> open(const proto::Shared& shared, std::string& why);

  // Opens a table. Invalid: missing, not a plain file, or of another size than the primary's.
  [[nodiscard]] Fd table(const std::string& name, std::uint64_t bytes) const;
  // Creates an empty output. False: it exists, or cannot be created.
  [[nodiscard]] bool create(const std::string& name) const;
  // A path that only this process can open.
  [[nodiscard]] std::string output(const std::string& name) const;

 private:
  SharedFolder(Fd database, Fd staging) : database_(std::move(database)), staging_(std::move(staging)) {}

  Fd database_, staging_;
};

}  // namespace eco
