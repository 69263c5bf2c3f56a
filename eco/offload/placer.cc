#include "placer.h"

#include <fmt/format.h>
#include <grpcpp/create_channel.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include "backoff.h"
#include "eco.grpc.pb.h"

namespace eco {
namespace {

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

proto::Placement here(std::string reason) {
  proto::Placement placement;
  placement.set_reason(std::move(reason));
  return placement;
}

}  // namespace

class FixedPlacer::Impl {
 public:
  std::string address, token;
  std::mutex mutex;
  Backoff backoff;
};

FixedPlacer::FixedPlacer(std::string address, std::string token) : impl_(std::make_unique<Impl>()) {
  impl_->address = std::move(address), impl_->token = std::move(token);
}
FixedPlacer::~FixedPlacer() = default;

proto::Placement FixedPlacer::place(const proto::PlaceRequest& request) {
  if (std::ranges::find(request.avoid(), impl_->address) != request.avoid().end())
    return here(fmt::format("{} refused jobs of this database and gets none of them for a while", impl_->address));
  {
    const std::lock_guard lock(impl_->mutex);
    const double now = now_s(), left_s = impl_->backoff.left_s(impl_->address, now);
    if (left_s > 0)
      return here(fmt::format("no jobs for {:.0f} s: {} jobs failed there in a row", left_s,
                              impl_->backoff.failures(impl_->address)));
    impl_->backoff.began(impl_->address, now);
  }
  proto::Placement placement;
  placement.set_offload(true);
  placement.set_server(impl_->address), placement.set_address(impl_->address), placement.set_token(impl_->token);
  placement.set_reason("the only worker");
  return placement;
}

void FixedPlacer::report(const proto::JobReport& report) {
  const std::lock_guard lock(impl_->mutex);
  if (report.outcome() == "installed")
    impl_->backoff.succeeded(impl_->address);
  else if (report.outcome().starts_with("fell back") && !report.cancelled() && !report.job_refused())
    impl_->backoff.failed(impl_->address, report.wasted_s(), now_s());
}

class NodePlacer::Impl {
 public:
  Impl(const std::string& socket, int deadline_ms)
      : deadline(deadline_ms),
        stub(proto::Node::NewStub(grpc::CreateChannel(socket, grpc::InsecureChannelCredentials()))) {}

  void bound(grpc::ClientContext& context) const { context.set_deadline(std::chrono::system_clock::now() + deadline); }

  std::chrono::milliseconds deadline;
  std::unique_ptr<proto::Node::Stub> stub;
};

NodePlacer::NodePlacer(const std::string& socket, int deadline_ms)
    : impl_(std::make_unique<Impl>(socket, deadline_ms)) {}
NodePlacer::~NodePlacer() = default;

proto::Placement NodePlacer::place(const proto::PlaceRequest& request) {
  grpc::ClientContext context;
  impl_->bound(context);
  proto::Placement placement;
  const grpc::Status status = impl_->stub->Place(&context, request, &placement);
  return status.ok() ? placement : here("no ecod answers: " + status.error_message());
}

void NodePlacer::report(const proto::JobReport& report) {
  grpc::ClientContext context;
  impl_->bound(context);
  proto::Empty nothing;
  // ecod does not answer; it learns from the next job.
  if (!impl_->stub->Report(&context, report, &nothing).ok()) return;
}

}  // namespace eco
