"""IAM documents of the operators that bring secrets and certificates into a region."""

from models.aws import iam
from models.settings.certificates import CertificateSettings
from models.settings.eks import EksClusterSettings
from models.settings.secrets import SecretSource, prefix_of


def read_secrets(
    cluster: EksClusterSettings, source: SecretSource, environment: str, region: str
) -> iam.Document:
    """Return what External Secrets may do: read the secrets below its prefix.

    It cannot list what is there, nor read another region's or environment's. A KMS key of your own
    may be used through Secrets Manager only, and only for secrets below the prefix (the encryption
    context names the secret: Secrets Manager user guide, Secret encryption and decryption).
    """
    where = source.aws_region or cluster.aws_region
    below = (
        f"arn:{cluster.partition}:secretsmanager:{where}:{cluster.account_id}:secret:"
        f"{prefix_of(source, environment, region)}*"
    )
    read = iam.allow(
        "ReadBelowPrefix",
        ["secretsmanager:GetSecretValue", "secretsmanager:DescribeSecret"],
        [below],
    )
    if source.kms_key is None:
        return iam.document(read)
    decrypt = iam.allow(
        "DecryptSecrets",
        ["kms:Decrypt"],
        [source.kms_key],
        {
            "StringEquals": {"kms:ViaService": f"secretsmanager.{where}.amazonaws.com"},
            "StringLike": {"kms:EncryptionContext:SecretARN": [below]},
        },
    )
    return iam.document(read, decrypt)


def prove_names(
    cluster: EksClusterSettings, certificates: CertificateSettings, hostname: str
) -> iam.Document:
    """Return what cert-manager may do: write the challenge record of one name in one zone.

    Upstream's own policy (cert-manager documentation, Route 53) writes any TXT record of any zone,
    and lists all zones to find the right one; the settings give its id.
    """
    zone = certificates.hosted_zone_id or cluster.zone_id
    assert zone is not None, "checked when the plan was made"
    where = f"arn:{cluster.partition}:route53:::hostedzone/{zone}"
    change = iam.allow(
        "WriteChallenge",
        ["route53:ChangeResourceRecordSets"],
        [where],
        {
            "ForAllValues:StringEquals": {
                "route53:ChangeResourceRecordSetsNormalizedRecordNames": [
                    f"_acme-challenge.{hostname.lower()}"
                ],
                "route53:ChangeResourceRecordSetsRecordTypes": ["TXT"],
            }
        },
    )
    return iam.document(
        change,
        iam.allow("ReadRecords", ["route53:ListResourceRecordSets"], [where]),
        iam.allow(
            "SeeChangeArrive",
            ["route53:GetChange"],
            [f"arn:{cluster.partition}:route53:::change/*"],
        ),
    )
