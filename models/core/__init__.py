"""What everything else stands on: base types, names, quantities, problems."""
