-- The tables of workbench.sqlite (assay.web.people).
CREATE TABLE IF NOT EXISTS people (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, role TEXT NOT NULL, made REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS links (
    hash BLOB PRIMARY KEY, person INTEGER NOT NULL REFERENCES people (id), until REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sessions (
    hash BLOB PRIMARY KEY, person INTEGER NOT NULL REFERENCES people (id),
    csrf TEXT NOT NULL, made REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS entering (
    session BLOB PRIMARY KEY REFERENCES sessions (hash),
    link BLOB NOT NULL REFERENCES links (hash)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS topics (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, range REAL NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS units (
    id INTEGER PRIMARY KEY, task TEXT NOT NULL, hash TEXT NOT NULL UNIQUE,
    topic INTEGER NOT NULL REFERENCES topics (id), place INTEGER NOT NULL,
    content TEXT NOT NULL, passes INTEGER NOT NULL, labelled INTEGER NOT NULL DEFAULT 0,
    wanted INTEGER NOT NULL DEFAULT 1, machine TEXT NOT NULL DEFAULT '', sure REAL
);
CREATE INDEX IF NOT EXISTS units_open ON units (task, place)
    WHERE wanted AND labelled < passes;
CREATE INDEX IF NOT EXISTS units_topic ON units (topic);
DROP INDEX IF EXISTS units_counted;
CREATE INDEX IF NOT EXISTS units_by_topic ON units (task, wanted, topic, passes, labelled);
CREATE INDEX IF NOT EXISTS topics_range ON topics (range DESC);
CREATE INDEX IF NOT EXISTS units_failed ON units (task, place)
    WHERE wanted AND machine = 'failed';
CREATE INDEX IF NOT EXISTS units_sure ON units (task, sure, place)
    WHERE wanted AND sure IS NOT NULL;
CREATE INDEX IF NOT EXISTS units_unknown ON units (topic, task, place)
    WHERE wanted AND labelled = 0 AND machine != 'ok';
CREATE INDEX IF NOT EXISTS units_done ON units (task, place)
    WHERE wanted AND labelled >= passes;
CREATE TABLE IF NOT EXISTS given (
    unit INTEGER NOT NULL REFERENCES units (id), person INTEGER NOT NULL REFERENCES people (id),
    uid TEXT NOT NULL, row INTEGER NOT NULL, verdict TEXT NOT NULL, mode TEXT NOT NULL,
    at REAL NOT NULL, PRIMARY KEY (unit, person, mode)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS given_when ON given (person, at);
CREATE TABLE IF NOT EXISTS reserved (
    unit INTEGER NOT NULL REFERENCES units (id), person INTEGER NOT NULL REFERENCES people (id),
    until REAL NOT NULL, PRIMARY KEY (unit, person)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS asides (
    unit INTEGER NOT NULL REFERENCES units (id), person INTEGER NOT NULL REFERENCES people (id),
    kind TEXT NOT NULL, text TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY (unit, person, kind)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS asides_kind ON asides (kind, person, unit);
CREATE TABLE IF NOT EXISTS drawn (unit INTEGER PRIMARY KEY REFERENCES units (id));
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
