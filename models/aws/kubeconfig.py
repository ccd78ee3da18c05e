"""The kubeconfig of an EKS cluster: no token in it, the AWS CLI fetches one for each command."""

import json
from typing import Final

EXEC_API: Final = "client.authentication.k8s.io/v1beta1"
"""What `aws eks get-token` answers with."""


def kubeconfig(*, cluster: str, aws_region: str, endpoint: str, certificate: str) -> str:
    """Return a kubeconfig as JSON, which is YAML.

    `endpoint` is the API's URL, `certificate` its CA in base64 as EKS gives it. Whoever uses it
    needs the AWS CLI and credentials of a role that the cluster knows.
    """
    arguments = ("eks", "get-token", "--cluster-name", cluster, "--region", aws_region)
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": cluster,
                "cluster": {"server": endpoint, "certificate-authority-data": certificate},
            }
        ],
        "users": [
            {
                "name": cluster,
                "user": {
                    "exec": {
                        "apiVersion": EXEC_API,
                        "command": "aws",
                        "args": [*arguments, "--output", "json"],
                        "interactiveMode": "Never",
                        "provideClusterInfo": False,
                        "installHint": "install the AWS CLI (version 2)",
                    }
                },
            }
        ],
        "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": cluster}}],
        "current-context": cluster,
    }
    return json.dumps(document, indent=2)
