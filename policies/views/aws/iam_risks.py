"""Known ways to turn few rights into more, and to carry data out, by the actions that they take.

The ways are common knowledge of public research on AWS privilege escalation; each is dangerous
where its actions are not limited to named resources.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Method:
    """One way: all of the actions are needed; `what` says what they do together."""

    what: str
    actions: tuple[str, ...]


_PASSING: Final = "iam:PassRole"

ESCALATIONS: Final = (
    Method("a new version of any policy", ("iam:CreatePolicyVersion",)),
    Method("an older, wider version of any policy", ("iam:SetDefaultPolicyVersion",)),
    Method("keys of any user", ("iam:CreateAccessKey",)),
    Method("a password for any user", ("iam:CreateLoginProfile",)),
    Method("another password for any user", ("iam:UpdateLoginProfile",)),
    Method("any policy onto a user", ("iam:AttachUserPolicy",)),
    Method("any policy onto a group", ("iam:AttachGroupPolicy",)),
    Method("any policy onto a role", ("iam:AttachRolePolicy",)),
    Method("a new policy on a user", ("iam:PutUserPolicy",)),
    Method("a new policy on a group", ("iam:PutGroupPolicy",)),
    Method("a new policy on a role", ("iam:PutRolePolicy",)),
    Method("membership of any group", ("iam:AddUserToGroup",)),
    Method("trust of any role", ("iam:UpdateAssumeRolePolicy",)),
    Method("any role", ("sts:AssumeRole",)),
    Method("another role's code", ("lambda:UpdateFunctionCode",)),
    Method("a shell as any machine's role", ("ssm:StartSession",)),
    Method("commands as any machine's role", ("ssm:SendCommand",)),
    Method("any role on a machine", (_PASSING, "ec2:RunInstances")),
    Method("any role on a machine that is there", (_PASSING, "ec2:AssociateIamInstanceProfile")),
    Method("any role in a function", (_PASSING, "lambda:CreateFunction")),
    Method("any role in a stack", (_PASSING, "cloudformation:CreateStack")),
    Method("any role in a task", (_PASSING, "ecs:RunTask")),
    Method("any role in a build", (_PASSING, "codebuild:CreateProject")),
    Method("any role in a job", (_PASSING, "glue:CreateJob")),
    Method("any role in a notebook", (_PASSING, "sagemaker:CreateNotebookInstance")),
    Method("any role in a pod", (_PASSING, "eks:CreatePodIdentityAssociation")),
    Method("administration of any cluster", ("eks:AssociateAccessPolicy",)),
)

DATA: Final = (
    Method("objects", ("s3:GetObject",)),
    Method("parameters", ("ssm:GetParameter",)),
    Method("parameters", ("ssm:GetParameters",)),
    Method("parameters", ("ssm:GetParametersByPath",)),
    Method("secrets", ("secretsmanager:GetSecretValue",)),
    Method("tables", ("dynamodb:GetItem",)),
    Method("tables", ("dynamodb:Query",)),
    Method("tables", ("dynamodb:Scan",)),
    Method("what is encrypted", ("kms:Decrypt",)),
    Method("streams", ("kinesis:GetRecords",)),
    Method("queues", ("sqs:ReceiveMessage",)),
    Method("snapshots", ("ebs:GetSnapshotBlock",)),
    Method("passwords of machines", ("ec2:GetPasswordData",)),
)
