"""What every rule stands on: findings, unknown values, context, the rule itself."""
