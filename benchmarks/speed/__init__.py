"""How fast previews and budgets are."""
