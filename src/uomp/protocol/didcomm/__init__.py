"""The DIDComm v2 envelope and the policy that every received message must pass."""
