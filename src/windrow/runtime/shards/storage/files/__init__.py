"""Where the files of a checkpoint are: on this machine, in object stores, on other file systems, and in a cache."""
