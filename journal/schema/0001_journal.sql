-- The log. seq runs from 1 without a gap; at is microseconds since 1970 UTC and never falls; hash covers the
-- predecessor's hash and this row.
CREATE TABLE records(
	seq INTEGER PRIMARY KEY,
	stream TEXT NOT NULL,
	at INTEGER NOT NULL,
	body BLOB NOT NULL,
	hash BLOB NOT NULL
) STRICT;

-- The index. bucket is seq >> 9, so that inserts touch the newest pages only, whatever the hashes are.
CREATE TABLE keys(
	bucket INTEGER NOT NULL,
	hash INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	PRIMARY KEY(bucket, hash, seq)
) STRICT, WITHOUT ROWID;

-- The filters, which say in which full buckets a key may be. id is page << 32 | group, where a group is 64 buckets; bits
-- follows from the keys of those buckets.
CREATE TABLE filters(
	id INTEGER PRIMARY KEY,
	bits BLOB NOT NULL
) STRICT;

-- The state that the records up to seq fold to; hash covers that record's hash and the state.
CREATE TABLE snapshots(
	id INTEGER PRIMARY KEY CHECK (id = 1),
	seq INTEGER NOT NULL,
	hash BLOB NOT NULL,
	state BLOB NOT NULL
) STRICT;

CREATE TRIGGER records_are_not_changed BEFORE UPDATE ON records
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;

CREATE TRIGGER records_are_not_removed BEFORE DELETE ON records
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;

CREATE TRIGGER keys_are_not_changed BEFORE UPDATE ON keys
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;

CREATE TRIGGER keys_are_not_removed BEFORE DELETE ON keys
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
