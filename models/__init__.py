"""What the platform is: frozen pydantic types and pure arithmetic.

Nothing here imports pulumi, reads a file or looks at the clock.
"""
