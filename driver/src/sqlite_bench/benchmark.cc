#include "benchmark.h"

namespace edgejoule::driver {

const std::vector<SqliteBenchmark>& sqlite_benchmarks() {
  using enum SqliteBenchmark::Deed;
  static const std::vector<SqliteBenchmark> benchmarks{{"fillseq", fill, true, false, 1, 1, 0},
                                                       {"fillseqsync", fill, true, true, 1, 100, 0},
                                                       {"fillseqbatch", fill, true, false, 1000, 1, 0},
                                                       {"fillrandom", fill, false, false, 1, 1, 0},
                                                       {"fillrandsync", fill, false, true, 1, 100, 0},
                                                       {"fillrandbatch", fill, false, false, 1000, 1, 0},
                                                       {"overwrite", overwrite, false, false, 1, 1, 0},
                                                       {"overwritebatch", overwrite, false, false, 1000, 1, 0},
                                                       {"readrandom", read, false, false, 1, 1, 0},
                                                       {"readseq", read, true, false, 1, 1, 0},
                                                       {"fillrand100K", fill, false, false, 1, 1000, 100'000},
                                                       {"fillseq100K", fill, true, false, 1, 1000, 100'000},
                                                       {"readrand100K", read, false, false, 1, 1000, 100'000}};
  return benchmarks;
}

}  // namespace edgejoule::driver
