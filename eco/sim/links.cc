#include "links.h"

#include <algorithm>
#include <vector>

#include "check.h"

namespace eco::sim {

std::size_t Links::add(std::size_t id, bool back, double rate_max) {
  const Job& job = state_.jobs[id];
  const double bytes = back ? job.compaction.output.bytes : job.compaction.inputs().bytes;
  const std::size_t from = back ? job.target : job.home, to = back ? job.home : job.target;
  ECO_CHECK(from != to, id, from);
  state_.flows.push_back({.from = from,
                          .to = to,
                          .job = id,
                          .bytes = bytes,
                          .left = bytes,
                          .rate_max = rate_max,
                          .since_s = state_.now_s,
                          .returns = back});
  const std::size_t flow = state_.flows.size() - 1;
  state_.nodes[from].flows.push_back(flow), state_.nodes[to].flows.push_back(flow);
  ++state_.nodes[from].flows_out, ++state_.nodes[to].flows_in;
  return flow;
}

void Links::advance(Flow& flow) {
  const double moved = std::min(flow.left, flow.rate * (state_.now_s - flow.since_s));
  state_.jobs[flow.job].moved += moved;
  flow.since_s = state_.now_s;
  flow.left -= moved;
  Node &from = state_.nodes[flow.from], &to = state_.nodes[flow.to];
  from.bytes_out += moved, to.bytes_in += moved;
  from.out.energy.network += moved * from.tier->power.transfer_j_per_byte;
  to.out.energy.network += moved * to.tier->power.transfer_j_per_byte;
}

void Links::share(std::size_t a, std::size_t b) {
  for (const std::size_t end : {a, b})
    for (const std::size_t id : state_.nodes[end].flows) {
      Flow& flow = state_.flows[id];
      const Node &from = state_.nodes[flow.from], &to = state_.nodes[flow.to];
      const double rate = std::min({from.tier->link_bytes_s / static_cast<double>(from.flows_out),
                                    to.tier->link_bytes_s / static_cast<double>(to.flows_in), flow.rate_max});
      if (rate == flow.rate) continue;
      advance(flow);
      flow.rate = rate;
      state_.push(state_.now_s + (rate > 0 ? flow.left / rate : never), Event::Kind::flow, id, ++flow.version);
    }
}

void Links::end(std::size_t id) {
  Flow& flow = state_.flows[id];
  ECO_CHECK(!flow.over, id);
  advance(flow);
  flow.over = true;
  for (const std::size_t at : {flow.from, flow.to}) std::erase(state_.nodes[at].flows, id);
  --state_.nodes[flow.from].flows_out, --state_.nodes[flow.to].flows_in;
  share(flow.from, flow.to);
}

double Links::arrived_part(std::size_t flow) const {
  if (flow == none) return 0;
  const Flow& f = state_.flows[flow];
  const double left = f.over ? 0 : std::max(0.0, f.left - f.rate * (state_.now_s - f.since_s));
  return f.bytes > 0 ? 1 - left / f.bytes : 1;
}

}  // namespace eco::sim
