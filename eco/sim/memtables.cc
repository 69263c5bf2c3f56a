#include "memtables.h"

#include "check.h"

namespace eco::sim {

void Memtables::next(Node& node) {
  Application& app = node.app;
  app.memtable = 0;
  if (app.workload == nullptr) return;
  const auto& sizes = app.workload->value_bytes;
  const auto choice = static_cast<std::size_t>(node.dice.uniform() * static_cast<double>(sizes.size()));
  app.entry_bytes = app.workload->key_bytes + sizes[choice];
  const Costs& costs = node.tier->costs;
  app.capacity = state_.spec.database.write_buffer_bytes * (1 - costs.memtable_unused) * app.entry_bytes /
                 (app.entry_bytes + costs.memtable_bytes_per_entry);
}

void Memtables::switch_memtable(Node& node) {
  Application& app = node.app;
  app.waits_for_flush = static_cast<double>(app.full.size()) + 1 >= state_.spec.database.max_write_buffer_number;
  if (app.waits_for_flush) return;
  app.full.push_back({app.memtable * app.workload->stored, app.memtable / app.entry_bytes});
  next(node);
  if (app.full.size() == 1) flush(node);
}

void Memtables::flush(Node& node) {
  ECO_CHECK(!node.app.full.empty());
  const Amount& memtable = node.app.full.front();
  const Costs& costs = node.tier->costs_of(node.app.workload->codec);
  processors_.start(
      node, Task::Kind::flush, 0,
      costs.flush_s_per_entry * memtable.entries + costs.flush_s_per_byte * memtable.bytes / node.app.workload->stored);
}

void Memtables::flushed(std::size_t i) {
  Node& node = state_.nodes[i];
  Application& app = node.app;
  node.database.add_file(app.full.front());
  app.full.erase(app.full.begin());
  if (!app.full.empty()) flush(node);
  if (app.waits_for_flush) switch_memtable(node);
}

}  // namespace eco::sim
