"""From plans to kernels: the one place where the language half and the data half meet."""
