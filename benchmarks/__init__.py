"""Scripts that measure: speed, accuracy, fits. Not part of the product."""
