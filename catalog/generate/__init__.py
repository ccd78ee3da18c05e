"""Scripts that regenerate catalog files from their sources. Not imported by the loader."""
