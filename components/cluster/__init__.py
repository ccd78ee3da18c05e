"""A cluster that exists, its namespaces, its nodes."""
