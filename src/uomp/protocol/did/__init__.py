"""DIDs that need no network, and DID documents as data."""
