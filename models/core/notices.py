"""Something that a preview should say without refusing anything."""

from typing import Literal

from models.core.base import Model


class Notice(Model):
    """One remark: where it arose, what it is, how loud."""

    path: str
    message: str
    level: Literal["info", "warning"] = "info"
