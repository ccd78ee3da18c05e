"""Other estimators on the same inputs."""
