"""The rules, one file per topic; `policies/frame/registry.py` lists them."""
