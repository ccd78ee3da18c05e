"""Errors in the form that vLLM answers them with."""

from typing import Any


class RequestFault(Exception):
    """A request is refused: HTTP status and the fields of the error object."""

    def __init__(self, status: int, kind: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.param = param

    def body(self) -> dict[str, Any]:
        """Return the answer's body."""
        fields = {"message": str(self), "type": self.kind, "param": self.param, "code": self.status}
        return {"error": fields}


def bad_request(message: str, param: str | None = None) -> RequestFault:
    """Return a fault of a request whose values do not do."""
    return RequestFault(400, "BadRequestError", message, param)


def invalid_body(message: str) -> RequestFault:
    """Return a fault of a body that does not parse: the server's framework words it."""
    return RequestFault(400, "Bad Request", message)


def unknown_model(name: str) -> RequestFault:
    """Return a fault of a model that this engine does not serve."""
    message = f"The model `{name}` does not exist."
    return RequestFault(404, "NotFoundError", message, "model")
