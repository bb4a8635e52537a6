"""What peers say to each other and how a node decides. Pure, like `packets`."""
