"""Reading a `config.json`: fields, quantization and its usual exceptions."""
