"""Route 53 records."""

from typing import Any, Final

from sandbox.aws.core.api import Aws
from sandbox.aws.core.kind import AwsKind
from sandbox.aws.core.rules import Rules
from sandbox.aws.core.values import Props

_GONE: Final = ("NoSuchHostedZone",)


def _record(inputs: Props) -> dict[str, Any]:
    made: dict[str, Any] = {
        "Name": inputs["name"],
        "Type": inputs["type"],
        "ResourceRecords": [{"Value": each} for each in inputs["records"]],
        "TTL": inputs["ttl"],
    }
    if inputs.get("setIdentifier"):
        made["SetIdentifier"] = inputs["setIdentifier"]
    if inputs.get("latencyRoutingPolicies"):
        made["Region"] = inputs["latencyRoutingPolicies"][0]["region"]
    return made


def _change(aws: Aws, action: str, zone: str, record: dict[str, Any]) -> None:
    batch = {"Changes": [{"Action": action, "ResourceRecordSet": record}]}
    aws.call("route53", "change_resource_record_sets", HostedZoneId=zone, ChangeBatch=batch)


_KEY: Final = ("zoneId", "name", "type", "setIdentifier")


def _create(aws: Aws, inputs: Props) -> str:
    _change(aws, "CREATE", str(inputs["zoneId"]), _record(inputs))
    return "_".join(str(inputs.get(each) or "") for each in _KEY)


def _update(aws: Aws, identity: str, old: Props, new: Props) -> None:
    """Change a record; one of another type or label takes the place of the old one."""
    if any(old.get(each) != new.get(each) for each in _KEY):
        _delete(aws, identity, old)
    _change(aws, "UPSERT", str(new["zoneId"]), _record(new))


def _find(aws: Aws, identity: str, known: Props) -> tuple[str, dict[str, Any]] | None:
    """Find it by what is known of it: type and label change in place, the id stays."""
    parts = [str(known.get(each) or "") for each in _KEY]
    zone, name, kind, label = parts if parts[0] else identity.split("_")
    rest = {"HostedZoneId": zone, "StartRecordName": name, "StartRecordType": kind}
    told = aws.find("route53", "list_resource_record_sets", _GONE, **rest)
    for each in (told or {}).get("ResourceRecordSets", []):
        same = each["Name"].rstrip(".") == name.rstrip(".") and each["Type"] == kind
        if same and each.get("SetIdentifier", "") == label:
            return zone, each
    return None


def _read(aws: Aws, identity: str, known: Props) -> Props | None:
    found = _find(aws, identity, known)
    if found is None:
        return None
    zone, record = found
    return {
        "fqdn": record["Name"].rstrip("."),
        "name": record["Name"].rstrip("."),
        "records": sorted(each["Value"] for each in record["ResourceRecords"]),
        "setIdentifier": record.get("SetIdentifier"),
        "latencyRoutingPolicies": [{"region": record["Region"]}] if "Region" in record else None,
        "ttl": record["TTL"],
        "type": record["Type"],
        "zoneId": zone,
    }


def _delete(aws: Aws, identity: str, state: Props) -> None:
    found = _find(aws, identity, state)
    if found is not None:
        _change(aws, "DELETE", *found)


RECORD: Final = AwsKind(
    type="aws:route53/record:Record",
    sdk="route53.Record",
    rules=Rules(
        source="internal/service/route53/record.go",
        replace=("name", "zoneId"),
        update=("latencyRoutingPolicies.region", "records", "setIdentifier", "ttl", "type"),
        sets=("records",),
        tagged=False,
    ),
    create=_create,
    update=_update,
    read=_read,
    delete=_delete,
)
KINDS: Final = (RECORD,)
