"""A UOMP node: a person's memory, kept by the person, read by agents with leave."""

__version__ = "0.1.0"
