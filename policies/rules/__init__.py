"""The rules, one file per topic; what stands here is registered (`policies/frame/registry.py`)."""
