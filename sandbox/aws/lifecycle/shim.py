"""`aws` as the stand-in plays it: `aws eks get-token`, and nothing else.

It runs for every command against a cluster, so it imports nothing of this project. It gives out the
control plane's administrator token whoever asks: who may use a cluster is not played.
"""

import json
import sys
from pathlib import Path

_USAGE = (
    "the AWS stand-in's command answers `aws eks get-token --cluster-name NAME --region REGION`"
)


def option(arguments: list[str], name: str) -> str | None:
    """Return the value of an option; None where it is not given."""
    for index, each in enumerate(arguments[:-1]):
        if each == name:
            return arguments[index + 1]
    return None


def token(home: Path, cluster: str, region: str) -> str | None:
    """Return the token of a cluster's control plane; None where there is no such cluster."""
    for path in sorted((home / "clusters").glob("*/cluster.json")):
        entry = json.loads(path.read_text())
        if (entry["cluster"], entry["region"]) == (cluster, region):
            kubeconfig = json.loads(Path(entry["kubeconfig"]).read_text())
            return str(kubeconfig["users"][0]["user"]["token"])
    return None


def main(home: Path, arguments: list[str]) -> int:
    """Answer one call; everything but a token is refused in one line."""
    cluster, region = option(arguments, "--cluster-name"), option(arguments, "--region")
    if arguments[:2] != ["eks", "get-token"] or cluster is None or region is None:
        sys.stderr.write(f"{_USAGE}; it was asked for: {' '.join(arguments)}\n")
        return 252
    found = token(home, cluster, region)
    if found is None:
        sys.stderr.write(f"no EKS cluster {cluster} in {region} has a control plane here\n")
        return 254
    answer = {
        "kind": "ExecCredential",
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "spec": {},
        "status": {"token": found},
    }
    sys.stdout.write(json.dumps(answer) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
