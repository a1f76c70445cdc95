PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE deeprotect_ledger (
	version INTEGER NOT NULL
);
INSERT INTO deeprotect_ledger VALUES(3);
CREATE TABLE deeprotect_streams (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	person TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
INSERT INTO deeprotect_streams VALUES(1,'walk','ann');
CREATE TABLE deeprotect_prices (
	id INTEGER NOT NULL, 
	digest BLOB NOT NULL, 
	body TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (digest)
);
INSERT INTO deeprotect_prices VALUES(1,X'e505e26614379ddc1f4ec408e4d31bca4d6afeb6eab46d837c7fc3f1aff3b920','{"bundle": "9b799ce42a6e2481282d54cf0e833ea5a1ad4287c6d73bd32f799617a6a0500c", "counted_as": "ldp", "epsilon": "5", "event": {"confidence": 1.0, "delta": 0.0, "epsilon": 5.0, "guarantee": "ldp", "inferences": [], "per": "window"}, "limits": {"when_spent": "refuse"}}');
CREATE TABLE deeprotect_charges (
	id INTEGER NOT NULL, 
	stream INTEGER NOT NULL, 
	app TEXT NOT NULL, 
	price INTEGER NOT NULL, 
	"key" BLOB NOT NULL, 
	first BIGINT NOT NULL, 
	draws INTEGER NOT NULL, 
	paid SMALLINT NOT NULL, 
	at BIGINT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (stream, "key", first), 
	FOREIGN KEY(stream) REFERENCES deeprotect_streams (id), 
	FOREIGN KEY(price) REFERENCES deeprotect_prices (id)
);
INSERT INTO deeprotect_charges VALUES(1,1,'fitness',1,X'2330cb5e7e1c37444afb29caa3cd27a2',0,4,1,1794985635942094);
INSERT INTO deeprotect_charges VALUES(2,1,'fitness',1,X'f3b5bb6ee864fa7d13be7b822d5a1d7c',0,3,1,1794985635942094);
CREATE TABLE deeprotect_totals (
	stream INTEGER NOT NULL, 
	app TEXT NOT NULL, 
	price INTEGER NOT NULL, 
	draws BIGINT NOT NULL, 
	placeholders BIGINT NOT NULL, 
	last BIGINT NOT NULL, 
	PRIMARY KEY (stream, app, price), 
	FOREIGN KEY(stream) REFERENCES deeprotect_streams (id), 
	FOREIGN KEY(price) REFERENCES deeprotect_prices (id)
);
INSERT INTO deeprotect_totals VALUES(1,'fitness',1,7,0,1794985635942094);
CREATE TABLE deeprotect_limits (
	id INTEGER NOT NULL, 
	person TEXT NOT NULL, 
	price INTEGER, 
	per_hour TEXT, 
	per_day TEXT, 
	in_all TEXT, 
	at BIGINT NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(price) REFERENCES deeprotect_prices (id)
);
CREATE TABLE deeprotect_draws (
	charge INTEGER NOT NULL, 
	first BIGINT NOT NULL, 
	draws INTEGER NOT NULL, 
	content BLOB NOT NULL, 
	PRIMARY KEY (charge, first), 
	FOREIGN KEY(charge) REFERENCES deeprotect_charges (id)
);
INSERT INTO deeprotect_draws VALUES(1,0,4,X'000200060c');
INSERT INTO deeprotect_draws VALUES(2,0,3,X'000f0c13');
CREATE INDEX ix_deeprotect_streams_person ON deeprotect_streams (person);
CREATE INDEX deeprotect_spent ON deeprotect_charges (stream, at, paid, price, draws);
CREATE INDEX deeprotect_held ON deeprotect_limits (person, id);
COMMIT;
