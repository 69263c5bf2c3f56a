#include "nats_federation.h"

#include <fmt/format.h>
#include <nats/nats.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <stdexcept>
#include <string_view>

#include "clock.h"
#include "messages.h"
#include "scheduler.h"
#include "static_federation.h"

namespace eco {
namespace {

template <typename Thing, void (*destroy)(Thing*)>
struct Destroy {
  void operator()(Thing* thing) const { destroy(thing); }
};
template <typename Thing, void (*destroy)(Thing*)>
using Owned = std::unique_ptr<Thing, Destroy<Thing, destroy>>;

using Connection = Owned<natsConnection, natsConnection_Destroy>;
using Subscription = Owned<natsSubscription, natsSubscription_Destroy>;
using Message = Owned<natsMsg, natsMsg_Destroy>;
using JetStream = Owned<jsCtx, jsCtx_Destroy>;
using Bucket = Owned<kvStore, kvStore_Destroy>;
using Entry = Owned<kvEntry, kvEntry_Destroy>;
using Watcher = Owned<kvWatcher, kvWatcher_Destroy>;
using BucketStatus = Owned<kvStatus, kvStatus_Destroy>;
using ConnectionOptions = Owned<natsOptions, natsOptions_Destroy>;

constexpr int servers_per_part = 64;  // of a table: keeps messages far below NATS' limit of 1 MB
constexpr std::uint64_t beats_per_settings = 10;

void require(natsStatus status, std::string_view what) {
  if (status != NATS_OK) throw std::runtime_error(fmt::format("{}: {}", what, natsStatus_GetText(status)));
}

std::string_view bytes_of(natsMsg* message) {
  return {natsMsg_GetData(message), static_cast<std::size_t>(natsMsg_GetDataLength(message))};
}

template <typename Protobuf>
bool parse(std::string_view bytes, Protobuf& message) {
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

class NatsFederation final : public Federation {
 public:
  explicit NatsFederation(const NatsOptions& options)
      : server_(options.server),
        federation_(options.federation),
        prefix_("eco." + federation_.name + "."),
        instance_(options.server + " " + new_token()) {
    make_options(options);
  }

  ~NatsFederation() override { stop(); }

  void join(Member& member) override {
    member_ = &member;
    connect();
  }

  void beat(const proto::ServerState& own) override {
    expire_lease();
    if (given_up()) reconnect();
    if (!connected() || !buckets_ready()) return;
    if (federation_.candidate) settle_mastership();
    put_own(own);
    if (beats_++ % beats_per_settings == 0) compare_settings();
    if (standing().master) publish_table();
  }

  [[nodiscard]] Standing standing() const override {
    const std::scoped_lock lock(mutex_);
    return {.master = epoch_ != 0 && boot_clock_s() < lease_until_s_, .epoch = epoch_};
  }

  [[nodiscard]] Result<proto::Placement> place(const proto::PlaceRequest& request, double timeout_s) override {
    const auto answer = ask("place.", request.SerializeAsString(), timeout_s);
    if (!answer) return Error{answer.error()};
    proto::Placement placement;
    if (answer->empty() || !parse(*answer, placement)) return Error{"this server is no longer the master"};
    return placement;
  }

  [[nodiscard]] Result<> report(const proto::JobReport& report) override {
    const auto answer = ask("report.", report.SerializeAsString(), 0.5);
    if (!answer) return Error{answer.error()};
    if (answer->empty()) return Error{"this server is no longer the master"};
    return Done{};
  }

  [[nodiscard]] Result<proto::Settings> settings() override {
    const std::scoped_lock lock(settings_mutex_);
    auto kept = read_settings();
    if (!kept && !settings_) kept = read_settings();  // the bucket was lost; this creates it
    if (!kept) return Error{kept.error()};
    return kept->settings;
  }

  [[nodiscard]] Result<proto::Settings> change(const proto::Settings& wanted) override {
    proto::Settings changed = wanted;
    changed.set_revision(wanted.revision() + 1);
    const auto written = replace_settings(changed);
    if (!written) return Error{written.error()};
    publish("settings", changed.SerializeAsString());
    (void)natsConnection_FlushTimeout(link()->connection.get(), 500);
    return changed;
  }

  void leave() override {
    if (member_ != nullptr && connected() && buckets_ready()) {
      if (standing().master) report_failure("lease", kvStore_Delete(lease_.get(), "master"));
      report_failure("servers", kvStore_Delete(servers_.get(), server_.c_str()));
      (void)natsConnection_FlushTimeout(link()->connection.get(), 500);
    }
    stop();
  }

 private:
  void make_options(const NatsOptions& options) {
    natsOptions* made = nullptr;
    require(natsOptions_Create(&made), "NATS");
    options_.reset(made);
    std::vector<const char*> urls;
    for (const auto& url : federation_.urls) {
      urls.push_back(url.c_str());
      secure_ = secure_ || url.starts_with("tls://");
    }
    require(natsOptions_SetServers(made, urls.data(), static_cast<int>(urls.size())), "federation.urls");
    require(natsOptions_SetName(made, ("ecod " + server_).c_str()), "NATS");
    require(natsOptions_SetMaxReconnect(made, -1), "NATS");
    require(natsOptions_SetReconnectWait(made, std::min<std::int64_t>(federation_.beat_ms, 1000)), "NATS");
    require(natsOptions_SetRetryOnFailedConnect(made, true, on_connection, this), "NATS");
    require(natsOptions_SetReconnectedCB(made, on_connection, this), "NATS");
    require(natsOptions_SetDisconnectedCB(made, on_connection, this), "NATS");
    require(natsOptions_SetErrorHandler(made, on_error, this), "NATS");
    require(natsOptions_SetTimeout(made, 1000), "NATS");
    require(natsOptions_SetPingInterval(made, federation_.beat_ms), "NATS");
    require(natsOptions_SetMaxPingsOut(made, 2), "NATS");
    require(natsOptions_SetFailRequestsOnDisconnect(made, true), "NATS");
    require(natsOptions_SetIgnoreDiscoveredServers(made, true), "NATS");
    require(natsOptions_SetSendAsap(made, true), "NATS");
    if (!secure_) return;
    require(natsOptions_SetSecure(made, true), "NATS with TLS");
    require(natsOptions_LoadCATrustedCertificates(made, options.tls.ca.c_str()), "tls.ca " + options.tls.ca);
    require(natsOptions_LoadCertificatesChain(made, options.tls.certificate.c_str(), options.tls.key.c_str()),
            "tls.certificate " + options.tls.certificate);
  }

  static void on_connection(natsConnection* connection, void*) {
    const bool up = natsConnection_Status(connection) == NATS_CONN_STATUS_CONNECTED;
    spdlog::log(up ? spdlog::level::info : spdlog::level::warn, "NATS: {}",
                up ? "connected" : "the connection is lost");
  }
  static void on_error(natsConnection*, natsSubscription*, natsStatus error, void*) {
    spdlog::warn("NATS: {}", natsStatus_GetText(error));
  }

  template <void (NatsFederation::*handle)(natsMsg*)>
  static void call(natsConnection*, natsSubscription*, natsMsg* message, void* closure) {
    const Message owned(message);
    auto& self = *static_cast<NatsFederation*>(closure);
    const std::shared_lock lock(self.calls_);
    if (self.member_ != nullptr) (self.*handle)(message);
  }

  // A connection with its JetStream context and subscriptions. Users hold a reference, because a beat may replace it.
  struct Link {
    Connection connection;
    JetStream js;
    std::vector<Subscription> subscriptions;
  };

  [[nodiscard]] std::shared_ptr<Link> link() const {
    const std::scoped_lock lock(link_mutex_);
    return link_;
  }

  void connect() {
    auto link = std::make_shared<Link>();
    natsConnection* connection = nullptr;
    const natsStatus status = natsConnection_Connect(&connection, options_.get());
    link->connection.reset(connection);
    if (status != NATS_OK && status != NATS_NOT_YET_CONNECTED) require(status, "NATS");
    jsOptions js_options;
    require(jsOptions_Init(&js_options), "NATS");
    js_options.Wait = std::clamp<std::int64_t>(federation_.lease_ms / 4, 100, 2000);
    jsCtx* js = nullptr;
    require(natsConnection_JetStream(&js, connection, &js_options), "JetStream");
    link->js.reset(js);
    subscribe_all(*link);
    const std::scoped_lock lock(link_mutex_);
    link_ = std::move(link);
  }

  void subscribe_all(Link& link) {
    subscribe(link, prefix_ + "table", call<&NatsFederation::on_table>);
    subscribe(link, prefix_ + "settings", call<&NatsFederation::on_settings>);
    if (!federation_.candidate) return;
    subscribe(link, prefix_ + "place." + server_, call<&NatsFederation::on_place>);
    subscribe(link, prefix_ + "report." + server_, call<&NatsFederation::on_report>);
    // Also delivers the bucket's changes. A missed beat is followed by the next.
    subscribe(link, "$KV." + bucket_name("servers") + ".*", call<&NatsFederation::on_server>);
  }

  void subscribe(Link& link, const std::string& subject, natsMsgHandler handler) {
    natsSubscription* subscription = nullptr;
    const auto status = natsConnection_Subscribe(&subscription, link.connection.get(), subject.c_str(), handler, this);
    if (status == NATS_CONNECTION_CLOSED) return;  // closed by NATS; the next beat reconnects
    require(status, subject);
    link.subscriptions.emplace_back(subscription);
  }

  // NATS closes a connection that fails before it was established, or that is refused twice.
  [[nodiscard]] bool given_up() const {
    return natsConnection_Status(link()->connection.get()) == NATS_CONN_STATUS_CLOSED;
  }

  void reconnect() {
    complain("connection", secure_ ? "it failed and is retried: did tls.ca sign NATS' certificate, and does "
                                     "NATS trust the authority of tls.certificate?"
                                   : "it failed and is retried");
    {
      const std::scoped_lock lock(settings_mutex_);
      settings_.reset();
    }
    servers_.reset(), lease_.reset();
    try {
      connect();
    } catch (const std::exception& error) {
      complain("connection", error.what());
    }
  }

  void stop() {
    if (const auto last = link()) {
      last->subscriptions.clear();
      natsConnection_Close(last->connection.get());
    }
    const std::unique_lock lock(calls_);  // waits for running calls
    member_ = nullptr;
  }

  [[nodiscard]] bool connected() const {
    const auto last = link();
    return last && natsConnection_Status(last->connection.get()) == NATS_CONN_STATUS_CONNECTED;
  }

  [[nodiscard]] std::string bucket_name(std::string_view which) const {
    return fmt::format("eco-{}-{}", federation_.name, which);
  }

  Result<> make_bucket(std::string_view which, std::int64_t ttl_ms, Bucket& bucket) {
    if (bucket) return Done{};
    const std::string name = bucket_name(which);
    kvConfig config;
    if (kvConfig_Init(&config) != NATS_OK) return Error{"NATS: cannot create the bucket's configuration"};
    config.Bucket = name.c_str();
    config.History = 1;
    config.TTL = ttl_ms * 1'000'000;
    config.Replicas = static_cast<int>(federation_.replicas);
    kvStore* made = nullptr;
    const auto last = link();
    natsStatus status = js_CreateKeyValue(&made, last->js.get(), &config);
    // Uses a bucket that another server has created, perhaps with other times.
    if (status != NATS_OK && status != NATS_TIMEOUT) status = js_KeyValue(&made, last->js.get(), name.c_str());
    bucket.reset(made);
    if (status != NATS_OK)
      return Error{fmt::format("the key-value bucket {} with {} replicas cannot be used: {}", name,
                               federation_.replicas, natsStatus_GetText(status))};
    return Done{};
  }

  // True if NATS has lost the bucket with its storage; the next use creates it.
  [[nodiscard]] static bool is_lost(natsStatus status, const Bucket& bucket) {
    if (status == NATS_OK || status == NATS_NOT_FOUND) return false;
    if (status == NATS_NO_RESPONDERS) return true;  // answer to a write
    kvStatus* asked = nullptr;
    const natsStatus answer = kvStore_Status(&asked, bucket.get());
    const BucketStatus owned(asked);
    return answer == NATS_NOT_FOUND;
  }

  struct KeptSettings {
    proto::Settings settings;
    std::uint64_t at = 0;  // bucket revision; 0: no settings
  };

  // The caller holds settings_mutex_.
  Result<KeptSettings> read_settings() {
    if (!connected()) return Error{"NATS is not connected"};
    if (const auto ready = make_bucket("settings", 0, settings_); !ready) return Error{ready.error()};
    kvEntry* found = nullptr;
    const natsStatus status = kvStore_Get(&found, settings_.get(), "settings");
    const Entry entry(found);
    if (is_lost(status, settings_)) settings_.reset();
    KeptSettings kept;
    if (status == NATS_NOT_FOUND) return kept;
    if (status != NATS_OK) return Error{fmt::format("NATS: {}", natsStatus_GetText(status))};
    const std::string_view value(static_cast<const char*>(kvEntry_Value(found)),
                                 static_cast<std::size_t>(kvEntry_ValueLen(found)));
    if (!parse(value, kept.settings)) return Error{"NATS: the stored settings cannot be read"};
    kept.at = kvEntry_Revision(found);
    return kept;
  }

  Result<> replace_settings(const proto::Settings& settings) {
    const std::scoped_lock lock(settings_mutex_);
    const auto kept = read_settings();
    if (!kept) return Error{kept.error()};
    if (!newer(settings, kept->settings)) return Error{"another server changed the settings at the same time"};
    const std::string bytes = settings.SerializeAsString();
    const auto length = static_cast<int>(bytes.size());
    std::uint64_t at = 0;
    const natsStatus status = kept->at == 0
                                  ? kvStore_Create(&at, settings_.get(), "settings", bytes.data(), length)
                                  : kvStore_Update(&at, settings_.get(), "settings", bytes.data(), length, kept->at);
    if (status != NATS_OK) return Error{fmt::format("NATS: {}", natsStatus_GetText(status))};
    return Done{};
  }

  // Obeys the stored settings, or restores them if the storage lost them.
  void compare_settings() {
    const auto kept = settings();
    if (!kept) return complain("settings", kept.error());
    member_->heard_settings(*kept);
    const proto::Settings own = member_->settings();
    if (!newer(own, *kept)) return;
    spdlog::warn("NATS: the stored settings are older than those of {} and are replaced", server_);
    if (const auto written = replace_settings(own); !written) complain("settings", written.error());
  }

  bool buckets_ready() {
    const auto servers = make_bucket("servers", federation_.alive_ms, servers_);
    const auto lease = servers ? make_bucket("lease", federation_.lease_ms, lease_) : Result<>(Done{});
    if (servers && lease) return take_lease_time();
    complain("buckets", servers ? lease.error() : servers.error());
    return false;
  }

  // Uses the lease time of the bucket, set by its creator: with different times two servers could hold the lease.
  bool take_lease_time() {
    if (lease_s_ > 0) return true;
    kvStatus* asked = nullptr;
    const natsStatus status = kvStore_Status(&asked, lease_.get());
    const BucketStatus kept(asked);
    report_failure("lease", status);
    if (status != NATS_OK) return false;
    lease_s_ = static_cast<double>(kvStatus_TTL(asked)) * 1e-9;
    const double wanted_s = static_cast<double>(federation_.lease_ms) * 1e-3;
    if (std::abs(lease_s_ - wanted_s) > 1e-3)
      spdlog::warn("NATS: the bucket {} has a lease of {:g} s, which overrides lease_ms = {}", bucket_name("lease"),
                   lease_s_, federation_.lease_ms);
    return lease_s_ > 0;
  }

  // Logs a complaint once, not at each beat.
  void complain(std::string_view about, const std::string& what) {
    const std::string text = fmt::format("{}: {}", about, what);
    const std::scoped_lock lock(complaint_mutex_);
    if (text == complaint_) return;
    spdlog::warn("NATS: {}", text);
    complaint_ = text;
  }
  void report_failure(std::string_view about, natsStatus status) {
    if (status != NATS_OK) complain(about, natsStatus_GetText(status));
  }

  // --- the lease

  void expire_lease() {
    const std::scoped_lock lock(mutex_);
    if (epoch_ == 0 || boot_clock_s() < lease_until_s_) return;
    spdlog::warn("the lease could not be renewed in time: {} is no longer the master", server_);
    epoch_ = 0;
  }

  void settle_mastership() {
    bool held = false;
    double heard_s = 0;
    {
      const std::scoped_lock lock(mutex_);
      held = epoch_ != 0, heard_s = master_heard_s_;
    }
    if (held) return renew();
    const double silent_s = boot_clock_s() - heard_s;
    if (silent_s > 2e-3 * static_cast<double>(federation_.beat_ms)) acquire();
  }

  void renew() {
    const double sent_s = boot_clock_s();
    std::uint64_t revision = 0;
    if (kvStore_UpdateString(&revision, lease_.get(), "master", instance_.c_str(), revision_) == NATS_OK)
      return hold(epoch_, revision, sent_s);
    // The update may have succeeded although its answer was lost.
    const auto ours = our_revision();
    if (!ours) return;
    if (*ours == 0) {
      spdlog::warn("another server holds the lease: {} is no longer the master", server_);
      const std::scoped_lock lock(mutex_);
      epoch_ = 0;
    } else {
      revision_ = *ours;
    }
  }

  void acquire() {
    const double sent_s = boot_clock_s();
    std::uint64_t revision = 0;
    if (kvStore_CreateString(&revision, lease_.get(), "master", instance_.c_str()) == NATS_OK)
      return begin_mastership(revision, sent_s);
    const auto ours = our_revision();  // the key may exist although its answer was lost
    if (!ours || *ours == 0) return;
    if (kvStore_UpdateString(&revision, lease_.get(), "master", instance_.c_str(), *ours) == NATS_OK)
      begin_mastership(revision, sent_s);
  }

  // Revisions grow from master to master but restart with a new bucket.
  void begin_mastership(std::uint64_t revision, double sent_s) {
    const std::uint64_t epoch = std::max(revision, member_->epoch_known() + 1);
    hold(epoch, revision, sent_s);
    spdlog::info("{} is the master, epoch {}", server_, epoch);
    load_servers();
  }

  // Revision of our lease; 0: another server's or none; nothing: unknown.
  std::optional<std::uint64_t> our_revision() {
    kvEntry* found = nullptr;
    const natsStatus status = kvStore_Get(&found, lease_.get(), "master");
    const Entry entry(found);
    if (is_lost(status, lease_)) lease_.reset(), lease_s_ = 0;
    if (status == NATS_NOT_FOUND) return 0;
    if (status != NATS_OK) return std::nullopt;
    return kvEntry_ValueString(found) == instance_ ? kvEntry_Revision(found) : 0;
  }

  void hold(std::uint64_t epoch, std::uint64_t revision, double sent_s) {
    const std::scoped_lock lock(mutex_);
    epoch_ = epoch;
    revision_ = revision;
    lease_until_s_ = sent_s + 0.9 * lease_s_;
  }

  // Fills a new master's table with the servers that beat within alive_ms.
  void load_servers() {
    kvWatchOptions options;
    if (kvWatchOptions_Init(&options) != NATS_OK) return;
    options.IgnoreDeletes = true;
    kvWatcher* made = nullptr;
    if (kvStore_WatchAll(&made, servers_.get(), &options) != NATS_OK) return;  // the next beats fill the table
    const Watcher watcher(made);
    kvEntry* next = nullptr;
    while (kvWatcher_Next(&next, made, federation_.beat_ms) == NATS_OK && next != nullptr) {
      const Entry entry(next);
      proto::ServerState state;
      if (state.ParseFromArray(kvEntry_Value(next), kvEntry_ValueLen(next))) member_->heard_server(state);
    }
  }

  // --- messages

  void publish(const std::string& subject, const std::string& bytes) {
    report_failure(subject, natsConnection_Publish(link()->connection.get(), (prefix_ + subject).c_str(), bytes.data(),
                                                   static_cast<int>(bytes.size())));
  }

  void put_own(const proto::ServerState& own) {
    const std::string bytes = own.SerializeAsString();
    std::uint64_t revision = 0;
    const natsStatus status =
        kvStore_Put(&revision, servers_.get(), server_.c_str(), bytes.data(), static_cast<int>(bytes.size()));
    report_failure("servers", status);
    if (status == NATS_NO_RESPONDERS) servers_.reset();  // lost; the next beat creates it
  }

  void publish_table() {
    const std::uint64_t every = beats_per_table(servers_alive_);
    proto::Table whole = member_->table(beats_ % every == 0);
    servers_alive_ = whole.servers_alive();
    proto::Table part = whole;
    part.clear_servers();
    int next = 0;
    do {
      part.clear_servers();
      for (; next < whole.servers_size() && part.servers_size() < servers_per_part; ++next)
        *part.add_servers() = whole.servers(next);
      publish("table", part.SerializeAsString());
    } while (next < whole.servers_size());
  }

  Result<std::string> ask(std::string_view what, const std::string& bytes, double timeout_s) {
    std::string master;
    {
      const std::scoped_lock lock(mutex_);
      master = master_;
    }
    if (master.empty()) return Error{"no known master"};
    natsMsg* answer = nullptr;
    const auto timeout_ms = std::max<std::int64_t>(1, static_cast<std::int64_t>(timeout_s * 1e3));
    const natsStatus status =
        natsConnection_Request(&answer, link()->connection.get(), fmt::format("{}{}{}", prefix_, what, master).c_str(),
                               bytes.data(), static_cast<int>(bytes.size()), timeout_ms);
    const Message message(answer);
    if (status == NATS_TIMEOUT) return Error{"the master did not answer in time"};
    if (status != NATS_OK) return Error{fmt::format("the master is unreachable ({})", natsStatus_GetText(status))};
    return std::string(bytes_of(answer));
  }

  void answer(natsMsg* request, const std::string& bytes) {
    if (natsMsg_GetReply(request) == nullptr) return;
    const natsStatus status = natsConnection_Publish(link()->connection.get(), natsMsg_GetReply(request), bytes.data(),
                                                     static_cast<int>(bytes.size()));
    if (status != NATS_OK) spdlog::warn("NATS: an answer could not be sent: {}", natsStatus_GetText(status));
  }

  void on_table(natsMsg* message) {
    proto::Table table;
    if (!parse(bytes_of(message), table)) return;
    if (table.master() == server_) return heard_own_name(table);
    if (!member_->heard_table(table)) return;
    const std::scoped_lock lock(mutex_);
    master_ = table.master();
    master_heard_s_ = boot_clock_s();
  }

  // Handles a table under this server's name: its own, or that of another ecod with the same name.
  void heard_own_name(const proto::Table& table) {
    for (const auto& state : table.servers())
      if (state.name() == server_) member_->heard_server(state);
  }

  void on_settings(natsMsg* message) {
    proto::Settings settings;
    if (parse(bytes_of(message), settings)) member_->heard_settings(settings);
  }

  void on_server(natsMsg* message) {
    const std::string_view subject = natsMsg_GetSubject(message);
    proto::ServerState state;
    if (natsMsg_GetDataLength(message) > 0) {
      if (parse(bytes_of(message), state)) member_->heard_server(state);
      return;
    }
    const std::string name(subject.substr(subject.rfind('.') + 1));  // a deleted key: the server left
    member_->heard_gone(name);
    const std::scoped_lock lock(mutex_);
    if (name == master_) master_heard_s_ = -1e9;
  }

  void on_place(natsMsg* message) {
    proto::PlaceRequest request;
    if (!parse(bytes_of(message), request)) return answer(message, "");
    const auto placement = member_->place_for(request);
    answer(message, placement ? placement->SerializeAsString() : "");
  }

  void on_report(natsMsg* message) {
    proto::JobReport report;
    const bool heeded = parse(bytes_of(message), report) && standing().master;
    if (heeded) member_->heard_report(report);
    answer(message, heeded ? "heard" : "");
  }

  const std::string server_;
  const FederationConfig federation_;
  const std::string prefix_, instance_;
  std::shared_mutex calls_;
  Member* member_ = nullptr;
  ConnectionOptions options_;
  bool secure_ = false;  // uses TLS
  mutable std::mutex link_mutex_;
  std::shared_ptr<Link> link_;
  Bucket servers_, lease_;  // used only by the beat's thread
  double lease_s_ = 0;      // the bucket's value; 0: unknown yet
  std::uint64_t beats_ = 0, revision_ = 0;
  std::size_t servers_alive_ = 0;
  std::mutex complaint_mutex_;
  std::string complaint_;
  std::mutex settings_mutex_;
  Bucket settings_;

  mutable std::mutex mutex_;  // guards the following
  std::string master_;
  double master_heard_s_ = -1e9, lease_until_s_ = 0;
  std::uint64_t epoch_ = 0;
};

}  // namespace

std::unique_ptr<Federation> make_nats_federation(const NatsOptions& options) {
  return std::make_unique<NatsFederation>(options);
}

}  // namespace eco
