"""Values of Helm charts, one module per topic: only keys that we mean.

Each function gets the plan and the region and returns plain data. Every key exists in upstream's
default values, with the type of its default: `tests/components/render/test_chart_values.py` holds
it.
"""
