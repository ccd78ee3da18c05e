"""Manifests of the exposure plane: the entrance, the routes behind it, providers in reserve."""
