"""Types of the catalogue: accelerators, engine contracts, charts, goldens."""
