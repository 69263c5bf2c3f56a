#include <CLI/CLI.hpp>
#include <csignal>
#include <iostream>

#include "job.h"
#include "worker.h"

namespace {

void add_worker(CLI::App& app, eco::WorkerOptions& options) {
  app.add_option("--listen", options.listen, "HOST:PORT; beyond loopback it wants TLS")->capture_default_str();
  app.add_option("--scratch", options.scratch, "folder of its own, with room for the outputs of all slots")->required();
  app.add_option("--slots", options.slots, "jobs at a time")->capture_default_str();
  app.add_option("--queue", options.queue_max, "jobs that wait for a slot; further ones are refused")
      ->capture_default_str();
  app.add_option("--nice", options.nice, "added to the niceness of the jobs' processes")->capture_default_str();
  app.add_option("--cgroup", options.cgroup, "folder of a cgroup (v2) that the jobs' processes are put into");
  app.add_option("--job-cpu-s-max", options.job_cpu_s_max, "a job that used more is ended; 0: no limit")
      ->capture_default_str();
  app.add_option("--ca", options.tls.ca, "PEM: who may send jobs");
  app.add_option("--certificate", options.tls.certificate, "PEM: of this server");
  app.add_option("--key", options.tls.key, "PEM: of this server");
  app.add_option("--token", options.token, "what a job must bring")->envname("ECO_TOKEN");
}

// Until SIGINT or SIGTERM.
int run_worker(eco::WorkerOptions options) {
  sigset_t stop;
  sigemptyset(&stop), sigaddset(&stop, SIGINT), sigaddset(&stop, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  const eco::Worker worker(std::move(options));
  std::cout << "worker on port " << worker.port() << std::endl;
  int signal = 0;
  sigwait(&stop, &signal);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"ecod: a server of an eco federation"};
  app.require_subcommand(1);
  eco::WorkerOptions options;
  auto* worker = app.add_subcommand("worker", "compacts for other servers' databases; without a federation");
  add_worker(*worker, options);
  int fd = -1;
  std::string scratch;
  auto* job = app.add_subcommand("job")->group("");  // a worker's own process of one job
  job->add_option("--fd", fd)->required();
  job->add_option("--scratch", scratch)->required();
  CLI11_PARSE(app, argc, argv);
  try {
    if (job->parsed()) return eco::run_job(fd, scratch);
    return run_worker(std::move(options));
  } catch (const std::exception& error) {
    std::cerr << "ecod: " << error.what() << '\n';
    return 1;
  }
}
