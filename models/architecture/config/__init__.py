"""Reading a `config.json`: fields, defaults, names, quantization."""
