"""The node's three encrypted files. Each change and its audit entry are one."""
