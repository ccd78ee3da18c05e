"""The Pulumi side: workspace, language host, stack, recovery."""
