"""Programs that pods run: data to the rest of the platform, which delivers their text."""
