"""Answers to what creations changed, to be given again where a creation is repeated after a kill.

A killed engine may never have heard of a VPC that was made. The next update repeats the creation;
the real AWS makes a second VPC then. The stand-in gives the first one's answers again, call by
call, and goes on where the killed update stopped.
"""

from collections import Counter

from sandbox.aws.server.wire import AwsAnswer, Mark


class Journal:
    """What the last creation of each URN was answered."""

    def __init__(self) -> None:
        self._answers: dict[str, list[tuple[str, AwsAnswer]]] = {}
        self._attempt: dict[str, str] = {}
        self._given: Counter[tuple[str, str]] = Counter()

    def echo(self, mark: Mark, operation: str) -> AwsAnswer | None:
        """Return the answer that an open creation got to this call; None where it got none.

        Calls are matched by operation and count: their bodies hold random client tokens. A
        creation that is no repetition, and a deletion, forget what was before.
        """
        if mark.purpose != "repeat":
            if self._attempt.get(mark.urn) != mark.attempt:
                self._answers.pop(mark.urn, None)
                self._attempt[mark.urn] = mark.attempt
            return None
        known = [answer for name, answer in self._answers.get(mark.urn, []) if name == operation]
        key = (mark.attempt, operation)
        self._given[key] += 1
        return known[self._given[key] - 1] if self._given[key] <= len(known) else None

    def note(self, mark: Mark, operation: str, answer: AwsAnswer) -> None:
        """Keep an answer to a creation."""
        if mark.purpose != "delete":
            self._answers.setdefault(mark.urn, []).append((operation, answer))
