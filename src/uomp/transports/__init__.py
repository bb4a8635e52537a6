"""How bytes move. Knows no keys and no store."""
