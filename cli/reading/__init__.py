"""What a command is given: files, folders, the catalogue, a hub."""
