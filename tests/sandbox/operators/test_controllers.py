"""cert-manager and External Secrets for real: what our manifests become in their hands."""

import base64
import json
import secrets as random
from collections.abc import Generator
from typing import Any, Final, cast

import boto3
import psutil
import pytest
from cryptography import x509
from moto.server import ThreadedMotoServer

from components.render.secrets import certificates, secrets
from models.core.names import AUTHORITY, ISSUER
from models.settings.secrets import SecretKey, SecretsKind, SecretSource, SecretUse
from sandbox.cluster import cluster
from sandbox.cluster.cluster import Sandbox
from sandbox.core.kube import Api, Object
from sandbox.operators.controllers import accounts, sources
from sandbox.operators.controllers.table import NAMES
from sandbox.toolchain import Toolchain
from tests.helpers.plans.secrets import region_of, with_source
from tests.helpers.sandbox.cluster import conditions, namespace, unique_name, until

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]

SETS: Final = ("cert-manager", "external-secrets")
WAIT_SEC: Final = 60.0
STORES: Final = "/apis/external-secrets.io/v1"
CERTIFICATES: Final = "/apis/cert-manager.io/v1"
RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"


@pytest.fixture(scope="module")
def aws() -> Generator[str]:
    """Return the address of a moto server that plays AWS."""
    server = ThreadedMotoServer("127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(scope="module")
def box(tools: Toolchain, aws: str) -> Generator[Sandbox]:
    """One control plane with both controllers."""
    name = unique_name()
    try:
        yield cluster.start(name, (), crd_sets=SETS, tools=tools, aws_endpoint=aws)
    finally:
        cluster.stop(name, purge=True)


@pytest.fixture(scope="module")
def issuer(box: Sandbox) -> str:
    """The authority and the ClusterIssuer that a region's `ca` makes."""
    api, space = box.api(), f"{CERTIFICATES}/namespaces/cert-manager"
    put(
        api,
        f"{space}/issuers",
        "Issuer",
        certificates.SELF_SIGNED,
        certificates.self_signed_issuer(),
    )
    put(
        api,
        f"{space}/certificates",
        "Certificate",
        AUTHORITY,
        certificates.authority("dev", "local"),
    )
    put(api, f"{CERTIFICATES}/clusterissuers", "ClusterIssuer", ISSUER, certificates.ca_issuer())
    ready(api, f"{CERTIFICATES}/clusterissuers/{ISSUER}")
    return ISSUER


def put(api: Api, collection: str, kind: str, name: str, spec: Any) -> str:
    """Create one object; return its path."""
    version = collection.removeprefix("/apis/").rpartition("/namespaces/")[0] or "/".join(
        collection.split("/")[2:4]
    )
    body: Object = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}
    api.create(collection, body)
    return f"{collection}/{name}"


def ready(api: Api, path: str) -> Object:
    """Wait until an object is ready; return it."""
    until(lambda: state(api, path).get("status") == "True", f"{path} ready", WAIT_SEC)
    found = api.get(path)
    assert found is not None
    return found


def state(api: Api, path: str) -> Object:
    """Return the condition Ready of an object."""
    return conditions(api.get(path)).get("Ready", {})


def data_of(api: Api, space: str, name: str) -> dict[str, str]:
    """Return a Secret's values in clear."""
    found = api.get(f"/api/v1/namespaces/{space}/secrets/{name}")
    assert found is not None, f"there is no Secret {space}/{name}"
    return {key: base64.b64decode(text).decode() for key, text in found["data"].items()}


class Stage:
    """A source namespace with one secret, and a namespace whose store may read it."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.source, self.space = namespace(api), namespace(api)
        self.value = random.token_hex(12)
        self.remote = "object-store"
        self.keep(self.remote, {"user": "someone", "token": self.value})
        self._grant([self.remote])
        source = SecretSource(kind=SecretsKind.KUBERNETES, namespace=self.source)
        self.kind = source
        self.store = put(
            api,
            f"{STORES}/namespaces/{self.space}/secretstores",
            "SecretStore",
            secrets.STORE,
            secrets.secret_store(source, None),
        )

    def keep(self, name: str, values: dict[str, str]) -> None:
        """Put a secret into the source."""
        body: Object = {"kind": "Secret", "metadata": {"name": name}, "stringData": values}
        self.api.create(f"/api/v1/namespaces/{self.source}/secrets", {"apiVersion": "v1", **body})

    def _grant(self, remotes: list[str]) -> None:
        account: Object = {"kind": "ServiceAccount", "metadata": {"name": secrets.READER}}
        self.api.create(f"/api/v1/namespaces/{self.space}/serviceaccounts", account)
        rule = secrets.reader_rules(remotes)[0]
        name = {"name": secrets.reader_name(self.space)}
        role: Object = {
            "kind": "Role",
            "metadata": name,
            "rules": [
                {
                    "apiGroups": rule.get("api_groups"),
                    "resources": rule.get("resources"),
                    "resourceNames": rule.get("resource_names"),
                    "verbs": rule["verbs"],
                }
            ],
        }
        reference = secrets.reader_role(self.space)
        binding: Object = {
            "kind": "RoleBinding",
            "metadata": name,
            "roleRef": {**reference, "apiGroup": reference["api_group"]},
            "subjects": [secrets.reader_subject(self.space)],
        }
        del binding["roleRef"]["api_group"]
        self.api.create(f"{RBAC}/namespaces/{self.source}/roles", role)
        self.api.create(f"{RBAC}/namespaces/{self.source}/rolebindings", binding)

    def want(self, **changes: Any) -> str:
        """Create an ExternalSecret; return its path."""
        fields: dict[str, Any] = {
            "name": "hub",
            "remote": self.remote,
            "properties": ("user", "token"),
            "namespace": self.space,
            "secret": "hub",
            "keys": (SecretKey(key="HF_TOKEN", property="token"),),
        }
        use = SecretUse(**{**fields, **changes})
        return put(
            self.api,
            f"{STORES}/namespaces/{self.space}/externalsecrets",
            "ExternalSecret",
            use.secret,
            secrets.external_secret(use, self.kind),
        )


@pytest.fixture
def stage(box: Sandbox) -> Stage:
    return Stage(box.api())


def test_a_secret_arrives_under_the_key_that_is_wanted(stage: Stage) -> None:
    """The whole path: account, token, store, ExternalSecret, Secret."""
    ready(stage.api, stage.store)
    ready(stage.api, stage.want())
    assert data_of(stage.api, stage.space, "hub") == {"HF_TOKEN": stage.value}
    made = stage.api.get(f"/api/v1/namespaces/{stage.space}/secrets/hub")
    assert made is not None
    assert made["metadata"]["ownerReferences"][0]["kind"] == "ExternalSecret"
    assert "annotations" not in made["metadata"] or not [
        key for key in made["metadata"]["annotations"] if key.startswith("pulumi.com/")
    ]


def test_a_file_around_properties_is_made_by_the_controller(stage: Stage) -> None:
    """MinIO's config.env: our template is one that the controller can read."""
    text = 'export A="{user}"\nexport B="{token}"\n'
    ready(stage.api, stage.want(keys=(SecretKey(key="config.env", text=text),)))
    expected = f'export A="someone"\nexport B="{stage.value}"\n'
    assert data_of(stage.api, stage.space, "hub") == {"config.env": expected}


def test_what_is_missing_is_said(stage: Stage) -> None:
    """The reason must be in the condition: it is what an update shows."""
    ready(stage.api, stage.store)
    path = stage.want(keys=(SecretKey(key="HF_TOKEN", property="tokens"),))
    until(lambda: state(stage.api, path).get("status") == "False", "a refusal", WAIT_SEC)
    assert "tokens" in json.dumps(stage.api.get(path))
    assert stage.api.get(f"/api/v1/namespaces/{stage.space}/secrets/hub") is None


def test_a_secret_that_the_namespace_does_not_use_cannot_be_read(stage: Stage) -> None:
    """Somebody who may write ExternalSecrets here still gets no other team's secret."""
    stage.keep("payroll", {"token": "planted"})
    path = stage.want(remote="payroll", properties=("token",))
    until(lambda: state(stage.api, path).get("status") == "False", "a refusal", WAIT_SEC)
    assert stage.api.get(f"/api/v1/namespaces/{stage.space}/secrets/hub") is None


def test_secrets_come_from_aws_as_well(box: Sandbox, aws: str) -> None:
    """The same manifests as on EKS, with AWS Secrets Manager played by moto."""
    # Untyped here: the stubs that are installed do not know this service.
    client = cast("Any", boto3).client(
        "secretsmanager",
        endpoint_url=aws,
        region_name="us-east-1",
        aws_access_key_id="sandbox",
        aws_secret_access_key="sandbox",
    )
    region = region_of(with_source("aws-secrets-manager", aws_region="us-east-1"))
    made = sources.provide_in_aws(client, region.settings, region.gateway, "dev")
    assert made == ("triplane/dev/local/object-store",)
    assert sources.provide_in_aws(client, region.settings, region.gateway, "dev") == (), "kept"
    kept = json.loads(client.get_secret_value(SecretId=made[0])["SecretString"])
    api, [use] = box.api(), region.secrets
    space = namespace(api)
    inside = f"{STORES}/namespaces/{space}"
    store = secrets.secret_store(region.settings.secrets, "us-east-1")
    ready(api, put(api, f"{inside}/secretstores", "SecretStore", secrets.STORE, store))
    spec = secrets.external_secret(use, region.settings.secrets)
    ready(api, put(api, f"{inside}/externalsecrets", "ExternalSecret", use.secret, spec))
    assert data_of(api, space, use.secret) == {
        "AWS_ACCESS_KEY_ID": kept["access_key_id"],
        "AWS_SECRET_ACCESS_KEY": kept["secret_access_key"],
    }


def test_the_gateways_certificate_is_signed_by_our_authority(box: Sandbox, issuer: str) -> None:
    """What clients get as `gatewayCa` verifies what the listener serves."""
    api = box.api()
    space = namespace(api)
    collection = f"{CERTIFICATES}/namespaces/{space}/certificates"
    server = certificates.gateway_certificate("models.triplane.test", "gateway-tls", 90)
    path = put(api, collection, "Certificate", "gateway-tls", server)
    bundle = put(api, collection, "Certificate", "gateway-ca", certificates.authority_bundle(90))
    ready(api, path)
    ready(api, bundle)
    told = data_of(api, space, "gateway-ca")["ca.crt"]
    assert told == data_of(api, "cert-manager", AUTHORITY)["tls.crt"]
    authority = x509.load_pem_x509_certificate(told.encode())
    served = data_of(api, space, "gateway-tls")
    leaf = x509.load_pem_x509_certificate(served["tls.crt"].encode())
    leaf.verify_directly_issued_by(authority)
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["models.triplane.test"]
    assert (leaf.not_valid_after_utc - leaf.not_valid_before_utc).days == 90
    # Secrets go with their Certificates: nothing outlives a destroyed region.
    api.delete(path)
    gone = f"/api/v1/namespaces/{space}/secrets/gateway-tls"
    until(lambda: api.get(gone) is None, "the Secret gone with its Certificate", WAIT_SEC)


def test_a_private_authority_signs_with_the_key_pair_it_is_given(box: Sandbox) -> None:
    """What a store delivers as `certificate-authority` is taken by cert-manager."""
    api = box.api()
    space = namespace(api)
    pair = sources.key_pair("authority")
    body: Object = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "given"},
        "type": "kubernetes.io/tls",
        "stringData": pair,
    }
    api.create(f"/api/v1/namespaces/{space}/secrets", body)
    inside = f"{CERTIFICATES}/namespaces/{space}"
    ready(api, put(api, f"{inside}/issuers", "Issuer", "given", {"ca": {"secretName": "given"}}))
    spec = certificates.gateway_certificate("models.triplane.test", "served", 30)
    reference = {"group": "cert-manager.io", "kind": "Issuer", "name": "given"}
    asked = {**spec, "issuerRef": reference}
    ready(api, put(api, f"{inside}/certificates", "Certificate", "served", asked))
    leaf = x509.load_pem_x509_certificate(data_of(api, space, "served")["tls.crt"].encode())
    leaf.verify_directly_issued_by(x509.load_pem_x509_certificate(pair["tls.crt"].encode()))


def test_an_issuer_without_its_key_pair_says_so(box: Sandbox) -> None:
    """A wrong secret must end in words, not in a certificate that never comes."""
    api = box.api()
    space = namespace(api)
    path = put(
        api,
        f"{CERTIFICATES}/namespaces/{space}/issuers",
        "Issuer",
        "none",
        {"ca": {"secretName": "absent"}},
    )
    until(lambda: state(api, path).get("status") == "False", "a refusal", WAIT_SEC)
    assert "absent" in state(api, path)["message"]


@pytest.mark.parametrize("name", NAMES)
def test_controllers_are_not_administrators(box: Sandbox, name: str) -> None:
    """A right that production does not give must not make a sandbox work."""
    config = json.loads((box.home / "controllers" / f"{name}.kubeconfig").read_text())
    token = config["users"][0]["user"]["token"]
    api = Api(box.server, token, box.home / "pki" / "ca.crt")
    review: Object = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "list", "resource": "nodes"}},
    }
    answer = api.create("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
    assert answer["status"]["allowed"] is False


@pytest.mark.parametrize("name", NAMES)
def test_no_right_is_missing(box: Sandbox, issuer: str, stage: Stage, name: str) -> None:
    """Written by hand, the rules could lack one that only shows in a log."""
    ready(stage.api, stage.want())
    log = (box.home / "logs" / f"{name}.log").read_text()
    assert [
        line for line in log.splitlines() if "forbidden" in line and "payroll" not in line
    ] == []


def test_a_controller_that_died_is_noticed_and_started_again(box: Sandbox, aws: str) -> None:
    """Without it every wait for a certificate would end in a timeout that explains nothing."""
    process = cluster.status(box.name).processes
    assert set(NAMES) <= process.keys()
    victim = process["cert-manager"]
    assert victim is not None
    psutil.Process(victim).kill()
    until(lambda: not cluster.status(box.name).running, "the death noticed")
    assert cluster.status(box.name).processes["cert-manager"] is None
    cluster.start(box.name, (), crd_sets=SETS, tools=box.toolchain, aws_endpoint=aws)
    assert cluster.status(box.name).running


def test_a_second_start_changes_nothing(box: Sandbox, aws: str) -> None:
    """Tokens are kept, so the controllers run on."""
    before = cluster.status(box.name).processes
    cluster.start(box.name, (), crd_sets=SETS, tools=box.toolchain, aws_endpoint=aws)
    assert cluster.status(box.name).processes == before
    assert box.api().get(f"/api/v1/namespaces/{accounts.NAMESPACE}") is not None


def test_without_their_definitions_they_do_not_run(shared_box: Sandbox) -> None:
    """They cost memory and seconds: a stack that uses neither pays for neither."""
    assert not set(NAMES) & cluster.status(shared_box.name).processes.keys()
