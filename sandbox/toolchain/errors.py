"""The one error a caller of the toolchain has to know."""


class ToolchainError(RuntimeError):
    """A tool could not be found or built; the message says what is missing and the remedy."""
