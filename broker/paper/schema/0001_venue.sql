-- Rows of the ledger are never deleted, and events are counted in the account, so that both are numbered from 1 without
-- a gap, whatever is rolled back. Decimals are exact text in plain notation; times are text in UTC with microseconds, so that they sort.

CREATE TABLE paper_account (
	id        INTEGER PRIMARY KEY CHECK (id = 1),
	opening   TEXT    NOT NULL, -- cash at creation
	cash      TEXT    NOT NULL,
	reserved  TEXT    NOT NULL, -- limit × quantity of the working buys
	working   INTEGER NOT NULL CHECK (working >= 0),
	due       TEXT    NOT NULL, -- no working order expires earlier; empty while none works
	events    INTEGER NOT NULL, -- how many there are, which is the newest one's number
	opened_at TEXT    NOT NULL
) STRICT;

CREATE TABLE paper_positions (
	symbol   TEXT NOT NULL PRIMARY KEY,
	quantity TEXT NOT NULL,
	selling  TEXT NOT NULL -- quantity of the working sells
) STRICT, WITHOUT ROWID;

-- One row for each accepted order, for ever.
CREATE TABLE paper_ledger (
	id              INTEGER PRIMARY KEY,
	client_order_id TEXT NOT NULL UNIQUE,
	digest          TEXT NOT NULL,
	symbol          TEXT NOT NULL,
	side            TEXT NOT NULL CHECK (side IN ('buy', 'sell')),
	quantity        TEXT NOT NULL,
	limit_price     TEXT NOT NULL,
	price_key       TEXT NOT NULL CHECK (length(price_key) = 21), -- the limit price in nano-dollars, padded to sort
	status          TEXT NOT NULL CHECK (status IN ('working', 'filled', 'cancelled', 'expired')),
	filled_quantity TEXT NOT NULL,
	filled_price    TEXT,
	message         TEXT NOT NULL, -- of the first receipt
	accepted_at     TEXT NOT NULL,
	expires_at      TEXT NOT NULL,
	closed_at       TEXT,
	CHECK ((status = 'working') = (closed_at IS NULL)),
	CHECK ((status = 'filled') = (filled_price IS NOT NULL))
) STRICT;

-- The working orders. Every order pays for each index, so there is no other.
CREATE INDEX paper_working ON paper_ledger (symbol, side, price_key) WHERE status = 'working';

-- What was refused, so that the same id gets the same answer again. No digest: the id was closed by a lookup.
CREATE TABLE paper_rejections (
	client_order_id TEXT NOT NULL PRIMARY KEY,
	digest          TEXT,
	code            TEXT NOT NULL,
	message         TEXT NOT NULL,
	at              TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE paper_events (
	number   INTEGER PRIMARY KEY,
	kind     TEXT    NOT NULL CHECK (kind IN ('fill', 'cancelled', 'expired')),
	order_id INTEGER NOT NULL REFERENCES paper_ledger (id), -- an order ends once, and whole
	quantity TEXT    NOT NULL,
	price    TEXT,
	at       TEXT    NOT NULL,
	CHECK ((kind = 'fill') = (price IS NOT NULL))
) STRICT;
