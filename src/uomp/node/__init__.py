"""The node: wallet, stores, consent, gateway and command line. All effects are here."""
