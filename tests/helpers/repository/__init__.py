"""What holds of a whole run of the tests: skips, processes, the order of modules."""
