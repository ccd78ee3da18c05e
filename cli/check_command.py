"""The options of `check`; its work is imported lazily."""

from pathlib import Path
from typing import Annotated

import typer

from policies.frame.profile import Profile


def check(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILES]...", help="Files and folders, as after -f."),
    ] = None,
    files: Annotated[
        list[Path] | None,
        typer.Option("-f", "--file", help="A YAML or JSON file, a folder, or - for stdin."),
    ] = None,
    catalog: Annotated[
        bool,
        typer.Option("--catalog", "--catalogue", help="Check every LIVE and STAGED catalog model."),
    ] = False,
    stack: Annotated[
        Path | None,
        typer.Option(help="A Pulumi.<stack>.yaml: every model must fit one of its pools."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="What cannot be verified counts as an error.")
    ] = False,
    profile: Annotated[
        Profile,
        typer.Option(help="triplane: this project's conventions count as errors."),
    ] = Profile.ANYBODY,
    versions: Annotated[
        list[str] | None,
        typer.Option(help="Releases that files do not say: vllm=0.33.0, keda=2.20, ..."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for programs.")] = False,
) -> int:
    """Check manifests from anywhere: engines, their memory, metrics, probes, autoscalers, routes.

    Exits with 2 if something could not be read, 1 on an error, 0 otherwise.
    """
    from cli.commands.check import CheckOptions, run

    return run(
        CheckOptions(
            files=(*(files or ()), *(paths or ())),
            catalog=catalog,
            stack=stack,
            strict=strict,
            profile=profile,
            versions=tuple(versions or ()),
            as_json=as_json,
        )
    )
