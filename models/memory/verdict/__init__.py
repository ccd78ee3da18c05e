"""From terms to a verdict: refusals, limits, remedies, the result."""
