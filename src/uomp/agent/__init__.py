"""The other side: what the author of an agent imports."""
