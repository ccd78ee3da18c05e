"""The options of `check`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from policies.frame.profile import Profile


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckOptions:
    """Check manifests from anywhere: engines, their memory, metrics, probes, autoscalers, routes.

    Exits with 2 if something could not be read, 1 on an error, 0 otherwise.
    """

    paths: Annotated[
        list[Path], Argument(metavar="[FILES]...", help="Files and folders, as after -f.")
    ] = field(default_factory=list[Path])
    file: Annotated[
        list[Path], Option("-f", "--file", help="A YAML or JSON file, a folder, or - for stdin.")
    ] = field(default_factory=list[Path])
    catalog: Annotated[
        bool,
        Option("--catalog", "--catalogue", help="Check every LIVE and STAGED catalog model."),
    ] = False
    stack: Annotated[
        Path | None, Option(help="A Pulumi.<stack>.yaml: every model must fit one of its pools.")
    ] = None
    strict: Annotated[
        bool, Option("--strict", help="What cannot be verified counts as an error.")
    ] = False
    profile: Annotated[
        Profile, Option(help="triplane: this project's conventions count as errors.")
    ] = Profile.ANYBODY
    versions: Annotated[
        list[str], Option(help="Releases that files do not say: vllm=0.33.0, keda=2.20, ...")
    ] = field(default_factory=list[str])
    as_json: Annotated[bool, Option("--json", help="JSON for programs.")] = False

    @property
    def files(self) -> tuple[Path, ...]:
        """Every file and folder, however it was given."""
        return (*self.file, *self.paths)
