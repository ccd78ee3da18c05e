"""A store, a proxy and runs for tests of the seeding program."""
