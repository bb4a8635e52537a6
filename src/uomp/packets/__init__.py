"""What is signed and sealed: canonical bytes, hashes, signatures, envelopes.

Pure: no I/O, no clock, no randomness. Times, salts, nonces and ephemeral keys are
arguments, so every test vector can be made again.
"""
