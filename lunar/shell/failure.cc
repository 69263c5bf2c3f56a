#include "failure.h"

#include "lunar.h"

namespace shell {
namespace {

const char* what_to_do(int error) {
  switch (error) {
    case LUNAR_E_CORRUPT:
      return "`.check` shows where; `lunar --read-only IMAGE \".export TABLE FILE\"` saves every row that can be read; "
             "`.repair TABLE` gives up the others";
    case LUNAR_E_FULL:
      return "delete rows or drop a table, or `.export` the tables into a larger image";
    case LUNAR_E_TABLES:
      return "`lunar --format --tables N` creates a volume with room for more tables";
    case LUNAR_E_TXN:
      return "ROLLBACK ends a transaction that is open or was lost by an error";
    case LUNAR_E_TXN_FULL:
      return "split it, or use a volume with a larger log (`lunar --format --log 16M`)";
    case LUNAR_E_DEVICE:
      return "if the image was truncated, make a copy as large as it was (`truncate -s SIZE COPY`): `.export` saves "
             "what "
             "is left";
    case LUNAR_E_NO_VOLUME:
      return "`lunar --format` creates one, and overwrites what is there; see `lunar --help`";
    case LUNAR_E_FAILED:
      return "restart lunar; committed data is safe";
    case LUNAR_E_UNCLEAN:
      return "`lunar --mode none IMAGE .check` does so";
    default:
      return nullptr;
  }
}

}  // namespace

std::string advice(int error) {
  const auto* next = what_to_do(error);
  const std::string text = lunar_error_text(error);
  return next != nullptr ? text + "; " + next : text;
}

}  // namespace shell
