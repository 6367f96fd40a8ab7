"""The memory of one adapter for a person's own agent: kept on disk, offered over MCP."""
