"""The rules, one file per topic; `policies/registry.py` lists them."""
