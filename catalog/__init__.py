"""The catalog: data files, and the loader that turns them into the types of `models`."""
