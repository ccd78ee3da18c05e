"""What the stand-in refuses or passes on from AWS's side, in AWS's own words."""

from sandbox.core.errors import SandboxError


class StandInError(SandboxError):
    """The stand-in cannot or will not do this; the message says what, where and the remedy."""


class AwsError(StandInError):
    """What an AWS API answered: its code, its message, and the operation that was refused."""

    def __init__(self, operation: str, code: str, message: str) -> None:
        super().__init__(f"{code}: {message} (operation {operation})")
        self.operation = operation
        self.code = code
        self.reason = message


class InitError(StandInError):
    """Something was made but did not come up: it belongs into the state all the same."""

    def __init__(self, identity: str, reason: str) -> None:
        super().__init__(reason)
        self.identity = identity
