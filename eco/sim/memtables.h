// The memtables of the applications: they fill, wait for their flush, and become tables of level 0.
#pragma once

#include "processors.h"
#include "state.h"

namespace eco::sim {

class Memtables {
 public:
  Memtables(State& state, Processors& processors) : state_(state), processors_(processors) {}

  // An empty memtable, for entries of a size that is drawn.
  void next(Node& node);
  // The memtable is full: the next one takes over, or the application waits for a flush.
  void switch_memtable(Node& node);
  // The oldest full memtable has become a table of level 0.
  void flushed(std::size_t i);

 private:
  void flush(Node& node);

  State& state_;
  Processors& processors_;
};

}  // namespace eco::sim
