-- Orders beside the limit order for the day: market, stop and stop-limit, other times in force, amounts of dollars, and
-- the exits that follow a filled buy. What a row of before does not say is what every order was then.
--
-- price_key of an order that a limit price alone does not find is one that every quote reaches, so that the index of the
-- working orders finds it whatever the market shows.

ALTER TABLE paper_ledger ADD COLUMN order_type TEXT NOT NULL DEFAULT 'limit'
	CHECK (order_type IN ('limit', 'market', 'stop', 'stop_limit', 'exits'));
ALTER TABLE paper_ledger ADD COLUMN time_in_force TEXT NOT NULL DEFAULT 'day'
	CHECK (time_in_force IN ('day', 'gtc', 'ioc', 'fok', 'opg', 'cls'));
ALTER TABLE paper_ledger ADD COLUMN hours TEXT NOT NULL DEFAULT 'any' -- whose quotes it meets
	CHECK (hours IN ('any', 'regular', 'extended', 'auction'));
ALTER TABLE paper_ledger ADD COLUMN stop_price TEXT;
ALTER TABLE paper_ledger ADD COLUMN triggered INTEGER NOT NULL DEFAULT 0 CHECK (triggered IN (0, 1)); -- its stop was reached
ALTER TABLE paper_ledger ADD COLUMN amount TEXT;          -- of dollars to spend; the quantity is what it bought
ALTER TABLE paper_ledger ADD COLUMN held TEXT;            -- dollars that a working buy reserves; NULL: limit × quantity
ALTER TABLE paper_ledger ADD COLUMN auction_from TEXT;    -- an auction order meets quotes from here until it expires
ALTER TABLE paper_ledger ADD COLUMN stop_loss TEXT;
ALTER TABLE paper_ledger ADD COLUMN stop_loss_limit TEXT;
ALTER TABLE paper_ledger ADD COLUMN take_profit TEXT;
ALTER TABLE paper_ledger ADD COLUMN exits_of INTEGER REFERENCES paper_ledger (id) -- the buy whose exits these are
	CHECK ((exits_of IS NULL) = (order_type <> 'exits'));
