/* Texts of errors. */
#include "api.h"

#if LUNAR_WITH_TEXTS
const char* lunar_error_text(int error) {
  static const char* const texts[] = {
      "no error",
      "the device failed",
      "the volume is damaged",
      "the device is full",
      "no row has this key",
      "it exists already",
      "an argument or a field of the configuration is invalid",
      "the row is too large for a block of the largest class",
      "no table has this name",
      "the volume has no room for a further table; format it with a larger tables_max",
      "a transaction is open, or none is",
      "the log is too short for this transaction or index, which has been undone",
      "the buffer is too small",
      "the device is too small, or smaller than the volume on it",
      "there is no lunar volume on the device",
      "the volume was made by another version of lunar",
      "an earlier error of the device ended this handle; mount again",
      "not available in this mode or build",
      "the power went in mode none: mount in mode none, check, unmount",
      "the text is not of lunar's SQL",
      "the table is not as it was when the statement was prepared; prepare it again",
      "the volume is mounted by another handle; unmount that first",
      "the tree index has reached its greatest height; use an index by hashing, or shorter keys",
      "rows were moved to make room, so that the cursor would miss them; open it again",
      "the device has another volume than the mounted one; mount again",
      "the program has stopped the check",
  };
  _Static_assert(sizeof texts / sizeof texts[0] == 1 - LUNAR_E_STOPPED, "a text for each error");
  const unsigned i = error < 0 ? 0u - (unsigned)error : 0u;
  return i < sizeof texts / sizeof texts[0] ? texts[i] : "unknown error";
}
const char* lunar_invalid_argument(const struct lunar* db) { return db && db->invalid ? db->invalid : ""; }
#else
const char* lunar_invalid_argument(const struct lunar* db) {
  (void)db;
  return "";
}
const char* lunar_error_text(int error) { return error ? "" : "no error"; }
const char* lunar_config_fault(const struct lunar_config* config) {
  (void)config;
  return "";
}
const char* lunar_schema_fault(const struct lunar_schema* schema) {
  (void)schema;
  return "";
}
int lunar_values_fault(const struct lunar_table* table, const struct lunar_value* values) {
  (void)table, (void)values;
  return -1;
}
#endif
