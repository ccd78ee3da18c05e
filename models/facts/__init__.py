"""Types of the catalog: accelerators, engine contracts, charts, goldens."""
