#include <fmt/format.h>
#include <signal.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>

#include "command_line.h"
#include "daemon.h"
#include "job_process.h"
#include "worker.h"

namespace {

constexpr const char* examples = R"(Examples:
  ecod --config /etc/ecod.toml
  ecod --print-config > /etc/ecod.toml          every key with its default, to edit
  ecod --config /etc/ecod.toml --print-config   check the file and print the resulting configuration
  ecod worker --scratch /var/tmp/ecod           plain remote compaction, no federation
SIGHUP reloads the [policy] section. SIGTERM ends ecod; if it was the master, another server takes over at once.)";

void add_worker(CLI::App& app, eco::WorkerOptions& options) {
  app.add_option("--listen", options.listen, "HOST:PORT for jobs; addresses beyond loopback require TLS")
      ->capture_default_str();
  app.add_option("--data-port", options.data_port, "port for the jobs' tables on the same host; 0: a free port")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  app.add_option("--scratch", options.scratch,
                 "folder that only this worker uses, with room for the outputs of all slots")
      ->required();
  app.add_option("--slots", options.slots, "jobs that run at the same time")->capture_default_str();
  app.add_option("--queue", options.queue_max, "jobs that may wait for a slot; further jobs are refused")
      ->capture_default_str();
  app.add_option("--nice", options.nice, "added to the nice value of the jobs' processes")->capture_default_str();
  app.add_option("--cgroup", options.cgroup, "folder of the cgroup (v2) in which the jobs' processes run");
  app.add_option("--job-cpu-s-max", options.job_cpu_s_max, "a job that uses more CPU seconds is stopped; 0: no limit")
      ->capture_default_str();
  app.add_option("--ca", options.tls.ca, "PEM file with the authority whose certificates may send jobs");
  app.add_option("--certificate", options.tls.certificate, "PEM file with this server's certificate");
  app.add_option("--key", options.tls.key, "PEM file with this server's private key");
  app.add_option_function<std::vector<std::string>>(
      "--shared-directory",
      [&options](const std::vector<std::string>& pairs) {
        for (const auto& pair : pairs) {
          const auto equals = pair.find('=');
          if (!pair.starts_with('/') || equals == std::string::npos || pair.compare(equals, 2, "=/") != 0)
            throw CLI::ValidationError("--shared-directory", pair + ": expected /FOLDER/OF/THE/PRIMARY=/FOLDER/HERE");
          options.shared[pair.substr(0, equals)] = pair.substr(equals + 1);
        }
      },
      "PRIMARY=HERE: path of a primary's folder on this server (NFS); its tables are then read and written there");
  app.add_option("--token", options.token, "token that a job must present")->envname("ECO_TOKEN");
}

// Waits for SIGINT or SIGTERM.
int run_worker(eco::WorkerOptions options, bool while_stdin) {
  sigset_t stop;
  sigemptyset(&stop), sigaddset(&stop, SIGINT), sigaddset(&stop, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  if (while_stdin)
    std::thread([] {
      for (char c = 0; ::read(STDIN_FILENO, &c, 1) > 0;) continue;
      ::kill(::getpid(), SIGTERM);
    }).detach();
  const eco::Worker worker(std::move(options));
  fmt::print("worker on port {}\n", worker.port());
  std::fflush(stdout);
  int signal = 0;
  sigwait(&stop, &signal);
  return 0;
}

int run_federated(const std::string& file, bool print) {
  auto config = file.empty() ? eco::parse_config("", "defaults") : eco::read_config(file);
  if (print) {
    for (const auto& warning : config.warnings) eco::print_error(fmt::format("ecod: {}\n", warning));
    fmt::print("{}", eco::print_config(config));
    return 0;
  }
  spdlog::set_default_logger(spdlog::stderr_logger_mt("ecod"));
  spdlog::set_level(spdlog::level::from_str(config.log_level));
  for (const auto& warning : config.warnings) spdlog::warn("{}", warning);
  return eco::run_daemon(std::move(config), file);
}

int command(int argc, char** argv) {
  CLI::App app{"ecod: one server of an eco federation; its servers share RocksDB compactions", "ecod"};
  app.footer(examples);
  app.set_version_flag("--version", EDGEJOULE_VERSION);
  std::string file;
  bool print = false;
  app.add_option("--config", file, "TOML file; default: all keys have their defaults");
  app.add_flag("--print-config", print, "print the annotated configuration and exit");
  eco::WorkerOptions options;
  auto* worker = app.add_subcommand("worker", "compact for other servers' databases, without a federation");
  add_worker(*worker, options);
  bool while_stdin = false;
  worker->add_flag("--while-stdin", while_stdin, "exit when standard input closes, so that it ends with its parent");
  int fd = -1, data_fd = -1;
  std::string scratch;
  auto* job = app.add_subcommand("job")->group("");  // internal: the process of one job
  job->add_option("--fd", fd)->required();
  job->add_option("--data-fd", data_fd);
  job->add_option("--scratch", scratch)->required();
  if (const auto code = eco::parse_arguments(app, argc, argv)) return *code;
  std::signal(SIGPIPE, SIG_IGN);
  if (job->parsed()) return eco::run_job(fd, data_fd, scratch);
  if (worker->parsed()) return run_worker(std::move(options), while_stdin);
  return run_federated(file, print);
}

}  // namespace

int main(int argc, char** argv) {
  return eco::run_program("ecod", [&] { return command(argc, argv); });
}
