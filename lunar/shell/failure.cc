#include "failure.h"

#include "lunar.h"

namespace shell {
namespace {

const char* what_to_do(int error) {
  switch (error) {
    case LUNAR_E_CORRUPT:
      return "`.check` says where; `.export TABLE FILE` saves what can be read";
    case LUNAR_E_FULL:
      return "delete rows or drop a table, or `.export` the tables into a larger image";
    case LUNAR_E_TABLES:
      return "`lunar --format --tables N` makes a volume with room for more";
    case LUNAR_E_TXN:
      return "where one is open, or was lost by an error, ROLLBACK ends it";
    case LUNAR_E_TXN_FULL:
      return "do it in parts, or in a volume with a larger log (`lunar --format --log 16M`)";
    case LUNAR_E_DEVICE:
      return "an image may have been cut short, or is none";
    case LUNAR_E_NO_VOLUME:
      return "`lunar --format` makes one; see `lunar --help`";
    case LUNAR_E_FAILED:
      return "what was committed is there when you start anew";
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
