"""Earlier formats of the store, and how a store becomes one of the present format.

Format 5 has no notes and gives the number of a deleted experiment to the next one. Format 6 has no runs of a database
that is not here.
"""

from __future__ import annotations

import contextlib
import sqlite3

from edgejoule.store.notes import NOTES_SCHEMA
from edgejoule.version import __version__

SCHEMA_VERSION = 7
READABLE = (5, 6, SCHEMA_VERSION)  # a store of another format is refused
NOTES_SINCE = 6

EXPERIMENTS_SCHEMA = """
CREATE TABLE experiments (
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, question TEXT NOT NULL, spec_toml TEXT NOT NULL,
  spec_json TEXT NOT NULL, spec_sha256 TEXT NOT NULL, seed INTEGER NOT NULL, created_realtime_ns INTEGER NOT NULL,
  energy_words TEXT NOT NULL, energy_min_ratio REAL, environment_json TEXT NOT NULL);
"""

RUNS_SCHEMA = """
CREATE TABLE runs (
  id INTEGER PRIMARY KEY, experiment_id INTEGER NOT NULL REFERENCES experiments(id), run_index INTEGER NOT NULL,
  attempt INTEGER NOT NULL DEFAULT 0, block INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('planned', 'finished', 'failed', 'not_here')), cause TEXT,
  flags_json TEXT NOT NULL, started_realtime_ns INTEGER, settings_json TEXT NOT NULL,
  active_start_ns INTEGER, active_end_ns INTEGER, settled_end_ns INTEGER, settled_complete INTEGER,
  database_json TEXT, durability_json TEXT, meters_json TEXT NOT NULL, facts_json TEXT,
  UNIQUE (experiment_id, run_index, attempt));
"""

#: A new table takes the name last, so that the references of other tables stay.
#: Source: sqlite.org/lang_altertable.html, section 7.
_FROM_5 = f"""
{EXPERIMENTS_SCHEMA.replace("experiments", "experiments_6")}
INSERT INTO experiments_6 SELECT * FROM experiments;
DROP TABLE experiments;
ALTER TABLE experiments_6 RENAME TO experiments;
{NOTES_SCHEMA}
"""
_FROM_6 = f"""
{RUNS_SCHEMA.replace("TABLE runs", "TABLE runs_7")}
INSERT INTO runs_7 SELECT * FROM runs;
DROP TABLE runs;
ALTER TABLE runs_7 RENAME TO runs;
PRAGMA user_version = {SCHEMA_VERSION};
"""


def upgrade(connection: sqlite3.Connection) -> int:
    """Changes a store to the present format, whole or not at all; the format then in force. A file that cannot be
    written keeps its format and can be read. Before foreign keys are switched on.
    """
    try:
        connection.execute("BEGIN IMMEDIATE")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version != SCHEMA_VERSION:  # another process may have changed it just now
            for statement in f"{_FROM_5 if version == 5 else ''}{_FROM_6}".split(";"):
                connection.execute(statement)
        connection.execute("COMMIT")
    except sqlite3.OperationalError as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_READONLY:
            raise
        return int(connection.execute("PRAGMA user_version").fetchone()[0])
    return SCHEMA_VERSION


def refusal(connection: sqlite3.Connection, version: int) -> str:
    """Says which edgejoule wrote a store of another format, as far as it is known, and what to do."""
    written = None
    with contextlib.suppress(sqlite3.Error):  # another format may have other tables
        sql = "SELECT json_extract(environment_json, '$.edgejoule') FROM experiments ORDER BY id DESC LIMIT 1"
        written = (connection.execute(sql).fetchone() or [None])[0]
    age = "later" if version > SCHEMA_VERSION else "earlier"
    writer = f"an {age} edgejoule" if age == "earlier" else f"a {age} edgejoule"
    writer += f" ({written})" if written and written != __version__ else ""
    readable = f"{', '.join(map(str, READABLE[:-1]))} and {READABLE[-1]}"
    return (
        f"store format {version}, written by {writer}; this is edgejoule {__version__}, which reads the formats "
        f"{readable}. Use that edgejoule for this store, or name another store: --store PATH"
    )
