// The applications' memtables: they fill, wait for their flush and become level 0 tables.
#pragma once

#include "processors.h"
#include "state.h"

namespace eco::sim {

class Memtables {
 public:
  Memtables(State& state, Processors& processors) : state_(state), processors_(processors) {}

  // Starts an empty memtable, with a drawn entry size.
  void next(Node& node);
  // The memtable is full: switches to the next one, or the application waits for a flush.
  void switch_memtable(Node& node);
  // The oldest full memtable has become a level 0 table.
  void flushed(std::size_t i);

 private:
  void flush(Node& node);

  State& state_;
  Processors& processors_;
};

}  // namespace eco::sim
