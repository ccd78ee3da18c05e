"""The frame that runs rules: registry, pack, evaluation, agreements."""
