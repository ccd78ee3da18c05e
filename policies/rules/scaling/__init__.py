"""Autoscalers, and the metrics that they scale on."""
