"""The DIDComm messages, one module per family."""
