"""What a name or a summary of a model means: the configuration that it stands for."""
