"""Real controllers that need no kubelet, run as processes of the sandbox.

cert-manager and External Secrets are built like the rest of the toolchain and started where the
definitions of their kinds are loaded. They act as service accounts with the rights that their
charts would give them, not as administrators, so that a right which is missing shows.
"""
