"""Scripts that regenerate catalogue files from their sources. Not imported by the loader."""
