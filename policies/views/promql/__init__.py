"""As much of PromQL as rules need: queries and the series they name."""
