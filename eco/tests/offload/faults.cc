// eco-faults: measures what a database loses if its worker, the network or a disk fails. Injects each fault into every
// other job of a database until it has occurred often enough. Prints a table of the losses.
#include <fmt/format.h>
#include <rocksdb/file_system.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "bench_bed.h"
#include "compat.h"
#include "failing_files.h"

namespace {

using namespace eco::test;
using eco::proto::FromPrimary;
using eco::proto::FromWorker;
using Fate = Wire::Fate;

// State that the faults use.
class Scene {
 public:
  explicit Scene(WorkerProcess& worker) : worker_(worker) {}

  WorkerProcess& worker() { return worker_; }
  // Every other job has the fault once.
  bool strikes(int job) {
    const std::lock_guard lock(mutex_);
    return job % 2 == 0 && !rests_ && struck_.insert(job).second;
  }
  bool rests() {
    const std::lock_guard lock(mutex_);
    return rests_;
  }
  void rest() {
    const std::lock_guard lock(mutex_);
    rests_ = true;
  }
  bool is_struck(int job) {
    const std::lock_guard lock(mutex_);
    return struck_.contains(job);
  }
  std::size_t fired() {
    const std::lock_guard lock(mutex_);
    return struck_.size() + other_;
  }
  void strike_otherwise() {
    const std::lock_guard lock(mutex_);
    ++other_;
  }

 private:
  WorkerProcess& worker_;
  std::mutex mutex_;
  std::set<int> struck_;
  std::size_t other_ = 0;
  bool rests_ = false;
};

void signal_jobs(WorkerProcess& worker, int signal) {
  for (const pid_t job : worker.jobs()) ::kill(job, signal);
}

// Returns the end of the group "{...}" at `at` in a result's text.
std::size_t group_end(const std::string& text, std::size_t at) {
  int depth = 0;
  for (std::size_t i = at; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return i + 1;
  }
  return text.size();
}

// Removes the first table from a result. Returns false if it has only one.
bool leave_out_table(std::string& text) {
  constexpr std::string_view member = "output_files={";
  const auto list = text.find(member);
  if (list == std::string::npos) return false;
  const auto first = list + member.size(), end = group_end(text, first);
  if (end >= text.size() || text[end] != ':') return false;
  text.erase(first, end + 1 - first);
  return true;
}

struct Fault {
  std::string name;
  std::function<Wire::ToPrimary(Scene&)> to_primary = {};
  std::function<Wire::ToWorker(Scene&)> to_worker = {};
  bool primary_disk_full = false, worker_disk_full = false;
  double local_s = 0;  // duration of a local compaction, according to the placer; 0: unknown
  // Alters a table that the worker has written to the shared folder; null: no shared folder.
  std::function<void(const std::filesystem::path& table)> shared_table = {};
};

template <typename Alter>
std::function<Wire::ToPrimary(Scene&)> on_result(Alter alter) {
  return [alter](Scene& scene) {
    return [alter, &scene](int job, FromWorker& message) {
      if (!message.has_result() || job % 2 != 0 || scene.rests()) return Fate::pass;
      if (alter(job, *message.mutable_result()->mutable_output())) (void)scene.strikes(job);
      return Fate::pass;
    };
  };
}

template <typename Alter>
std::function<Wire::ToPrimary(Scene&)> on_output(Alter alter) {
  return [alter](Scene& scene) {
    return [alter, &scene](int job, FromWorker& message) {
      if (!message.has_output() || message.output().data().empty() || !scene.strikes(job)) return Fate::pass;
      return alter(scene, message);
    };
  };
}

std::vector<Fault> faults(std::uint64_t seed) {
  const auto random = std::make_shared<std::mt19937_64>(seed);
  std::vector<Fault> all;
  all.push_back({.name = "none"});
  all.push_back({.name = "job's process killed", .to_primary = on_output([](Scene& scene, FromWorker&) {
                                                   signal_jobs(scene.worker(), SIGKILL);
                                                   return Fate::pass;
                                                 })});
  all.push_back({.name = "worker killed", .to_primary = on_output([](Scene& scene, FromWorker&) {
                                            scene.worker().restart();
                                            return Fate::pass;
                                          })});
  all.push_back({.name = "hung", .to_primary = on_output([](Scene& scene, FromWorker&) {
                                   signal_jobs(scene.worker(), SIGSTOP);
                                   return Fate::pass;
                                 })});
  all.push_back({.name = "slow",
                 .to_worker =
                     [](Scene& scene) {
                       return [&scene](int job, FromPrimary& message) {
                         if (message.has_start()) (void)scene.strikes(job);
                         if (message.has_bytes() && scene.is_struck(job))
                           std::this_thread::sleep_for(std::chrono::milliseconds(150));
                         return Fate::pass;
                       };
                     },
                 .local_s = 0.3});
  all.push_back({.name = "garbage result", .to_primary = on_result([random](int, std::string& text) {
                                             for (char& c : text) c = static_cast<char>((*random)());
                                             return true;
                                           })});
  all.push_back({.name = "truncated result", .to_primary = on_result([random](int, std::string& text) {
                                               // Removes at least two bytes, because the last one only ends the text.
                                               text.resize((*random)() % (text.size() - 1));
                                               return true;
                                             })});
  all.push_back({.name = "truncated table", .to_primary = on_output([](Scene&, FromWorker& message) {
                                              auto& data = *message.mutable_output()->mutable_data();
                                              data.resize(data.size() / 2);
                                              return Fate::pass;
                                            })});
  all.push_back({.name = "bit flip", .to_primary = on_output([random](Scene&, FromWorker& message) {
                                       auto& data = *message.mutable_output()->mutable_data();
                                       data[(*random)() % data.size()] ^= static_cast<char>(1 << ((*random)() % 8));
                                       return Fate::pass;
                                     })});
  all.push_back({.name = "table left out of the result",
                 .to_primary = on_result([](int, std::string& text) { return leave_out_table(text); })});
  all.push_back(
      {.name = "table left out on the way", .to_primary = [](Scene& scene) {
         return [&scene, left_out = std::make_shared<std::map<int, std::string>>()](int job, FromWorker& message) {
           if (!message.has_output()) return Fate::pass;
           if (scene.strikes(job)) (*left_out)[job] = message.output().file();
           const auto found = left_out->find(job);
           return found != left_out->end() && found->second == message.output().file() ? Fate::drop : Fate::pass;
         };
       }});
  all.push_back({.name = "connection cut", .to_primary = on_output([](Scene&, FromWorker&) { return Fate::cut; })});
  all.push_back({.name = "partition", .to_primary = on_output([](Scene&, FromWorker&) { return Fate::hang; })});
  all.push_back({.name = "disk full at the worker", .worker_disk_full = true});
  all.push_back({.name = "disk full at the primary", .primary_disk_full = true});
  // From 9.1 on RocksDB compares this number with its tables; a difference is an error of the database.
  if (ECO_ROCKSDB_GE(9, 1))
    all.push_back({.name = "another number of input entries", .to_primary = on_result([](int, std::string& text) {
                                                                const auto at = text.find("num_input_records=");
                                                                text.insert(text.find('=', at) + 1, "1");
                                                                return true;
                                                              })});
  all.push_back({.name = "version skew: another release", .to_worker = [](Scene& scene) {
                   return [&scene](int job, FromPrimary& message) {
                     if (message.has_start() && scene.strikes(job)) message.mutable_start()->set_rocksdb("8.11.4");
                     return Fate::pass;
                   };
                 }});
  all.push_back({.name = "version skew: a result's new member", .to_primary = on_result([](int, std::string& text) {
                                                                  text.insert(4, "file_temperature=kUnknown;");
                                                                  return true;
                                                                })});
  // Faults of tables that the worker writes to a shared folder.
  namespace fs = std::filesystem;
  all.push_back({.name = "shared: bit flip", .shared_table = [random](const fs::path& table) {
                   std::fstream file(table, std::ios::in | std::ios::out | std::ios::binary);
                   const auto at = static_cast<std::streamoff>((*random)() % fs::file_size(table));
                   file.seekg(at);
                   const int byte = file.get() ^ (1 << ((*random)() % 8));
                   file.seekp(at);
                   file.put(static_cast<char>(byte));
                 }});
  all.push_back({.name = "shared: truncated table",
                 .shared_table = [](const fs::path& table) { fs::resize_file(table, fs::file_size(table) / 2); }});
  all.push_back({.name = "shared: table gone", .shared_table = [](const fs::path& table) { fs::remove(table); }});
  all.push_back({.name = "shared: a link in its place", .shared_table = [](const fs::path& table) {
                   const fs::path elsewhere = table.parent_path() / "elsewhere";
                   fs::rename(table, elsewhere);
                   fs::create_symlink(elsewhere, table);
                 }});
  return all;
}

struct Wanted {
  std::size_t times = 20, installed = 50;
  bool one_stream = false;
};

struct Row {
  std::size_t fired = 0;
  eco::Statistics statistics;
  Bed::Difference live, reopened;
  std::uint64_t background_errors = 0;
  bool left_over = false;

  [[nodiscard]] bool lost() const {
    return live != Bed::Difference{} || reopened != Bed::Difference{} || background_errors > 0 || left_over;
  }
};

Row run(const Fault& fault, const Wanted& wanted, std::uint64_t seed) {
  TemporaryFolder folder;
  const std::filesystem::path home = std::filesystem::canonical(folder / "");
  std::vector<std::string> arguments;
  if (fault.shared_table) {
    std::filesystem::create_directory_symlink(home, folder / "mount");
    arguments = {"--shared-directory", home.string() + "=" + (folder / "mount")};
  }
  WorkerProcess worker(folder / "scratch", arguments, fault.worker_disk_full ? 40 : 0);
  Scene scene(worker);
  const auto strike_shared = [&](int job, FromWorker& message) {
    if (!message.output().shared() || !scene.strikes(job)) return Fate::pass;
    for (const auto& staging : std::filesystem::directory_iterator(home / "db/eco-staging"))
      if (const auto table = staging.path() / message.output().file(); std::filesystem::exists(table))
        fault.shared_table(table);
    return Fate::pass;
  };
  Wire wire(worker.address(),
            fault.shared_table ? Wire::ToPrimary(strike_shared)
            : fault.to_primary ? fault.to_primary(scene)
                               : Wire::ToPrimary(),
            fault.to_worker ? fault.to_worker(scene) : Wire::ToWorker(), !wanted.one_stream);
  rocksdb::Options options = small_tables();
  std::unique_ptr<rocksdb::Env> env;
  if (fault.primary_disk_full) {
    env = rocksdb::NewCompositeEnv(std::make_shared<FailingFiles>("/eco-staging/", [&scene] {
      static std::atomic<int> written{0};
      if (scene.rests() || ++written % 3 != 0) return false;
      scene.strike_otherwise();
      return true;
    }));
    options.env = env.get();
  }
  const auto placer = std::make_shared<StubbornPlacer>(wire.address(), fault.local_s);
  eco::Settings settings{.placer = placer, .heartbeat_s = 1};
  if (fault.shared_table) settings.shared_directory = home.string();
  const auto service = eco::attach(options, settings);
  Row row;
  {
    Bed bed(folder / "db", options);
    const auto fired = [&] {
      return fault.worker_disk_full ? static_cast<std::size_t>(service->statistics().fell_back) : scene.fired();
    };
    const bool none = fault.name == "none";
    for (std::uint64_t batch = 0; batch < 1000; ++batch) {
      const std::size_t so_far = none ? wanted.times : fired();
      // Enough faults: later jobs have none.
      if (so_far >= wanted.times && !scene.rests()) {
        scene.rest();
        placer->set_local_s(0);  // this machine may be busy
        if (fault.worker_disk_full) worker.make_room();
      }
      if (so_far >= wanted.times && service->statistics().installed >= wanted.installed) break;
      bed.write(6000, seed + batch);
      bed.settle();
    }
    row.fired = none ? 0 : fired();
    row.statistics = service->statistics();
    row.live = bed.difference();
    rocksdb::Options plain = small_tables();
    bed.reopen(plain);
    row.reopened = bed.difference();
    if (!bed.db().VerifyChecksum().ok()) ++row.background_errors;
    row.background_errors += bed.background_errors();
    row.left_over = std::filesystem::exists(folder / "db/eco-staging");
  }
  return row;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"eco-faults: what a database loses when its worker, the network or a disk fails"};
  Wanted wanted;
  std::uint64_t seed = std::random_device{}();
  std::string only;
  app.add_option("--times", wanted.times, "how often each fault strikes")->capture_default_str();
  app.add_option("--installed", wanted.installed, "and so many jobs go well")->capture_default_str();
  app.add_flag("--one-stream", wanted.one_stream, "no data connections: the tables go over the stream");
  app.add_option("--seed", seed, "of the keys and of what is altered");
  app.add_option("--only", only, "one fault, by its name");
  CLI11_PARSE(app, argc, argv);
  fmt::print("seed {}\n{:<36} {:>5} {:>9} {:>9} {:>5} {:>5} {:>5} {:>9} {:>8}  {}\n", seed, "fault", "fired",
             "installed", "fell back", "lost", "stale", "back", "bg errors", "wasted s", "last reason");
  bool bad = false;
  for (const auto& fault : faults(seed)) {
    if (!only.empty() && fault.name != only) continue;
    const Row row = run(fault, wanted, seed);
    fmt::print("{:<36} {:>5} {:>9} {:>9} {:>5} {:>5} {:>5} {:>9} {:>8.2f}  {}{}\n", fault.name, row.fired,
               row.statistics.installed, row.statistics.fell_back, row.live.lost + row.reopened.lost,
               row.live.stale + row.reopened.stale, row.live.back + row.reopened.back, row.background_errors,
               row.statistics.wasted_s, row.statistics.last_reason.substr(0, 90), row.left_over ? " ORPHANS" : "");
    std::cout.flush();
    const bool none = fault.name == "none";
    bad = bad || row.lost() || (!none && row.fired < wanted.times);
    if (!none && row.statistics.fell_back < wanted.times) bad = true;
    if (none && row.statistics.fell_back > 0) bad = true;
    if (row.statistics.installed < wanted.installed) bad = true;
  }
  return bad ? 1 : 0;
}
