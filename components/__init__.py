"""Pulumi components: one ComponentResource per file. They register resources and decide nothing."""
