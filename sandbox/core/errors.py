"""The one error a caller of the sandbox has to know."""


class SandboxError(RuntimeError):
    """The sandbox cannot do what was asked; the message says what, where and the remedy."""
