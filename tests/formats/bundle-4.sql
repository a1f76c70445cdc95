BEGIN TRANSACTION;
CREATE TABLE deeprotect_archives (
	id INTEGER NOT NULL, 
	"before" BIGINT NOT NULL, 
	charges BIGINT NOT NULL, 
	at BIGINT NOT NULL, 
	PRIMARY KEY (id)
);
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
INSERT INTO "deeprotect_charges" VALUES(1,1,'fitness',1,X'90F07AACC4668E8EF3B1797FBEDA9F71',0,4,1,1795049274159965);
INSERT INTO "deeprotect_charges" VALUES(2,1,'fitness',1,X'5806AF5C693F7885939157F06C34FE20',0,3,1,1795049274159965);
CREATE TABLE deeprotect_closed (
	stream INTEGER NOT NULL, 
	"key" BLOB NOT NULL, 
	last BIGINT NOT NULL, 
	PRIMARY KEY (stream, "key"), 
	FOREIGN KEY(stream) REFERENCES deeprotect_streams (id)
);
CREATE TABLE deeprotect_draws (
	charge INTEGER NOT NULL, 
	first BIGINT NOT NULL, 
	draws INTEGER NOT NULL, 
	content BLOB NOT NULL, 
	PRIMARY KEY (charge, first), 
	FOREIGN KEY(charge) REFERENCES deeprotect_charges (id)
);
INSERT INTO "deeprotect_draws" VALUES(1,0,4,X'001013020C');
INSERT INTO "deeprotect_draws" VALUES(2,0,3,X'00071504');
CREATE TABLE deeprotect_ledger (
	version INTEGER NOT NULL
);
INSERT INTO "deeprotect_ledger" VALUES(4);
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
CREATE TABLE deeprotect_prices (
	id INTEGER NOT NULL, 
	digest BLOB NOT NULL, 
	body TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (digest)
);
INSERT INTO "deeprotect_prices" VALUES(1,X'E996A390557478B043D714B02EE82DBB965FFF26F5F1EA8191579CA1E6E5724B','{"bundle": "315770432f3852358bd760025b7103e9cf56e933480fb8edf5cd02ab03df3a3a", "counted_as": "ldp", "epsilon": "5", "event": {"delta": 0.0, "epsilon": 5.0, "erased": [], "guarantee": "ldp", "inferences": [], "per": "window"}, "limits": {"when_spent": "refuse"}}');
CREATE TABLE deeprotect_quarters (
	stream INTEGER NOT NULL, 
	quarter BIGINT NOT NULL, 
	app TEXT NOT NULL, 
	price INTEGER NOT NULL, 
	draws BIGINT NOT NULL, 
	at BIGINT NOT NULL, 
	PRIMARY KEY (stream, quarter, app, price), 
	FOREIGN KEY(stream) REFERENCES deeprotect_streams (id), 
	FOREIGN KEY(price) REFERENCES deeprotect_prices (id)
);
INSERT INTO "deeprotect_quarters" VALUES(1,1994499,'fitness',1,7,1795049274159965);
CREATE TABLE deeprotect_streams (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	person TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
INSERT INTO "deeprotect_streams" VALUES(1,'walk','ann');
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
INSERT INTO "deeprotect_totals" VALUES(1,'fitness',1,7,0,1795049274159965);
CREATE INDEX ix_deeprotect_streams_person ON deeprotect_streams (person);
CREATE INDEX deeprotect_spent ON deeprotect_charges (stream, at, paid, price, draws);
CREATE INDEX deeprotect_held ON deeprotect_limits (person, id);
COMMIT;
