"""The Pulumi provider plugin: what the engine talks to."""
