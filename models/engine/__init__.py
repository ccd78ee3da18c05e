"""Engine arguments, the engine's command line, its start-up log."""
