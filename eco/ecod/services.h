// The node's gRPC services for this server's applications, its operator, and the members of a static master.
#pragma once

#include <map>
#include <mutex>

#include "eco.grpc.pb.h"
#include "node.h"

namespace eco {

class NodeService final : public proto::Node::Service {
 public:
  explicit NodeService(Node& node) : node_(node) {}
  grpc::Status Place(grpc::ServerContext* context, const proto::PlaceRequest* request,
                     proto::Placement* answer) override;
  grpc::Status Report(grpc::ServerContext* context, const proto::JobReport* report, proto::Empty* answer) override;

 private:
  Node& node_;
};

class ControlService final : public proto::Control::Service {
 public:
  explicit ControlService(Node& node) : node_(node) {}
  grpc::Status Servers(grpc::ServerContext* context, const proto::Empty* request,
                       proto::FederationView* answer) override;
  grpc::Status Decisions(grpc::ServerContext* context, const proto::DecisionsRequest* request,
                         proto::DecisionLog* answer) override;
  grpc::Status SetPolicy(grpc::ServerContext* context, const proto::PolicyRequest* request,
                         proto::Empty* answer) override;
  grpc::Status Drain(grpc::ServerContext* context, const proto::DrainRequest* request, proto::Empty* answer) override;
  grpc::Status Kill(grpc::ServerContext* context, const proto::KillRequest* request, proto::Empty* answer) override;

 private:
  Node& node_;
};

class MasterService final : public proto::Master::Service {
 public:
  MasterService(Node& node, Federation& federation) : node_(node), federation_(federation) {}
  grpc::Status Place(grpc::ServerContext* context, const proto::PlaceRequest* request,
                     proto::Placement* answer) override;
  grpc::Status Beat(grpc::ServerContext* context, const proto::ServerState* state, proto::Table* answer) override;
  grpc::Status Report(grpc::ServerContext* context, const proto::JobReport* report, proto::Empty* answer) override;
  grpc::Status Change(grpc::ServerContext* context, const proto::Settings* settings, proto::Settings* answer) override;

 private:
  Node& node_;
  Federation& federation_;
  std::mutex mutex_;
  std::map<std::string, std::uint64_t> beats_;  // by server, since its last full table
};

}  // namespace eco
