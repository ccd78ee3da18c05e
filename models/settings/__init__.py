"""What a stack is told: frozen, strict types of its settings."""
