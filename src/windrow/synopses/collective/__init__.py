"""Collective indexes: the groups whose aggregate passes a threshold, found without a look at the others."""
