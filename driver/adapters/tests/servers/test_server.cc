#include "test_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "adapters/server/server_process.h"

namespace edgejoule::driver {
namespace {

namespace fs = std::filesystem;

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

bool takes_connections(int port) {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto address = loopback(port);
  const bool taken = connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(probe);
  return taken;
}

pid_t spawn(const TestServer::Arguments& argv, const std::string& log) {
  std::vector<char*> pointers;
  for (const auto& argument : argv) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child != 0) return child;
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  execvp(pointers.front(), pointers.data());
  _exit(127);
}

// PostgreSQL's processes have their own process groups.
std::vector<pid_t> with_descendants(pid_t root) {
  std::vector<pid_t> all = {root};
  std::vector<pid_t> others;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const auto name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") == std::string::npos) others.push_back(std::stoi(name));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const auto other : others) {
      if (parent_of(other) == all[i]) all.push_back(other);
    }
  }
  return all;
}

std::string contents(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// True if all its threads are stopped.
bool stands_still(pid_t process) {
  std::error_code failure;
  for (const auto& thread : fs::directory_iterator("/proc/" + std::to_string(process) + "/task", failure)) {
    const auto line = contents(thread.path() / "stat");
    const auto name_end = line.rfind(')');
    if (name_end != std::string::npos && line.substr(name_end + 2, 1) != "T") return false;
  }
  return true;
}

bool on_path(const std::string& program) {
  const std::string path = std::getenv("PATH") == nullptr ? "/usr/bin" : std::getenv("PATH");
  for (std::size_t begin = 0; begin <= path.size();) {
    const auto end = std::min(path.find(':', begin), path.size());
    if (access((path.substr(begin, end - begin) + "/" + program).c_str(), X_OK) == 0) return true;
    begin = end + 1;
  }
  return false;
}

// The folder given, or that of the newest PostgreSQL from Debian; empty: none.
std::string postgres_folder() {
  const char* const named = std::getenv("EDGEJOULE_POSTGRES");
  if (named != nullptr && *named != '\0') return named;
  std::string newest;
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", failure)) {
    const auto folder = (entry.path() / "bin").string();
    if (access((folder + "/initdb").c_str(), X_OK) == 0 && folder > newest) newest = folder;
  }
  return newest;
}

// PostgreSQL refuses to run as root.
TestServer::Arguments as_postgres(TestServer::Arguments arguments) {
  if (geteuid() != 0) return arguments;
  TestServer::Arguments all = {"setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--pdeathsig=KILL"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

void give_to_postgres(const std::string& path) {
  if (geteuid() != 0) return;
  const auto* const user = getpwnam("postgres");
  if (user == nullptr || chown(path.c_str(), user->pw_uid, user->pw_gid) != 0) {
    throw std::runtime_error("cannot give " + path + " to the user postgres");
  }
}

}  // namespace

std::string given_mongodb() {
  const char* const uri = std::getenv("EDGEJOULE_MONGODB_URI");
  return uri == nullptr ? "" : uri;
}

int free_port() {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto address = loopback(0);
  socklen_t size = sizeof address;
  if (bind(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("no free port on loopback");
  }
  close(probe);
  return ntohs(address.sin_port);
}

void run_program(const TestServer::Arguments& arguments) {
  const TemporaryDirectory folder;
  const auto log = (folder.path() / "log").string();
  int status = 0;
  waitpid(spawn(arguments, log), &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw std::runtime_error(arguments.front() + " failed: " + contents(log));
  }
}

void make_certificates(const std::string& folder) {
  const auto in = [&folder](const char* name) { return folder + "/" + name; };
  std::ofstream(in("names")) << "subjectAltName=IP:127.0.0.1,DNS:localhost\n";
  run_program({"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test authority",
               "-keyout", in("ca.key"), "-out", in("ca.crt")});
  run_program({"openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout", in("server.key"),
               "-out", in("server.csr")});
  run_program({"openssl", "x509", "-req", "-in", in("server.csr"), "-CA", in("ca.crt"), "-CAkey", in("ca.key"),
               "-CAcreateserial", "-days", "2", "-extfile", in("names"), "-out", in("server.crt")});
}

TestServer::TestServer(Kind kind, Arguments more) : kind_(std::move(kind)), more_(std::move(more)), port_(free_port()) {
  if (kind_.prepare) kind_.prepare(*this);
  start();
}

TestServer::~TestServer() { kill(); }

void TestServer::take_file(const std::string& from, const std::string& name) const {
  const auto to = folder() + "/" + name;
  fs::copy_file(from, to, fs::copy_options::overwrite_existing);
  fs::permissions(to, fs::perms::owner_read | fs::perms::owner_write);
  if (kind_.adapter == "postgres") give_to_postgres(to);
}

void TestServer::launch() { process_ = spawn(kind_.command(*this), folder() + "/log"); }

void TestServer::start() {
  if (!is_ours()) return;
  launch();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!takes_connections(port_) || (kind_.ready && !kind_.ready(*this))) {
    int status = 0;
    if (waitpid(process_, &status, WNOHANG) == process_ || std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error(kind_.adapter + " did not start: " + contents(folder() + "/log"));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void TestServer::signal_all(int number) const {
  if (process_ <= 0) return;
  const auto all = with_descendants(process_);
  for (const auto process : all) ::kill(process, number);
}

void TestServer::kill() {
  signal_all(SIGKILL);
  if (process_ > 0) waitpid(process_, nullptr, 0);
  process_ = -1;
}

void TestServer::stop() {
  ::kill(process_, SIGINT);
  waitpid(process_, nullptr, 0);
  process_ = -1;
}

// A thread on another processor stops a moment after the signal.
void TestServer::pause() {
  signal_all(SIGSTOP);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (const auto process : with_descendants(process_)) {
    while (!stands_still(process) && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}
void TestServer::resume() { signal_all(SIGCONT); }

Properties TestServer::properties() const {
  Properties properties;
  const auto set = [&](const std::string& name, const std::string& value) {
    properties.set(kind_.adapter + "." + name, value);
  };
  if (!is_ours()) {
    set("uri", given_mongodb());
    set("database", "edgejoule_test");
    return properties;
  }
  set("port", std::to_string(port_));
  if (kind_.adapter == "redis") set("index", "ordered");
  if (kind_.adapter == "postgres") {
    set("user", "postgres");
    set("database", "postgres");
    properties.set("fieldtype", "blob");  // for values of any bytes
  }
  return properties;
}

namespace {

// The folder of the stand-in's jars, fetched by `make servers`; empty: none.
std::string stand_in_folder() {
  const char* const named = std::getenv("EDGEJOULE_SERVERS");
  const auto folder = std::string(named == nullptr ? SERVERS_FOLDER : named) + "/mongodb-stand-in";
  return fs::exists(folder + "/classes/StandIn.class") && on_path("java") ? folder : "";
}

}  // namespace

std::unique_ptr<TestServer> make_mongodb(TestServer::Arguments more) {
  if (more.empty() && !given_mongodb().empty()) {
    return std::make_unique<TestServer>(TestServer::Kind{"mongodb", {}, {}});
  }
  return make_own_mongodb(std::move(more));
}

std::unique_ptr<TestServer> make_own_mongodb(TestServer::Arguments more) {
  const bool real = on_path("mongod");
  const auto stand_in = stand_in_folder();
  if (!real && stand_in.empty()) return nullptr;
  const auto command = [real, stand_in](const TestServer& server) {
    const auto port = std::to_string(server.port());
    TestServer::Arguments arguments;
    if (real) {
      arguments = {"mongod",        "--port",    port,        "--dbpath",
                   server.folder(), "--bind_ip", "127.0.0.1", "--wiredTigerCacheSizeGB",
                   "0.25"};
    } else {
      arguments = {"java",
                   "-Xmx256m",
                   "-cp",
                   stand_in + "/classes:" + stand_in + "/lib/*",
                   "StandIn",
                   port,
                   server.folder() + "/data",
                   "mongo-java-server"};
    }
    arguments.insert(arguments.end(), server.more().begin(), server.more().end());
    return arguments;
  };
  return std::make_unique<TestServer>(TestServer::Kind{"mongodb", {}, command}, std::move(more));
}

std::unique_ptr<TestServer> make_redis(TestServer::Arguments more) {
  if (!on_path("redis-server")) return nullptr;
  const TestServer::Kind kind{"redis", {}, [](const TestServer& server) {
                                TestServer::Arguments arguments = {"redis-server",
                                                                   "--bind",
                                                                   "127.0.0.1",
                                                                   "--dir",
                                                                   server.folder(),
                                                                   "--save",
                                                                   "",
                                                                   "--port",
                                                                   std::to_string(server.port())};
                                arguments.insert(arguments.end(), server.more().begin(), server.more().end());
                                return arguments;
                              }};
  return std::make_unique<TestServer>(kind, std::move(more));
}

std::unique_ptr<TestServer> make_postgres(TestServer::Arguments more) {
  const auto programs = postgres_folder();
  if (programs.empty()) return nullptr;
  const auto prepare = [programs](const TestServer& server) {
    give_to_postgres(server.folder());
    run_program(as_postgres({programs + "/initdb", "-D", server.folder() + "/data", "-U", "postgres", "-A", "trust",
                             "-E", "UTF8", "--locale=C", "--no-sync"}));
  };
  const auto command = [programs](const TestServer& server) {
    TestServer::Arguments arguments = {programs + "/postgres",
                                       "-D",
                                       server.folder() + "/data",
                                       "-p",
                                       std::to_string(server.port()),
                                       "-c",
                                       "listen_addresses=127.0.0.1",
                                       "-c",
                                       "unix_socket_directories=",
                                       "-c",
                                       "fsync=off"};
    for (const auto& setting : server.more()) arguments.insert(arguments.end(), {"-c", setting});
    return as_postgres(arguments);
  };
  const auto ready = [programs](const TestServer& server) {
    try {
      run_program({programs + "/pg_isready", "-q", "-h", "127.0.0.1", "-p", std::to_string(server.port())});
      return true;
    } catch (const std::runtime_error&) {
      return false;
    }
  };
  return std::make_unique<TestServer>(TestServer::Kind{"postgres", prepare, command, ready}, std::move(more));
}

bool has_citus() {
  const auto folder = std::filesystem::path(postgres_folder()).parent_path();
  return fs::exists(folder / "lib/citus.so") || fs::exists(folder / "lib/postgresql/citus.so");
}

TestServer& emptied_server(const std::string& adapter) {
  static std::map<std::string, std::unique_ptr<TestServer>> servers;
  auto& server = servers[adapter];
  if (!server) server = adapter == "redis" ? make_redis() : adapter == "mongodb" ? make_mongodb() : make_postgres();
  if (!server) throw std::runtime_error("the server of " + adapter + " is not installed: make servers");
#ifdef EDGEJOULE_MONGODB
  if (adapter == "mongodb") empty_mongodb(server->properties());
#endif
#ifdef EDGEJOULE_REDIS
  if (adapter == "redis") empty_redis(server->properties());
#endif
#ifdef EDGEJOULE_POSTGRES
  if (adapter == "postgres") empty_postgres(server->properties());
#endif
  return *server;
}

}  // namespace edgejoule::driver
