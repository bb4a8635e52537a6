"""The tables. Each list grows at its end; a script that has run is never changed.

Times are ISO 8601 in UTC unless the name ends in `_s` (Unix seconds). JSON columns
hold UTF-8 bytes.
"""

from typing import Final

# Written in the transaction of the change; copied to audit.db before the change is
# acknowledged, and again at start. AUTOINCREMENT never gives a number twice.
_AUDIT_OUTBOX = """
CREATE TABLE audit_outbox (seq INTEGER PRIMARY KEY AUTOINCREMENT, entry BLOB NOT NULL);
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
"""

MEMORY: Final = (
    _AUDIT_OUTBOX
    + """
CREATE TABLE items (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  value BLOB NOT NULL,
  tags BLOB NOT NULL,
  sensitivity TEXT NOT NULL CHECK (sensitivity IN ('low', 'medium', 'high')),
  source TEXT NOT NULL CHECK (source IN ('user', 'agent')),
  description TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  version INTEGER NOT NULL DEFAULT 1
);
CREATE TABLE item_tags (
  tag TEXT NOT NULL,
  item INTEGER NOT NULL REFERENCES items ON DELETE CASCADE,
  PRIMARY KEY (tag, item)
) WITHOUT ROWID;
CREATE INDEX item_tags_by_item ON item_tags (item);

CREATE TABLE inbox (
  packet_hash TEXT PRIMARY KEY,
  signed_hash TEXT NOT NULL UNIQUE,
  packet_id TEXT NOT NULL,
  message_id TEXT NOT NULL,
  sender TEXT NOT NULL,
  issuer TEXT NOT NULL,
  memory_type TEXT NOT NULL,
  session_id TEXT,
  thread TEXT,
  status TEXT NOT NULL CHECK (status IN ('pending', 'accepted', 'rejected', 'opaque')),
  received_at TEXT NOT NULL,
  decided_at TEXT,
  report BLOB NOT NULL,
  packet BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX inbox_by_id ON inbox (packet_id);

CREATE TABLE lineage (
  item INTEGER NOT NULL REFERENCES items ON DELETE CASCADE,
  packet_hash TEXT NOT NULL,
  position INTEGER NOT NULL,
  issuer TEXT NOT NULL,
  sender TEXT NOT NULL,
  original_key TEXT NOT NULL,
  accepted_at TEXT NOT NULL,
  PRIMARY KEY (item, packet_hash)
) WITHOUT ROWID;

CREATE TABLE tombstones (
  fingerprint TEXT PRIMARY KEY,
  removed_at TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE imports (
  import_id TEXT PRIMARY KEY,
  digest TEXT NOT NULL UNIQUE,
  outcomes INTEGER NOT NULL DEFAULT 0,
  started_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE import_items (
  import_id TEXT NOT NULL REFERENCES imports ON DELETE CASCADE,
  number INTEGER NOT NULL,
  key TEXT NOT NULL,
  item BLOB NOT NULL,
  PRIMARY KEY (import_id, number)
) WITHOUT ROWID;
CREATE INDEX import_items_by_key ON import_items (import_id, key);
""",
)

LEDGER: Final = (
    _AUDIT_OUTBOX
    + """
CREATE TABLE peers (
  did TEXT PRIMARY KEY,
  long TEXT NOT NULL,
  name TEXT NOT NULL DEFAULT '',
  agent_id TEXT,
  may_send INTEGER NOT NULL DEFAULT 0,
  knows_us INTEGER NOT NULL DEFAULT 0,
  endpoint TEXT,
  max_receive_bytes INTEGER,
  contact INTEGER NOT NULL DEFAULT 0,
  first_seen TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE requests (
  request_id TEXT PRIMARY KEY,
  message_id TEXT NOT NULL,
  sender TEXT NOT NULL,
  body BLOB NOT NULL,
  status TEXT NOT NULL
    CHECK (status IN ('pending', 'approved', 'denied', 'expired')),
  received_at TEXT NOT NULL,
  expires_s INTEGER NOT NULL,
  decided_at TEXT,
  session_id TEXT,
  UNIQUE (sender, message_id)
) WITHOUT ROWID;
CREATE INDEX requests_by_status ON requests (status, received_at);

CREATE TABLE sessions (
  session_id TEXT PRIMARY KEY,
  agent_id TEXT NOT NULL,
  agent_did TEXT NOT NULL,
  status TEXT NOT NULL
    CHECK (status IN ('created', 'active', 'closed', 'expired', 'revoked')),
  created_at TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  expires_s INTEGER NOT NULL,
  closed_at TEXT,
  requested_scopes BLOB NOT NULL,
  granted_scopes BLOB,
  claims BLOB,
  token_hash TEXT,
  jti TEXT,
  epoch INTEGER NOT NULL,
  max_reads INTEGER,
  used INTEGER NOT NULL DEFAULT 0,
  reshare BLOB,
  thread TEXT,
  reason TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE INDEX sessions_by_status ON sessions (status, expires_s);
CREATE INDEX sessions_by_agent ON sessions (agent_did);

CREATE TABLE blacklist (
  jti TEXT PRIMARY KEY,
  session_id TEXT NOT NULL,
  token_hash TEXT NOT NULL,
  until_s INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE asked (
  message_id TEXT PRIMARY KEY,
  peer TEXT NOT NULL,
  kind TEXT NOT NULL,
  body BLOB NOT NULL,
  status TEXT NOT NULL,
  answer BLOB,
  created_at TEXT NOT NULL,
  answered_at TEXT
) WITHOUT ROWID;

CREATE INDEX asked_by_peer ON asked (peer);

CREATE TABLE held (
  session_id TEXT NOT NULL,
  issuer TEXT NOT NULL,
  token TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('active', 'closed', 'expired', 'revoked')),
  granted_scopes BLOB NOT NULL,
  expires_at TEXT NOT NULL,
  received_at TEXT NOT NULL,
  thread TEXT,
  PRIMARY KEY (issuer, session_id)
) WITHOUT ROWID;

CREATE TABLE outbox (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  message_id TEXT NOT NULL UNIQUE,
  peer TEXT NOT NULL,
  type TEXT NOT NULL,
  message BLOB NOT NULL,
  session_id TEXT,
  attachment BLOB,
  created_at TEXT NOT NULL,
  expires_s INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  next_try_s REAL NOT NULL DEFAULT 0,
  status TEXT NOT NULL CHECK (status IN ('waiting', 'sent', 'failed')),
  error TEXT
);
CREATE INDEX outbox_waiting ON outbox (status, peer, number);

CREATE TABLE replay (
  sender TEXT NOT NULL,
  message_id TEXT NOT NULL,
  expires_s INTEGER NOT NULL,
  PRIMARY KEY (sender, message_id)
) WITHOUT ROWID;
CREATE INDEX replay_by_expiry ON replay (expires_s);

CREATE TABLE chains (
  audience TEXT PRIMARY KEY,
  sequence INTEGER NOT NULL,
  packet_hash TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE received_chains (
  issuer TEXT PRIMARY KEY,
  sequence INTEGER NOT NULL,
  packet_hash TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE handoffs (
  packet_hash TEXT NOT NULL,
  packet_id TEXT NOT NULL,
  peer TEXT NOT NULL,
  message_id TEXT NOT NULL,
  session_id TEXT,
  memory_type TEXT NOT NULL,
  items INTEGER NOT NULL,
  size INTEGER NOT NULL,
  inner_hash TEXT,
  sent_at TEXT NOT NULL,
  receipt BLOB,
  status TEXT NOT NULL,
  PRIMARY KEY (packet_hash, peer)
) WITHOUT ROWID;
CREATE INDEX handoffs_by_peer ON handoffs (peer);
""",
)

AUDIT: Final = (
    """
CREATE TABLE log (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  source TEXT NOT NULL,
  source_seq INTEGER NOT NULL,
  id TEXT NOT NULL UNIQUE,
  timestamp TEXT NOT NULL,
  session_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  action TEXT NOT NULL,
  allowed INTEGER NOT NULL,
  entry BLOB NOT NULL,
  leaf BLOB NOT NULL,
  chain BLOB NOT NULL
);
CREATE INDEX log_by_session ON log (session_id, number);
""",
)
