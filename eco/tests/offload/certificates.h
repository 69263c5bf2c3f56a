// A CA and a certificate of 127.0.0.1 for a test, created by OpenSSL's command.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "credentials.h"

namespace eco::test {

class Certificates {
 public:
  explicit Certificates(const std::string& folder) : folder_(folder) {
    std::filesystem::create_directories(folder);
    const std::string script = "set -e; cd '" + folder +
                               "'; exec > log 2>&1; "
                               "key='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'; "
                               "openssl req -x509 $key -keyout ca.key -out ca.pem -days 2 -subj /CN=ca; "
                               "openssl req $key -keyout server.key -out server.csr -subj /CN=server; "
                               "printf 'subjectAltName=IP:127.0.0.1' > names; "
                               "openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 "
                               "-extfile names -out server.pem";
    if (std::system(script.c_str()) != 0) throw std::runtime_error("openssl makes no certificates: " + folder + "/log");
  }

  [[nodiscard]] TlsFiles files() const {
    return {.ca = folder_ + "/ca.pem", .certificate = folder_ + "/server.pem", .key = folder_ + "/server.key"};
  }
  // Options of `ecod worker`.
  [[nodiscard]] std::vector<std::string> arguments() const {
    const TlsFiles pem = files();
    return {"--ca", pem.ca, "--certificate", pem.certificate, "--key", pem.key};
  }

 private:
  std::string folder_;
};

}  // namespace eco::test
