"""What a command is given: files, folders, the catalog, a hub."""
