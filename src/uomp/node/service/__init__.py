"""What the node does for its owner and for its peers, on top of the stores."""
