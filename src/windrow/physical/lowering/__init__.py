"""How each kind of node becomes operators, by idea."""
